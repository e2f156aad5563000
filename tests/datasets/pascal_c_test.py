"""PASCAL-C from the official layouts: examples, and refusals of bad sources."""

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import parameterized
from PIL import Image

from robust_tfds.datasets.pascal_c import pascal_c_dataset_builder
from tests import tiny_files
from tests.building.sources import action_layouts
from tests.datasets import coco_c_test

_TOP = "VOCdevkit/VOC2007"
_LIST = f"{_TOP}/ImageSets/Main/test.txt"
_XML = f"{_TOP}/Annotations/000002.xml"
_SIZES = {1: (48, 60), 2: (60, 48), 4: (150, 90)}  # width, height


class PascalCTest(tfds.testing.DatasetBuilderTestCase):
  DATASET_CLASS = pascal_c_dataset_builder.Builder
  SPLITS = {"test": 2}
  BUILDER_CONFIG_NAMES_TO_TEST = ["clean"]  # of COCO more
  SKIP_TF1_GRAPH_MODE = True


def _object(name, box, difficult="<difficult>0</difficult>", more="") -> str:
  sides = "".join(
    f"<{s}>{v}</{s}>" for s, v in zip(("xmin", "ymin", "xmax", "ymax"), box)
  )
  return (
    f"<object><name>{name}</name><pose>Left</pose><truncated>1</truncated>"
    f"{difficult}<bndbox>{sides}</bndbox>{more}</object>"
  )


def _xml(objects: str) -> bytes:
  return (
    "<annotation><folder>VOC2007</folder><size><width>1</width></size>"
    f"{objects}</annotation>"
  ).encode()


def files() -> dict[str, bytes]:
  """The official layout; 000003 belongs to trainval."""
  part = (
    "<part><name>head</name><bndbox><xmin>2</xmin><ymin>2</ymin>"
    "<xmax>4</xmax><ymax>4</ymax></bndbox></part>"
  )
  objects = {
    1: _object("dog", (1, 1, 48, 60))
    + _object("person", (8.0, 12, 40, 58), more=part),
    2: _object("tvmonitor", (5, 7, 5, 7), "<difficult>1</difficult>"),
    3: _object("car", (1, 1, 4, 4)),
    4: _object("aeroplane", (150, 90, 150, 90), ""),
  }
  out = {_LIST: b"000001\n000002\n000004\n"}
  for i, found in objects.items():
    out[f"{_TOP}/JPEGImages/{i:06d}.jpg"] = coco_c_test.jpeg(
      _SIZES.get(i, (40, 40)), i
    )
    out[f"{_TOP}/Annotations/{i:06d}.xml"] = _xml(found)
  return out


class _Case(action_layouts.ObjectsLayout):
  NAME = "pascal_c"
  SPLIT = "test"


class LayoutTest(_Case):
  def test_folders(self):
    self._write(files())
    found = self._build()
    self.assertEqual(set(found), set(_SIZES))
    for i, e in found.items():
      self.assertEqual(e["example_id"].decode(), f"{i:06d}.jpg")
      picture = Image.open(self.root / _TOP / "JPEGImages" / f"{i:06d}.jpg")
      np.testing.assert_array_equal(e["image"], np.asarray(picture))
      self.assertNotIn("mask", e["objects"])
    one = found[1]["objects"]
    self.assertEqual(one["label"].tolist(), [11, 14])
    self.assertEqual(one["bbox"][0].tolist(), [0, 0, 1, 1])
    self.assertEqual(one["bbox_px"].tolist()[1], [7, 11, 33, 47])
    self.assertEqual(one["area"].tolist(), [48 * 60, 33 * 47])
    self.assertEqual(one["id"].tolist(), [1001, 1002])
    self.assertEqual(one["is_difficult"].tolist(), [False, False])
    self.assertFalse(one["is_crowd"].any())
    two = found[2]["objects"]
    self.assertEqual(two["is_difficult"].tolist(), [True])
    self.assertEqual(two["bbox_px"].tolist(), [[4, 6, 1, 1]])
    # `difficult` may be missing; a box of the last pixel is inside.
    self.assertEqual(found[4]["objects"]["is_difficult"].tolist(), [False])
    np.testing.assert_allclose(
      found[4]["objects"]["bbox"], [[89 / 90, 149 / 150, 1, 1]]
    )

  def test_the_archive_as_downloaded(self):
    self._write({"VOCtest_06-Nov-2007.tar": tiny_files.tar(files())})
    in_archive = self._build()
    self.assertLen(list(self.root.rglob("*")), 1)
    self._write(files())
    for i, e in self._build().items():
      np.testing.assert_array_equal(e["image"], in_archive[i]["image"])
      np.testing.assert_array_equal(
        e["objects"]["bbox_px"], in_archive[i]["objects"]["bbox_px"]
      )

  def test_folder_of_trainval_beside_the_test_archive(self):
    self._write({"VOCtest_06-Nov-2007.tar": tiny_files.tar(files())})
    self._write({f"{_TOP}/ImageSets/Main/trainval.txt": b"000003\n"})
    self.assertLen(self._build(), 3)


class RefusalTest(_Case):
  def _refused(self, change, message, error=ValueError):
    self._write({**files(), **change})
    with self.assertRaisesRegex(error, message):
      self._build()

  # Each fault of its own: voc_test and objects_test of tests/building.
  @parameterized.parameters(
    (("dog", (5, 5, 4, 9)), "000002.xml, object 1: xmin, ymin"),
    (("dog", (5, 5, 64, 9)), "outside the image of 60 x 48 px"),
  )
  def test_bad_objects(self, what, message):
    self._refused({_XML: _xml(_object(*what))}, message)

  @parameterized.parameters((0, 0, ""), (60, 48, ""), (120, 96, "60 x 48"))
  def test_size_of_the_original(self, width, height, message):
    size = f"<height>{height}</height><width>{width}</width>"
    data = files()[_XML].replace(b"<width>1</width>", size.encode())
    if message:
      self._refused({_XML: data}, f"000002.xml: size: .* {message}")
    else:
      self._write({**files(), _XML: data})
      self.assertNotEmpty(self._build())

  @parameterized.parameters(
    (_XML, files()[_XML][:80], "000002.xml: not XML"),
    (_LIST, b"", "it is empty"),
    (f"{_TOP}/JPEGImages/000002.jpg", b"\xff\xd8", "000002.jpg cannot be read"),
  )  # fmt: skip
  def test_bad_files(self, name, data, message):
    self._refused({name: data}, message)

  def test_annotation_or_image_that_is_not_there(self):
    for folder, end in (("JPEGImages", "jpg"), ("Annotations", "xml")):
      self._write(files())
      (self.root / _TOP / folder / f"000002.{end}").unlink()
      with self.assertRaisesRegex(
        FileNotFoundError, f"names 000002, but there is no {folder}/000002"
      ):
        self._build()

  def test_missing_files_say_what_was_looked_for(self):
    self._write({"notes.txt": b"x"})
    with self.assertRaisesRegex(
      FileNotFoundError, "test.txt is not in .*VOCtest_06-Nov-2007.tar"
    ):
      self._build()
