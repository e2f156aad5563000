"""Embedded scenes: sound objects, the same for ever, corrupted as promised."""

from unittest import mock

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import parameterized

import robust_tfds
from robust_tfds import conditions, corruptions, datasets
from robust_tfds.coco import rle
from robust_tfds.corruptions import canvas
from robust_tfds.datasets.digits_detection import (
  digits_detection_dataset_builder,
  scenes,
)
from robust_tfds.datasets.digits_detection_c import (
  digits_detection_c_dataset_builder,
)
from tests import quick
from tests.datasets import builders_test


class _FewScenes:
  @classmethod
  def setUpClass(cls):
    few = mock.patch.dict(scenes.COUNTS, {"train": 30, "test": 20})
    few.start()
    cls.addClassCleanup(few.stop)
    super().setUpClass()


class DigitsDetectionTest(_FewScenes, builders_test.DigitsTest):
  DATASET_CLASS = digits_detection_dataset_builder.Builder
  SPLITS = {"train": 30, "test": 20}


class DigitsDetectionCTest(_FewScenes, builders_test.DigitsTest):
  DATASET_CLASS = digits_detection_c_dataset_builder.Builder
  SPLITS = {"test": 20}
  BUILDER_CONFIG_NAMES_TO_TEST = ["clean", "brightness_3"]


class CorruptedTest(parameterized.TestCase):
  def _examples(self, config, folder, **kwargs):
    built = datasets.prepare(
      "digits_detection_c", config, data_dir=folder, **kwargs
    )
    return list(tfds.as_numpy(built.as_dataset(split="test")))

  @quick.cases(["gaussian_noise"], ["motion_blur", "fog"])
  def test_the_same_pixels_on_the_fly_and_prepared(self, name):
    folder = self.create_tempdir().full_path
    clean = self._examples("clean", folder, limit=6)
    done = self._examples(f"{name}_4", folder, limit=6)
    images = [e["image"] for e in clean]
    self.assertGreater(len({i.shape for i in images}), 2)
    ids = [e["example_id"].decode() for e in clean]
    batch, sizes = canvas.stack(images)
    keys = conditions.raw_keys(0, "digits_detection_c", name, 4, ids)
    fly = np.asarray(
      corruptions.corrupt_batch(
        batch, name, 4, edition="any", keys=keys, sizes=sizes
      )
    )
    for before, after, pixels in zip(clean, done, fly, strict=True):
      self.assertEqual(before["example_id"], after["example_id"])
      height, width = before["image"].shape[:2]
      np.testing.assert_array_equal(after["image"], pixels[:height, :width])
      self.assertFalse(np.array_equal(after["image"], before["image"]))
      for key in ("bbox", "bbox_px", "label", "area", "id"):
        np.testing.assert_array_equal(
          before["objects"][key], after["objects"][key]
        )

  def test_features(self):
    (e, *_) = self._examples("clean", self.create_tempdir().full_path, limit=2)
    height, width = e["image"].shape[:2]
    self.assertEqual(e["size"].tolist(), [height, width])
    objects = e["objects"]
    np.testing.assert_allclose(
      objects["bbox"] * [height, width, height, width],
      np.stack(
        [
          objects["bbox_px"][:, 1],
          objects["bbox_px"][:, 0],
          objects["bbox_px"][:, 1] + objects["bbox_px"][:, 3],
          objects["bbox_px"][:, 0] + objects["bbox_px"][:, 2],
        ],
        axis=1,
      ),
      atol=1e-4,
    )
    masks = objects["mask"]
    for counts, size, area in zip(
      masks["counts"], masks["size"], objects["area"]
    ):
      self.assertEqual(size.tolist(), [height, width])
      self.assertEqual(rle.area(rle.Mask(counts.decode(), tuple(size))), area)
    self.assertEqual(objects["area"].dtype, np.float64)
    self.assertFalse(objects["is_crowd"].any())
    self.assertGreater(objects["id"].min(), 0)

  def test_array_record(self):
    built = datasets.prepare(
      "digits_detection_c",
      "clean",
      data_dir=self.create_tempdir().full_path,
      file_format="array_record",
      limit=5,
    )
    examples = list(built.as_data_source(split="test"))
    self.assertLen(examples, 5)
    objects = examples[0]["objects"]
    self.assertEqual(np.asarray(objects["area"]).dtype, np.float64)
    self.assertEqual(np.shape(objects["bbox_px"])[1], 4)

  def test_names(self):
    self.assertLen(datasets.conditions("digits_detection_c"), 96)
    self.assertEqual(datasets.edition("digits_detection_c"), "any")
    with self.assertRaisesRegex(ValueError, "Did you mean 'gaussian_noise'"):
      robust_tfds.load("digits_detection_c/gausian_noise/3")
    with self.assertRaisesRegex(ValueError, "Unknown codec 'published'"):
      datasets.builder("digits_detection_c", "clean", codec="published")

  def test_jpeg85(self):
    (e, *_) = self._examples(
      "clean", self.create_tempdir().full_path, limit=1, codec="jpeg85"
    )
    name = e["example_id"].decode()
    image, _ = scenes.draw("test", int(name[5:9]))
    self.assertFalse(np.array_equal(e["image"], image))
    self.assertLess(
      abs(e["image"].astype(float) - image.astype(float)).mean(), 12
    )
