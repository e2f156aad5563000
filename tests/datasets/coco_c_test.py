"""COCO-C from the official layouts: examples, and refusals of bad sources."""

import copy
import json

import numpy as np
import pytest
import tensorflow_datasets as tfds
from absl.testing import parameterized
from PIL import Image

from robust_tfds import conditions, corruptions
from robust_tfds.building.sources import coco
from robust_tfds.coco import rle
from robust_tfds.corruptions import canvas
from robust_tfds.datasets.coco_c import coco_c_dataset_builder
from tests import tiny_files
from tests.building.sources import action_layouts

_JSON = "annotations/instances_val2017.json"
_SIZES = {139: (60, 48), 285: (48, 60), 632: (150, 90)}  # width, height


class CocoCTest(tfds.testing.DatasetBuilderTestCase):
  DATASET_CLASS = coco_c_dataset_builder.Builder
  SPLITS = {"validation": 2}
  BUILDER_CONFIG_NAMES_TO_TEST = ["clean", "clean_jpeg85", "brightness_3"]
  SKIP_TF1_GRAPH_MODE = True


def jpeg(size: tuple[int, int], seed: int = 0, mode: str = "RGB") -> bytes:
  """A small picture of the given width and height."""
  small = Image.fromarray(tiny_files.noise(6, 8, seed))
  return tiny_files.encoded(small.resize(size).convert(mode), "JPEG")


def content() -> dict:
  """Three images: polygons and a crowd; one object; none."""
  crowd = np.zeros((48, 60), bool)
  crowd[10:40, 5:50] = True
  runs = rle.counts(rle.encode(crowd)).tolist()
  objects = [
    (7, 139, 18, [2.5, 3.25, 20.0, 30.0], 0, [[2.5, 3.25, 22.5, 3.25, 12, 33]]),
    (3, 139, 1, [5, 10, 45, 30], 1, {"size": [48, 60], "counts": runs}),
    (9, 285, 90, [0, 0, 48, 60.4], 0, [[0, 0, 48, 0, 48, 60, 0, 60]]),
  ]
  return {
    "images": [
      {"id": i, "file_name": f"{i:012d}.jpg", "width": w, "height": h}
      for i, (w, h) in _SIZES.items()
    ],
    "annotations": [
      {
        "id": i,
        "image_id": image,
        "category_id": category,
        "bbox": box,
        "area": 311.123456789,
        "iscrowd": crowd,
        "segmentation": mask,
      }
      for i, image, category, box, crowd, mask in objects
    ],
    "categories": [
      {"id": i, "name": n, "supercategory": "x"}
      for i, n in coco.categories().items()
    ],
  }


def files() -> dict[str, bytes]:
  """The official layout; the second picture is grey."""
  out = {
    f"val2017/{i:012d}.jpg": jpeg(size, i, "L" if i == 285 else "RGB")
    for i, size in _SIZES.items()
  }
  return {**out, _JSON: json.dumps(content()).encode()}


class _Case(action_layouts.ObjectsLayout):
  NAME = "coco_c"


