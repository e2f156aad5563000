"""Sources of objects: COCO, VOC, Cityscapes."""

import json
import pathlib

import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds import errors
from robust_tfds.building.sources import (
  cityscapes,
  coco,
  instance_maps,
  training_frames,
  voc,
)
from robust_tfds.coco import rle
from tests import in_folder, tiny_files


def _mask() -> np.ndarray:
  mask = np.zeros((8, 10), bool)
  mask[2:5, 3:9] = True
  return mask


def _row(number: int, image: int, category: int, **more) -> dict:
  runs = rle.counts(rle.encode(_mask())).tolist()
  return {
    "id": number,
    "image_id": image,
    "category_id": category,
    "bbox": [3, 2, 6, 3],
    "area": 18,
    "iscrowd": 0,
    "segmentation": {"size": [8, 10], "counts": runs},
    **more,
  }


def _content() -> dict:
  return {
    "images": [
      {"id": n, "file_name": f"{n}.jpg", "height": 8, "width": 10}
      for n in (9, 4)
    ],
    "annotations": [_row(7, 9, 90), _row(3, 9, 1, iscrowd=1)],
    "categories": [{"id": 1, "name": "person"}],
  }


def _parsed(content: dict) -> list[coco.Image]:
  return coco.parse(json.dumps(content).encode(), "x.json")


class CategoriesTest(absltest.TestCase):
  """COCO's instances: the categories, and a JSON of three objects as objects."""

  def test_eighty_of_ninety(self):
    categories = coco.categories()
    self.assertLen(categories, 80)
    missing = {12, 26, 29, 30, 45, 66, 68, 69, 71, 83}
    self.assertEqual(set(range(1, 91)) - set(categories), missing)
    self.assertEqual(coco.labels()[90], 79)
    # docs/evidence/specs/detection.md section 4: a few names with their ids.
    for number, name in ((13, "stop sign"), (25, "giraffe"), (44, "bottle"),
                         (67, "dining table"), (84, "book")):  # fmt: skip
      self.assertEqual(categories[number], name)


class ParseTest(parameterized.TestCase):
  def test_images_by_id_with_their_objects_by_id(self):
    images = _parsed(_content())
    self.assertEqual([i.id for i in images], [4, 9])
    self.assertEqual(images[0].objects_in((8, 10)), [])
    crowd, brush = images[1].objects_in((8, 10))
    self.assertEqual((crowd.id, crowd.label, crowd.is_crowd), (3, 0, True))
    self.assertEqual((brush.id, brush.label, brush.is_crowd), (7, 79, False))
    self.assertEqual((brush.box, brush.area), ((3, 2, 6, 3), 18))
    np.testing.assert_array_equal(rle.decode(brush.mask), _mask())


def _object(name="dog", box=(5, 7, 14, 7), more="") -> str:
  sides = "".join(
    f"<{side}>{value}</{side}>"
    for side, value in zip(("xmin", "ymin", "xmax", "ymax"), box, strict=False)
  )
  return f"<object><name>{name}</name><bndbox>{sides}</bndbox>{more}</object>"


def _xml(*objects: str) -> bytes:
  return f"<annotation>{''.join(objects)}</annotation>".encode()


