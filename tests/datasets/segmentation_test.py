"""Cityscapes, ADE20K and VOC with masks, from small official layouts."""

import pathlib

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import absltest, parameterized
from PIL import Image

from robust_tfds import datasets, errors
from robust_tfds.building.sources import segmentation
from robust_tfds.coco import rle
from robust_tfds.datasets.digits_detection import scenes
from robust_tfds.datasets.digits_segmentation import (
  digits_segmentation_dataset_builder as digits,
)
from tests import in_folder, tiny_files
from tests.building.sources import small_sets

# cityscapesScripts' ids of the 19 train ids.
_TRAIN = [7, 8, 11, 12, 13, 17, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 31, 32]
_TRAIN += [33]


def _cityscapes(ids):
  out = np.full(ids.shape, 255, np.uint8)
  for train, number in enumerate(_TRAIN):
    out[ids == number] = train
  return out


def _ade20k(ids):
  return np.where(ids == 0, 255, ids - 1)


# Set -> the map of its ids, where a mask lies by its picture's stem, classes.
_SETS = {
  "cityscapes_seg_c": (
    _cityscapes,
    lambda s: f"gtFine/val/{s.partition('_')[0]}/{s[:-12]}_gtFine_labelIds.png",
    19,
  ),
  "ade20k_c": (
    _ade20k,
    lambda s: f"ADEChallengeData2016/annotations/validation/{s}.png",
    150,
  ),
  "voc_seg_c": (
    lambda ids: ids,
    lambda s: f"VOCdevkit/VOC2012/SegmentationClass/{s}.png",
    21,
  ),
}


class LayoutTest(in_folder.TestCase, parameterized.TestCase):
  def _rows(self, name):
    built = datasets.prepare(
      name, data_dir=self.root / "data", manual_dir=self.root / "manual"
    )
    rows = built.as_data_source(split="validation")
    return built, {row["example_id"].decode(): row for row in rows}

  @parameterized.parameters(*_SETS)
  def test_masks_are_train_ids(self, name):
    of_ids, place, classes = _SETS[name]
    small_sets.MAKERS[name](self.root / "manual")
    built, rows = self._rows(name)
    self.assertLen(rows, 2)
    self.assertEqual(
      built.info.features["classes"].feature.num_classes, classes
    )
    self.assertLen(built.CLASSES, classes)
    for example_id, row in rows.items():
      stem = pathlib.Path(example_id).stem
      ids = np.asarray(Image.open(self.root / "manual" / place(stem)))
      np.testing.assert_array_equal(row["mask"][..., 0], of_ids(ids))
      there = set(np.unique(of_ids(ids)).tolist()) - {255}
      self.assertEqual(there, set(np.asarray(row["classes"]).tolist()))
      self.assertEqual(row["group_id"], row["example_id"])
      self.assertEqual(row["mask"].shape[:2], row["image"].shape[:2])
      if name == "cityscapes_seg_c":
        self.assertEqual(row["city"].decode(), stem.partition("_")[0])

  @parameterized.parameters(*_SETS)
  def test_a_mask_that_is_missing(self, name):
    root = small_sets.MAKERS[name](self.root / "manual")
    folders = "gtFine", "annotations", "SegmentationClass"
    masks = [p for f in folders for p in sorted(root.rglob(f"{f}/**/*.png"))]
    mask = next(p for p in masks if "instance" not in p.name)
    mask.unlink()
    with self.assertRaisesRegex(errors.UserError, f"no .*{mask.name}"):
      self._rows(name)

  def test_an_archive_as_it_is(self):
    made = small_sets.ade20k(self.root / "made")
    files = {
      str(p.relative_to(made)): p.read_bytes()
      for p in made.rglob("*")
      if p.is_file()
    }
    archive = {"ADEChallengeData2016.zip": tiny_files.zipped(files)}
    tiny_files.put(self.root / "manual", archive)
    _, rows = self._rows("ade20k_c")
    self.assertLen(rows, 2)

  def test_names_of_classes(self):
    self.assertEqual(segmentation.ADE20K_CLASSES[0], "wall")
    self.assertEqual(segmentation.ADE20K_CLASSES[149], "flag")
    self.assertEqual(segmentation.CITYSCAPES_CLASSES[18], "bicycle")
    self.assertEqual(segmentation.VOC_CLASSES[20], "tvmonitor")


class DigitsTest(absltest.TestCase):
  def test_scenes_are_those_of_detection(self):
    source = digits.sources("test")[3]
    image, mask = source.read()
    want, objects = scenes.draw("test", 3)
    np.testing.assert_array_equal(image, want)
    for found in objects:
      self.assertTrue(
        (mask[rle.decode(found.mask) > 0] == found.label + 1).all()
      )
    self.assertEqual((mask > 0).sum(), sum(o.area for o in objects))

  def test_features(self):
    features = tfds.builder("digits_segmentation_c").info.features
    self.assertEqual(features["classes"].feature.names[:2], ["background", "0"])