class LayoutTest(_Case):
  def test_folders(self):
    self._write(files())
    found = self._build()
    self.assertEqual(set(found), set(_SIZES))
    for i, e in found.items():
      name = f"{i:012d}.jpg"
      self.assertEqual(e["example_id"].decode(), name)
      picture = Image.open(self.root / "val2017" / name).convert("RGB")
      np.testing.assert_array_equal(e["image"], np.asarray(picture))
    objects = found[139]["objects"]
    self.assertEqual(objects["id"].tolist(), [3, 7])
    self.assertEqual(objects["label"].tolist(), [0, 16])
    self.assertEqual(objects["is_crowd"].tolist(), [True, False])
    self.assertEqual(objects["bbox_px"].tolist()[1], [2.5, 3.25, 20.0, 30.0])
    self.assertEqual(objects["area"].tolist(), [311.123456789] * 2)
    np.testing.assert_allclose(
      objects["bbox"][1], [3.25 / 48, 2.5 / 60, 33.25 / 48, 22.5 / 60]
    )
    crowd = rle.Mask(objects["mask"]["counts"][0].decode(), (48, 60))
    self.assertEqual(rle.box(crowd), (5, 10, 45, 30))
    self.assertEqual(found[285]["objects"]["bbox"][0].tolist(), [0, 0, 1, 1])
    self.assertEqual(found[285]["objects"]["label"].tolist(), [79])
    self.assertEmpty(found[632]["objects"]["label"])

  def test_masks_equal_pycocotools(self):
    from pycocotools import coco

    self._write(files())
    reference = coco.COCO(str(self.root / _JSON))
    for e in self._build().values():
      masks = e["objects"]["mask"]
      for number, counts in zip(e["objects"]["id"], masks["counts"]):
        want = reference.annToRLE(reference.anns[number])
        got = want["counts"]
        self.assertEqual(
          counts, got if isinstance(got, bytes) else got.encode()
        )

  def test_archives_as_downloaded(self):
    some = files()
    annotations = {_JSON: some.pop(_JSON)}
    evil = {**some, "val2017/../../evil.jpg": b"x"}
    self._write(
      {
        "annotations_trainval2017.zip": tiny_files.zipped(annotations),
        "val2017.zip": tiny_files.zipped(evil),
      }
    )
    with self.assertRaisesRegex(ValueError, "leaves the archive's folder"):
      self._build()
    self._write({"val2017.zip": tiny_files.zipped(some)})
    in_archives = self._build()
    # Nothing is unpacked, inside the manual dir or out of it.
    self.assertLen(list(self.root.rglob("*")), 2)
    self.assertEmpty(list(self.root.parent.rglob("evil*")))
    self._write({**some, **annotations})
    for i, e in self._build().items():
      np.testing.assert_array_equal(e["image"], in_archives[i]["image"])
      np.testing.assert_array_equal(
        e["objects"]["bbox_px"], in_archives[i]["objects"]["bbox_px"]
      )

  def test_the_same_pixels_on_the_fly_for_varying_sizes(self):
    self._write(files())
    clean, done = self._build(), self._build("gaussian_noise_2")
    keys = conditions.raw_keys(
      0,
      "coco_c",
      "gaussian_noise",
      2,
      [e["example_id"].decode() for e in clean.values()],
    )
    batch, sizes = canvas.stack([e["image"] for e in clean.values()])
    fly = np.asarray(
      corruptions.corrupt_batch(
        batch, "gaussian_noise", 2, edition="any", keys=keys, sizes=sizes
      )
    )
    for i, pixels, (height, width) in zip(clean, fly, sizes, strict=True):
      np.testing.assert_array_equal(done[i]["image"], pixels[:height, :width])

  @pytest.mark.slow
  def test_workers_give_the_same(self):
    self._write(files())
    one, two = self._build(workers=1), self._build(workers=2)
    for i in one:
      np.testing.assert_array_equal(one[i]["image"], two[i]["image"])
      np.testing.assert_array_equal(
        one[i]["objects"]["mask"]["counts"], two[i]["objects"]["mask"]["counts"]
      )


class RefusalTest(_Case):
  def _broken(self, change, message, error=ValueError):
    new = copy.deepcopy(content())
    change(new)
    self._write({**files(), _JSON: json.dumps(new).encode()})
    with self.assertRaisesRegex(error, message):
      self._build()

  @parameterized.parameters(
    ("image_id", 99, "Annotation 7 is of image 99, which"),
    ("id", 0, "unique and not 0"),
    ("category_id", 12, "category 12 is not one of the 80"),
    ("category_id", 1.5, "category_id is a whole number >= 0, got 1.5"),
    ("bbox", [50, 3, 20, 30], "annotation|outside the image of 60 x 48"),
    ("bbox", [50, 3, 20], "annotation 7"),
    ("area", float("nan"), "annotation 7 has the area nan"),
    ("iscrowd", "yes", "annotation 7: iscrowd is 0 or 1, got 'yes'"),
    ("segmentation", [], "annotation 7 has no segmentation"),
    ("segmentation", [[1, 2, 3, 4]], "annotation 7.*three points"),
  )
  def test_bad_annotations(self, key, value, message):
    self._broken(
      lambda c: c["annotations"][0].update({key: value}),
      message,
    )

  @parameterized.parameters(
    (lambda c: c["images"][1].update(id=139), "Two image entries have the id"),
    (lambda c: c["images"][0].update(width=61), "the annotations say 61 x 48"),
    (lambda c: c["images"][0].update(width=-6), "Image 139: height and width"),
    (lambda c: c["images"][0].update(file_name=7), "file_name is a text"),
    (lambda c: c.update(annotations={}), "annotations: a list of objects"),
    (
      lambda c: c["categories"].append(c["categories"][0]),
      "Two category entries",
    ),
    (lambda c: c["categories"][0].update(name="people"), "COCO's is 'person'"),
    (lambda c: c.pop("images"), "not a COCO instances file. Expected images"),
  )
  def test_bad_files(self, change, message):
    self._broken(change, message)

  def test_images_that_are_not_there(self):
    self._broken(
      lambda c: c["images"][0].update(file_name="../../etc/passwd"),
      "'../../etc/passwd', with 2 annotations; there is no such file",
      FileNotFoundError,
    )

  def test_missing_files_say_what_was_looked_for(self):
    self._write({"notes.txt": b"an empty manual dir is TFDS's own error"})
    with self.assertRaisesRegex(
      FileNotFoundError, "instances_val2017.json is not in .*annotations_train"
    ):
      self._build()
    self._write({_JSON: files()[_JSON]})
    with self.assertRaisesRegex(FileNotFoundError, "folder val2017 and in"):
      self._build()
