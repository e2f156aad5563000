"""Cityscapes-C from the official layouts: objects, groups, refusals."""

import io
import json

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import parameterized
from PIL import Image

from robust_tfds.coco import rle
from robust_tfds.datasets.cityscapes_c import cityscapes_c_dataset_builder
from tests import tiny_files
from tests.building.sources import action_layouts

_A = "frankfurt/frankfurt_000001_000294"
_B = "lindau/lindau_000000_000019"
_SIZES = {_A: (60, 48), _B: (150, 90)}  # width, height


class CityscapesCTest(tfds.testing.DatasetBuilderTestCase):
  DATASET_CLASS = cityscapes_c_dataset_builder.Builder
  SPLITS = {"validation": 2}
  BUILDER_CONFIG_NAMES_TO_TEST = ["clean", "clean_no_groups", "brightness_3"]
  SKIP_TF1_GRAPH_MODE = True


def _picture(stem: str) -> bytes:
  small = Image.fromarray(tiny_files.noise(5, 7, len(stem)))
  return tiny_files.encoded(small.resize(_SIZES[stem]))


def _map(stem: str) -> np.ndarray:
  """Road, two cars (one cut in two by a pole), a group, a trailer, a bike."""
  width, height = _SIZES[stem]
  out = np.full((height, width), 7, np.uint16)
  out[5:20, 5:30] = 26000
  out[5:20, 12:14] = 17
  out[8:12, 30:40] = 26001
  out[25:40, 10:20] = 24
  out[25:30, 25:30] = 30000
  out[30:35, 40:50] = 33000
  return out


def _square(x0, y0, x1, y1):
  return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]


def _polygons(stem: str) -> dict:
  """The same scene; the pole and the trailer are drawn over others."""
  width, height = _SIZES[stem]
  rows = [
    ("road", _square(0, 0, width, height)),
    ("car", _square(5, 5, 29, 19)),
    ("pole", _square(12, 5, 13, 19)),
    ("car", _square(30, 8, 39, 11)),
    ("persongroup", _square(10, 25, 19, 39)),
    ("trailer", _square(25, 25, 29, 29)),
    ("bicycle", _square(40, 30, 49, 34)),
    ("license plate", _square(6, 6, 8, 8)),
  ]
  return {
    "imgWidth": width,
    "imgHeight": height,
    "objects": [{"label": n, "polygon": p} for n, p in rows],
  }


def files() -> dict[str, bytes]:
  """The official layout; the second picture has polygons only."""
  out = {}
  for stem in _SIZES:
    out[f"leftImg8bit/val/{stem}_leftImg8bit.png"] = _picture(stem)
    truth = f"gtFine/val/{stem}_gtFine_"
    out[f"{truth}polygons.json"] = json.dumps(_polygons(stem)).encode()
    out[f"{truth}labelIds.png"] = tiny_files.encoded(np.zeros((4, 4), np.uint8))
  out[f"gtFine/val/{_A}_gtFine_instanceIds.png"] = tiny_files.encoded(_map(_A))
  return out


class _Case(action_layouts.ObjectsLayout):
  NAME = "cityscapes_c"


class LayoutTest(_Case):
  def test_folders(self):
    self._write(files())
    found = self._build()
    self.assertEqual(set(found), {1, 2})
    first = found[1]
    self.assertEqual(
      first["example_id"].decode(), "frankfurt_000001_000294_leftImg8bit.png"
    )
    self.assertEqual(first["group_id"].decode(), "frankfurt_000001")
    self.assertEqual(first["frame"], 294)
    picture = Image.open(io.BytesIO(_picture(_A)))
    np.testing.assert_array_equal(first["image"], np.asarray(picture))

  @parameterized.parameters((1, _A), (2, _B))
  def test_objects_of_maps_and_of_polygons(self, image_id, stem):
    self._write(files())
    objects = self._build()[image_id]["objects"]
    want = [(24, 0, True), (26000, 2, False), (26001, 2, False),
            (33000, 7, False)]  # fmt: skip
    self.assertEqual(
      objects["id"].tolist(), [image_id * 100_000 + v for v, _, _ in want]
    )
    self.assertEqual(objects["label"].tolist(), [n for _, n, _ in want])
    self.assertEqual(objects["is_crowd"].tolist(), [c for _, _, c in want])
    self.assertEqual(objects["bbox_px"][1].tolist(), [5, 5, 25, 15])
    self.assertEqual(objects["area"][1], 15 * 23)  # less the pole
    for value, counts in zip(
      [v for v, _, _ in want], objects["mask"]["counts"]
    ):
      mask = rle.Mask(counts.decode(), _SIZES[stem][::-1])
      np.testing.assert_array_equal(rle.decode(mask), _map(stem) == value)

  def test_groups_can_be_dropped(self):
    self._write(files())
    whole = self._build()
    for kwargs in (
      {"config": "clean_no_groups"},
      {"config": "clean", "groups": "drop"},
    ):
      dropped = self._build(**kwargs)
      self.assertEqual(dropped.keys(), whole.keys())
      for i, e in dropped.items():
        np.testing.assert_array_equal(e["image"], whole[i]["image"])
        self.assertLen(e["objects"]["id"], 3)
        self.assertFalse(e["objects"]["is_crowd"].any())

  def test_archives_as_downloaded(self):
    self._write(files())
    in_folders = self._build()
    for top in ("leftImg8bit", "gtFine"):
      some = {n: data for n, data in files().items() if n.startswith(top)}
      for name in some:
        (self.root / name).unlink()
      some[f"{top}/train/bochum/other.png"] = b"x"
      self._write({f"{top}_trainvaltest.zip": tiny_files.zipped(some)})
    for i, e in self._build().items():
      np.testing.assert_array_equal(e["image"], in_folders[i]["image"])
      np.testing.assert_array_equal(
        e["objects"]["mask"]["counts"],
        in_folders[i]["objects"]["mask"]["counts"],
      )


class RefusalTest(_Case):
  _IDS = f"gtFine/val/{_A}_gtFine_instanceIds.png"
  _JSON = f"gtFine/val/{_B}_gtFine_polygons.json"

  # Each fault of its own: tests/building/sources/{instance_maps,cityscapes}_test.
  @parameterized.parameters(
    (_IDS, tiny_files.encoded(_map(_A) * 0 + 40), "value 40 is no Cityscapes"),
    (_JSON, b"{}", "polygons.json: imgWidth: missing"),
  )
  def test_broken_files(self, name, data, message):
    self._write({**files(), name: data})
    with self.assertRaisesRegex(ValueError, message):
      self._build()

  def test_missing_files_say_what_was_looked_for(self):
    self._write({"notes.txt": b"x"})
    with self.assertRaisesRegex(
      FileNotFoundError, "leftImg8bit_trainvaltest.zip|gtFine_trainvaltest.zip"
    ):
      self._build()
