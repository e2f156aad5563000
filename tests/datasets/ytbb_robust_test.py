"""YTBB-Robust from a folder in the published layout."""

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import absltest

from robust_tfds.datasets.ytbb_robust import (
  ytbb_robust_dataset_builder as ytbb_builder,
)
from tests.datasets import natural_videos


class YtbbReviewedTest(
  natural_videos.MadeFolder, tfds.testing.DatasetBuilderTestCase
):
  DATASET_CLASS = ytbb_builder.Builder
  SPLITS = {"test": 5}
  BUILDER_CONFIG_NAMES_TO_TEST = ["reviewed"]
  MAKE = staticmethod(natural_videos.ytbb)


class YtbbAllTest(YtbbReviewedTest):
  SPLITS = {"test": 63}
  BUILDER_CONFIG_NAMES_TO_TEST = ["all"]


class YtbbTest(natural_videos.Prepared):
  def test_reviewed(self):
    natural_videos.ytbb(self.root)
    found = self.examples("ytbb_robust")
    near = [r for r in found.values() if r["group_id"].startswith(b"one")]
    self.assertEqual(sorted(r["frame"] for r in near), [-10, -1, 0, 1])
    for row in near:  # cat by YouTube-BB, dog by the reviewers
      self.assertEqual(row["labels"].tolist(), [7, 19])
    anchor = found["one_400/frame-12.jpg"]
    np.testing.assert_allclose(
      anchor["objects"]["bbox"], [[0.2, 0.1, 0.9, 0.5]], atol=1e-6
    )
    self.assertIn("-3_x_12/frame-12.jpg", found)

  def test_all(self):
    natural_videos.ytbb(self.root)
    found = self.examples("ytbb_robust", "all")
    self.assertLen(found, 63)
    self.assertEqual(sum(r["reviewed"] for r in found.values()), 5)
    # YouTube-BB's 22 is a car, which the 24 classes call 23.
    self.assertEqual(found["two_800/frame-2.jpg"]["labels"].tolist(), [23])

  def test_pairs_are_needed_for_the_reviewed_sets_alone(self):
    natural_videos.ytbb(self.root)
    folder = self.root / natural_videos.PUBLISHED / "ytbb-robust/metadata"
    (folder / "pmk_labels.json").unlink()
    with self.assertRaisesRegex(FileNotFoundError, "No pmk_labels.json"):
      self.prepare("ytbb_robust")
    self.assertLen(self.examples("ytbb_robust", "all"), 63)


if __name__ == "__main__":
  absltest.main()