class ObjectsTest(parameterized.TestCase):
  """VOC's XML as objects, and its folders as sources."""

  def test_twenty_classes_in_the_devkits_order(self):
    self.assertLen(voc.CLASSES, 20)
    self.assertEqual(list(voc.CLASSES), sorted(voc.CLASSES))

  def test_boxes_count_from_zero_and_include_their_last_pixel(self):
    part = "<part><name>head</name></part>"
    data = _xml(
      _object(more=part),
      _object("person", (1.0, 1, 1, 1), "<difficult>1</difficult>"),
    )
    dog, person = voc.objects_of(data, 12, "x")
    self.assertEqual((dog.box, dog.area), ((4, 6, 10, 1), 10))
    self.assertEqual((dog.id, dog.label), (12_001, 11))
    self.assertEqual(person.box, (0, 0, 1, 1))
    self.assertEqual((dog.is_difficult, person.is_difficult), (False, True))
    self.assertEqual((person.id, person.mask), (12_002, None))

  @parameterized.parameters(
    (b"<annotation>", "x: not XML"),
    (b"<html><body>404</body></html>", "x: the first element is <html>"),
    (_xml(_object(more=_object())), "x: an <object> lies inside"),
    (_xml(*[_object()] * 1000), "x: 1000 objects"),
    (_xml(_object(more="<name>cat</name>")), "object 1: name is there 2 times"),
    (_xml(_object(box=(9, 2, 3, 4))), "object 1: xmin, .* are 9, 2, 3, 4"),
    (_xml(_object(box=(2, 9, 3, 4))), "object 1: xmin, .* are 2, 9, 3, 4"),
    (_xml(_object(box=(1, 2, "inf", 4))), "xmax must be a number, got 'inf'"),
    (_xml(_object(box=(1, 2, "1_0", 4))), "object 1: xmax must be a number"),
    (_xml(_object(box=(1, 2, "1e30", 4))), "object 1: xmax must be a number"),
    (_xml(_object(box=("", 2, 3, 4))), "xmin must be a number, got ''"),
    (_xml(_object(box=(1, 2, 3))), "object 1: ymax must be a number, got None"),
    (
      _xml(_object(more="<difficult>maybe</difficult>")),
      "must be a number, got",
    ),
    (_xml(_object(more="<difficult>2</difficult>")), "difficult is 0 or 1"),
    (_xml(_object("CAR")), "x, object 1: class 'CAR' is not one of VOC's 20"),
    (_xml(_object(), _object(box=(1, 2, "?", 4))), "object 2: xmax .* got '.'"),
  )
  def test_refuses(self, data, message):
    with self.assertRaisesRegex(ValueError, message):
      voc.objects_of(data, 12, "x")


class SourcesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    manual = pathlib.Path(self.create_tempdir().full_path)
    self.root = manual / "VOCdevkit" / "VOC2007"
    for folder in ("ImageSets/Main", "JPEGImages", "Annotations"):
      (self.root / folder).mkdir(parents=True)
    self.manual = manual

  def _write(self, listed: str, *numbers: int) -> None:
    (self.root / "ImageSets/Main/test.txt").write_text(listed)
    for n in numbers:
      (self.root / f"JPEGImages/{n:06d}.jpg").write_bytes(b"x")
      (self.root / f"Annotations/{n:06d}.xml").write_bytes(_xml(_object()))

  def test_the_listed_ones_by_id(self):
    self._write("000005\n000002\n", 2, 3, 5)
    one, two = voc.sources(self.manual)
    self.assertEqual((one.example_id, one.image_id), ("000002.jpg", 2))
    self.assertEqual(two.annotation.objects_in((99, 99))[0].id, 5001)


_A = "frankfurt/frankfurt_000001_000294"
_B = "lindau/lindau_000000_000019"


