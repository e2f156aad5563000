"""Cityscapes' instance maps: read in full, drawn in order, as objects."""

import json

import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds.building.sources import instance_maps
from robust_tfds.coco import rle
from tests import tiny_files


def _map() -> np.ndarray:
  """Road, two cars, a group of persons, a trailer (which is not evaluated)."""
  values = np.full((12, 16), 7, np.uint16)
  values[1:5, 1:7] = 26000
  values[2:4, 9:12] = 26001
  values[6:11, 2:5] = 24
  values[6:8, 10:14] = 30000
  return values


def _square(left, top, right, bottom):
  return [[left, top], [right, top], [right, bottom], [left, bottom]]


def _polygons(**change) -> bytes:
  rows = [
    ("road", _square(0, 0, 15, 11)),
    ("car", _square(1, 1, 6, 4)),
    ("car", _square(9, 2, 11, 3)),
    ("persongroup", _square(2, 6, 4, 10)),
    ("trailer", _square(10, 6, 13, 7)),
    ("license plate", _square(2, 2, 3, 3)),
  ]
  objects = [{"label": name, "polygon": points} for name, points in rows]
  content = {"imgWidth": 16, "imgHeight": 12, "objects": objects, **change}
  return json.dumps(content).encode()


def _shape(label="car", x=1) -> dict:
  return {"label": label, "polygon": [[x, 1], [3, 1], [3, 3]]}


class MapsTest(parameterized.TestCase):
  def test_both_forms_give_the_same_map(self):
    self.assertGreater(_map().max(), 255)
    read = instance_maps.read(tiny_files.encoded(_map()), "x")
    self.assertEqual(read.dtype, np.int64)
    np.testing.assert_array_equal(read, _map())
    np.testing.assert_array_equal(instance_maps.draw(_polygons(), "x"), _map())

  def test_later_polygons_cover_earlier_ones(self):
    rows = [("car", _square(0, 0, 9, 9)), ("pole", _square(4, 0, 5, 11))]
    objects = [{"label": n, "polygon": p} for n, p in rows]
    drawn = instance_maps.draw(_polygons(objects=objects), "x")
    np.testing.assert_array_equal(
      drawn[3, [3, 4, 5, 6]], [26000, 17, 17, 26000]
    )
    objects[1]["deleted"] = 1
    drawn = instance_maps.draw(_polygons(objects=objects), "x")
    self.assertEqual(drawn[3, 4], 26000)

  @parameterized.parameters(
    (tiny_files.encoded(_map().astype(np.uint8)), "mode L .8 bits a value."),
    (tiny_files.encoded(tiny_files.noise(12, 16)), "mode RGB"),
    (tiny_files.encoded(_map())[:40], "a.png cannot be read"),
  )
  def test_refuses_maps(self, data, message):
    with self.assertRaisesRegex(ValueError, message):
      instance_maps.read(data, "a.png")

  @parameterized.parameters(
    (b"{", "a.json: line 1, column 2: not JSON"),
    (b"{}", "a.json: imgWidth: missing"),
    (b"[]", "a.json: got"),
    (
      _polygons(objects=[{"label": "car", "polygon": [[1]]}]),
      "a.json: objects.0.polygon.0: got",
    ),
    (b"[" * 100_000, "a.json: nested too deep"),
    (
      _polygons(objects=[_shape("cat")]),
      "a.json: objects.0: label 'cat' is not",
    ),
    (b"", "a.json: the file is empty, expected JSON"),
    (b"null", "a.json: got None"),
    (bytes(range(256)), "a.json: byte 128 .0x80. is not UTF-8"),
    *(
      (_polygons(objects=[_shape(name)]), f"objects.0: label '{name}' is not C")
      for name in ("", "Car")
    ),
    *(
      (
        _polygons(objects=[{**_shape(), field: value}]),
        f"objects.0.{field}: got",
      )
      for field, value in (
        *(("polygon", v) for v in (None, [], "x", {})),
        *(("label", v) for v in (5, ["car"])),
      )
    ),
    *(
      (_polygons(**{field: value}), f"a.json: {field}: got {value!r}, expected")
      for field, value in (
        *(("imgWidth", v) for v in (0, -1, float("nan"), 150.5, "16")),
        *(("objects", v) for v in ({}, "x")),
      )
    ),
    (_polygons(objects=[_shape(x=float("inf"))]), "polygon.0.0: got inf"),
    (_polygons(objects=[_shape(None)]), "a.json: objects.0.label: got None"),
    (_polygons(objects=None), "a.json: objects: got None"),
    (_polygons(objects=[None]), "a.json: objects.0: got None"),
    (_polygons(imgWidth=None), "a.json: imgWidth: got None"),
    (_polygons(imgWidth=10**9), "a.json: imgWidth: got 1000000000"),
    (_polygons(imgWidth=60_000, imgHeight=60_000), "a.json: 3,600,000,000 pix"),
    (_polygons(objects=[_shape(x=float("nan"))]), "objects.0.polygon.0.0: got"),
    (_polygons(objects=[_shape(x=1e30)]), "objects.0.polygon: the point 1e.30"),
    (_polygons(objects=[_shape(x="1")]), "objects.0.polygon.0.0: got '1'"),
    (_polygons(objects=[_shape()] * 1001), "objects.1000: more than 1000 obj"),
  )
  def test_refuses_polygons(self, data, message):
    with self.assertRaisesRegex(ValueError, message):
      instance_maps.draw(data, "a.json")


class ObjectsTest(absltest.TestCase):
  def test_classes(self):
    self.assertEqual(
      list(instance_maps.CLASSES.items()),
      [(24, "person"), (25, "rider"), (26, "car"), (27, "truck"), (28, "bus"),
       (31, "train"), (32, "motorcycle"), (33, "bicycle")],
    )  # fmt: skip

  def test_objects_are_the_values_of_evaluated_classes(self):
    objects = instance_maps.objects_of(_map(), 3, drop_groups=False, where="x")
    self.assertEqual([o.id % 100_000 for o in objects], [24, 26000, 26001])
    self.assertEqual([o.id // 100_000 for o in objects], [3, 3, 3])
    self.assertEqual([o.label for o in objects], [0, 2, 2])
    self.assertEqual([o.is_crowd for o in objects], [True, False, False])
    self.assertEqual(objects[1].box, (1, 1, 6, 4))
    for o, value in zip(objects, (24, 26000, 26001), strict=True):
      np.testing.assert_array_equal(rle.decode(o.mask), _map() == value)
      self.assertEqual(o.area, (_map() == value).sum())

  def test_groups_may_be_dropped(self):
    objects = instance_maps.objects_of(_map(), 3, drop_groups=True, where="x")
    self.assertLen(objects, 2)

  def test_refuses_other_values(self):
    for value in (40, 40007, 65535):
      with self.assertRaisesRegex(ValueError, f"x: value {value} is no City"):
        instance_maps.objects_of(
          np.array([[value]]), 1, drop_groups=True, where="x"
        )
