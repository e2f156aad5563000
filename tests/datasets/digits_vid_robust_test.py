"""Digits in smooth motion: anchors, motion, boxes as COCO rows."""

import tempfile
from unittest import mock

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import absltest

from eval.metrics import pm_k
from robust_tfds.building import frame_boxes
from robust_tfds.datasets.digits import digits_dataset_builder as digits
from robust_tfds.datasets.digits_vid_robust import (
  digits_vid_robust_dataset_builder as digits_vid,
)
from tests.datasets import natural_videos

ANCHORS = 12  # of 120, so that a test takes seconds
FRAMES = 21


def _few_anchors(case) -> None:
  for name, value in (
    ("_EVERY", 30),
    # Other tests of this process have listed all anchors.
    ("_listed", digits_vid._listed.__wrapped__),
  ):
    few = mock.patch.object(digits_vid, name, value)
    few.start()
    case.addClassCleanup(few.stop)


def _frames():
  rows = digits.rows("test")[:: digits_vid._EVERY]
  return [frame for row in rows for frame in digits_vid.video(*row)]


class DigitsReviewedTest(
  natural_videos.MadeFolder, tfds.testing.DatasetBuilderTestCase
):
  DATASET_CLASS = digits_vid.Builder
  BUILDER_CONFIG_NAMES_TO_TEST = ["reviewed"]

  @classmethod
  def setUpClass(cls):
    _few_anchors(cls)
    cls.SPLITS = {"test": sum(frame.reviewed for frame in _frames())}
    super().setUpClass()


class CountTest(absltest.TestCase):
  def test_all_anchors(self):
    frames = _frames()
    self.assertLen(frames, 2520)
    self.assertLen({frame.group_id for frame in frames}, 120)
    # Those that still show 90 % of the digit.
    self.assertEqual(sum(frame.reviewed for frame in frames), 2345)


class DigitsTest(natural_videos.Prepared):
  NAME = "digits_vid_robust"

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    _few_anchors(cls)
    folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(folder.cleanup)
    cls._built = folder.name

  def setUp(self):
    super().setUp()
    self.data = self._built  # built once for all tests

  def test_the_anchor_is_the_still_digit(self):
    found = self.examples("all")
    self.assertLen(found, FRAMES * ANCHORS)
    anchors = [r for r in found.values() if r["is_anchor"]]
    self.assertLen(anchors, ANCHORS)
    for row in anchors[:5]:
      number = int(row["example_id"].decode().split("/")[0][-4:])
      np.testing.assert_array_equal(row["image"], digits.read(number))
      self.assertTrue(row["reviewed"])

  def test_boxes_as_coco_rows(self):
    examples = list(self.examples("all").values())
    boxes = frame_boxes.coco(examples)
    self.assertLen(boxes.anchors, ANCHORS)
    self.assertLen(boxes.gt, FRAMES * ANCHORS)
    perfect = [{**row, "score": 0.5} for row in boxes.gt]
    got = pm_k.detection(perfect, perfect, boxes.anchors, boxes.frame_index)
    self.assertAlmostEqual(got["map_pmk"], 1.0)
    lost = [
      i for e in boxes.anchors[: ANCHORS // 2] for i in e["candidates"][:1]
    ]
    some = [row for row in perfect if row["image_id"] not in lost]
    got = pm_k.detection(perfect, some, boxes.anchors, boxes.frame_index)
    self.assertEqual([*got["selected"].values()][: ANCHORS // 2], lost)
    self.assertGreater(got["map_orig"], got["map_pmk"])
    by_id = {v: k for k, v in boxes.image_id.items()}
    row = boxes.gt[0]
    pixels = {e["example_id"].decode(): e["image"] for e in examples}
    x, y, w, h = (round(v) for v in row["bbox"])
    picture = pixels[by_id[row["image_id"]]][..., 0]
    self.assertGreaterEqual(picture[y : y + h, x : x + w].max(), 32)
    picture = picture.copy()
    picture[y : y + h, x : x + w] = 0
    self.assertLess(picture.max(), 32)

  def test_motion_is_smooth(self):
    row = digits.rows("test")[0][0]
    pictures = [digits_vid.picture(row, o).astype(int) for o in range(-10, 11)]
    steps = [np.abs(a - b).mean() for a, b in zip(pictures, pictures[1:])]
    far = np.abs(pictures[0] - pictures[-1]).mean()
    self.assertGreater(min(steps), 0)
    self.assertLess(max(steps), far / 3)
