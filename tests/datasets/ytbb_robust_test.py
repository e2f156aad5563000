"""YTBB-Robust from a folder in the published layout."""

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import parameterized

from robust_tfds import errors
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
  NAME = "ytbb_robust"

  def setUp(self):
    super().setUp()
    natural_videos.ytbb(self.root)
    published = self.root / natural_videos.PUBLISHED
    self.metadata = published / "ytbb-robust/metadata"

  def test_reviewed(self):
    found = self.examples()
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
    found = self.examples("all")
    self.assertLen(found, 63)
    self.assertEqual(sum(r["reviewed"] for r in found.values()), 5)
    # YouTube-BB's 22 is a car, which the 24 classes call 23.
    self.assertEqual(found["two_800/frame-2.jpg"]["labels"].tolist(), [23])

  def test_pairs_are_needed_for_the_reviewed_sets_alone(self):
    (self.metadata / "pmk_labels.json").unlink()
    with self.assertRaisesRegex(FileNotFoundError, "No pmk_labels.json"):
      self.prepare()
    self.assertLen(self.examples("all"), 63)

  @parameterized.parameters(
    ("anchor_labels.json", "[]", "anchor_labels.json: got"),
    ("anchor_labels.json", '{"labels": []}', "annotations: missing"),
    (
      "anchor_labels.json",
      '{"labels": ["good"], "annotations": [{"key": 7, "labels": []}]}',
      "anchor_labels.json: annotations.0.key: got 7",
    ),
    (
      "anchor_labels.json",
      '{"labels": ["good"], "annotations": [{"key": "a_1/frame-3.jpg",'
      ' "labels": [-1]}]}',
      "anchor_labels.json.*a_1/frame-3.jpg: label -1 of 1; they are",
    ),
    (
      "anchor_labels.json",
      '{"labels": ["good", "good"], "annotations": []}',
      "anchor_labels.json: labels: 'good' is there twice",
    ),
    (
      "anchor_labels.json",
      '{"labels": ["good"], "annotations": [{"key": "a.jpg", "labels": []}]}',
      "anchor_labels.json.*'a.jpg' is not of the form",
    ),
    (
      "pmk_labels.json",
      '{"labels": ["similar"], "annotations": [{"key": "a,b", "labels": [1]}]}',
      "pmk_labels.json: a,b: label 1 of 1",
    ),
    (
      "ytbb_robustness_test_anchors_full.csv",
      "one,400,7\n",
      "full.csv: line 1: the header ytid,time_ms,label expected, got one,400",
    ),
    (
      "ytbb_robustness_test_anchors_full.csv",
      "ytid,time_ms,label\none,400\n",
      "full.csv, line 2: 3 columns expected, got 2",
    ),
    (
      "ytbb_robustness_test_anchors_full.csv",
      "ytid,time_ms,label\none,400,24\n",
      "full.csv: one, 400 ms: unknown label 24",
    ),
    (
      "ytbb_robustness_test_anchors_full.csv",
      "ytid,time_ms,label\none,4.5,2\n",
      "full.csv: one: time_ms: a whole number expected, got '4.5'",
    ),
    (
      "yt_bb_detection_validation.csv",
      "one,400,19,dog,0,present,0.1,nan,0.2,0.9\n",
      "validation.csv, line 1: a coordinate expected, got 'nan'",
    ),
    (
      "yt_bb_detection_validation.csv",
      "one,400,19,dog,0,perhaps,0.1,0.2,0.2,0.9\n",
      "line 1: object_presence: one of present, absent, uncertain expected",
    ),
  )
  def test_broken_metadata(self, name, text, message):
    (self.metadata / name).write_text(text)
    with self.assertRaisesRegex(errors.UserError, message):
      self.prepare()