class CityscapesTest(in_folder.TestCase):
  """Cityscapes' folders as sources: names, order, maps before polygons."""

  def setUp(self):
    super().setUp()
    car = [[0, 0], [2, 0], [2, 2], [0, 2]]
    drawn = {
      "imgWidth": 6,
      "imgHeight": 4,
      "objects": [{"label": "cargroup", "polygon": car}],
    }
    for stem, level in ((_A, 5), (_B, 9)):
      picture = np.full((4, 6, 3), level, np.uint8)
      self._put(
        f"leftImg8bit/val/{stem}_leftImg8bit.png", tiny_files.encoded(picture)
      )
      polygons = json.dumps(drawn).encode()
      self._put(f"gtFine/val/{stem}_gtFine_polygons.json", polygons)
    values = np.full((4, 6), 26000, np.uint16)
    self._put(
      f"gtFine/val/{_A}_gtFine_instanceIds.png", tiny_files.encoded(values)
    )

  def _put(self, name, data):
    tiny_files.put(self.root, {name: data})

  def test_in_the_order_of_the_names(self):
    one, two = cityscapes.sources(self.root, drop_groups=False)
    self.assertEqual(one.example_id, f"{_A}_leftImg8bit.png".split("/")[1])
    self.assertEqual((one.image_id, two.image_id), (1, 2))
    self.assertEqual((two.group_id, two.frame), ("lindau_000000", 19))
    np.testing.assert_array_equal(one.picture.read(), np.full((4, 6, 3), 5))
    (alone,) = one.annotation.objects_in((4, 6))
    self.assertEqual((alone.area, alone.is_crowd), (24, False))
    (group,) = two.annotation.objects_in((4, 6))
    self.assertEqual((group.area, group.is_crowd), (9, True))

  def test_groups_may_be_dropped(self):
    one, two = cityscapes.sources(self.root, drop_groups=True)
    self.assertLen(one.annotation.objects_in((4, 6)), 1)
    self.assertEmpty(two.annotation.objects_in((4, 6)))


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
  """Cityscapes' instance maps: read in full, drawn in order, as objects."""

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
    (b"{", "a.json: line 1, column 2: not JSON"),
    (b"{}", "a.json: imgWidth: missing"),
    (_polygons(objects={}), "a.json: objects: got {}, expected"),
    (_polygons(objects=[{"label": "car", "polygon": [[1]]}]), "polygon.0: got"),
    (_polygons(objects=[{**_shape(), "polygon": []}]), "0.polygon: got"),
    (_polygons(objects=[_shape("cat")]), "objects.0: label 'cat' is not C"),
    (_polygons(objects=[_shape(None)]), "a.json: objects.0.label: got None"),
    (_polygons(imgWidth=0), "a.json: imgWidth: got 0, expected"),
    (_polygons(imgWidth=10**9), "a.json: imgWidth: got 1000000000"),
    (_polygons(imgWidth=60_000, imgHeight=60_000), "a.json: 3,600,000,000 pix"),
    (_polygons(objects=[_shape(x=float("nan"))]), "objects.0.polygon.0.0: got"),
    (_polygons(objects=[_shape(x=1e30)]), "objects.0.polygon: the point 1e.30"),
    (_polygons(objects=[_shape()] * 1001), "objects.1000: more than 1000 obj"),
  )
  def test_refuses_polygons(self, data, message):
    with self.assertRaisesRegex(ValueError, message):
      instance_maps.draw(data, "a.json")


class InstanceMapsObjectsTest(absltest.TestCase):
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


_WNIDS = ["n02691156", "n02419796"]
_LISTS = "ILSVRC/ImageSets/VID"
_TABLE = "ytbb_robustness_train_anchors_full.csv"


class TrainingFramesTest(in_folder.TestCase):
  @parameterized.parameters(
    ("p/a 0\n", "<annotation/>", "train_1.txt, line 1: <part>/<video> 1"),
    ("../a 1\n", "<annotation/>", "train_1.txt, line 1: <part>/<video> 1"),
    ("p/b 1\n", "<annotation/>", "No frame in .*p/b"),
    (
      "p/a 1\n",
      "<annotation><object><name>n1</name></object></annotation>",
      "0.xml: 'n1' is not one of the 30",
    ),
    (
      "p/a 1\n",
      f"<annotation><object><name>{_WNIDS[0]}</name></object></annotation>",
      "bndbox/xmin: a whole number expected, got ''",
    ),
  )
  def test_broken_videos(self, line, xml, message):
    files = {
      f"{_LISTS}/train_1.txt": line,
      f"{_LISTS}/train_2.txt": "p/a 1\n",
      "ILSVRC/Data/VID/train/p/a/0.JPEG": b"",
      "ILSVRC/Annotations/VID/train/p/a/0.xml": xml,
    }
    tiny_files.put(self.root, files)
    with self.assertRaisesRegex((errors.UserError, FileNotFoundError), message):
      training_frames.imagenet_vid(self.root, _WNIDS)

  def test_a_list_that_is_not_there(self):
    tiny_files.put(self.root, {f"{_LISTS}/train_1.txt": ""})
    with self.assertRaisesRegex(FileNotFoundError, "No .*train_2.txt"):
      training_frames.imagenet_vid(self.root, _WNIDS)

  @parameterized.parameters(
    ("a,5,24", "line 2: a YouTube id and a label from 0 to 23"),
    ("a/b,5,2", "line 2: a YouTube id"),
    ("a,-5,2", "line 2: time_ms: a whole number expected, got '-5'"),
    ("a,5,2", "1 of 1 anchors are absent, e.g. .*ytbb_train/a_5.jpg"),
  )
  def test_broken_anchors(self, row, message):
    tiny_files.put(self.root, {_TABLE: f"ytid,time_ms,label\n{row}\n"})
    with self.assertRaisesRegex((errors.UserError, FileNotFoundError), message):
      training_frames.ytbb(self.root, 24, {})
