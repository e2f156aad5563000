"""Objects, overlaps and matches that AP is made of."""

import math

import numpy as np
from absl.testing import absltest, parameterized
from pycocotools import mask as coco

from eval.metrics import detection
from eval.metrics.detection import (
  checks,
  matches,
  objects,
  operating_point,
  overlaps,
)
from robust_tfds.coco import rle


def _truth():
  square = [2.0, 2.0, 8.0, 2.0, 8.0, 8.0, 2.0, 8.0]
  return checks.ground_truth(
    {
      "images": [{"id": i, "width": 20, "height": 10} for i in (9, 4, 7)],
      "categories": [{"id": 30, "name": "a"}, {"id": 3, "name": "b"}],
      "annotations": [
        {
          "id": number,
          "image_id": image,
          "category_id": 3,
          "bbox": [2, 2, 6, 6],
          "area": 36,
          "iscrowd": number == 1,
          "segmentation": [square],
        }
        for number, image in enumerate((7, 9, 4))
      ],
    }
  )


class ObjectsTest(absltest.TestCase):
  """Objects of a ground truth as columns."""

  def test_of_some_pictures(self):
    got = objects.truth_objects(_truth(), np.array([7, 9]))
    self.assertEqual(got.image.tolist(), [0, 1])
    self.assertEqual(got.label.tolist(), [1, 1])
    self.assertEqual(got.crowd.tolist(), [False, True])
    self.assertEqual(got.area.tolist(), [36, 36])
    self.assertIsNone(got.masks)

  def test_of_no_picture(self):
    got = objects.truth_objects(_truth(), np.zeros(0, np.int64))
    self.assertEqual((got.image.shape, got.box.shape), ((0,), (0, 4)))

  def test_masks_are_drawn_once(self):
    truth = _truth()
    got = objects.truth_objects(truth, np.array([4, 7, 9]), "segm")
    self.assertEqual(got.image.tolist(), [1, 2, 0])
    mask = rle.Mask(got.masks[0]["counts"], (10, 20))
    self.assertEqual(rle.area(mask), 36)
    again = objects.truth_objects(truth, np.array([4]), "segm")
    self.assertIs(again.masks[0], got.masks[2])


def _every_pair(first, second):
  return overlaps.Pairs.from_keys(np.zeros(first, int), np.zeros(second, int))


class OverlapsTest(absltest.TestCase):
  """Overlaps of pairs against pycocotools'."""

  def test_boxes_to_the_last_bit(self):
    rng = np.random.default_rng(0)
    one, two = rng.random((30, 4)) * 50, rng.random((20, 4)) * 50
    two[0, 2] = 0  # of no area
    crowd = rng.random(20) < 0.3
    got = overlaps.box_overlaps(_every_pair(30, 20), one, two, crowd)
    expected = coco.iou(one, two, crowd.astype(int).tolist())
    np.testing.assert_array_equal(got.reshape(30, 20), expected)

  def test_masks(self):
    rng = np.random.default_rng(0)
    pixels = rng.random((8, 20, 30)) < 0.6
    runs = [{"size": [20, 30], "counts": rle.encode(p).counts} for p in pixels]
    crowd = np.array([False, True, False])
    got = overlaps.mask_overlaps(_every_pair(5, 3), runs[:5], runs[5:], crowd)
    for d in range(5):
      for g in range(3):
        both = np.sum(pixels[d] & pixels[5 + g])
        whole = pixels[d] if crowd[g] else pixels[d] | pixels[5 + g]
        self.assertAlmostEqual(got[3 * d + g], both / whole.sum())
    areas = overlaps.mask_areas(runs)
    np.testing.assert_array_equal(areas, pixels.sum(axis=(1, 2)))
    self.assertEqual(overlaps.mask_areas([]).shape, (0,))

  def test_pairs_are_of_equal_keys(self):
    pairs = overlaps.Pairs.from_keys(np.array([5, 1, 9]), np.array([1, 5, 5]))
    self.assertEqual(pairs.detection.tolist(), [0, 0, 1])
    self.assertEqual(pairs.thing.tolist(), [1, 2, 0])
    few = pairs.where(np.array([True, False, True]))
    self.assertEqual(few.thing.tolist(), [1, 0])


def _objects(rng, number):
  box = 8.0 * rng.integers(0, 6, (number, 4))
  box[:, 2:] += 8
  return matches.Objects(
    rng.integers(0, 4, number),
    rng.integers(0, 2, number),
    box,
    box[:, 2] * box[:, 3],
    rng.random(number) < 0.2,
  )


def _detected(rng, number):
  box = 8.0 * rng.integers(0, 6, (number, 4))
  box[:, 2:] += 8
  return matches.Detected(
    rng.integers(0, 4, number),
    rng.integers(0, 2, number),
    rng.integers(0, 10, number) / 10,
    box,
  )


def _iou(one, two, crowd):
  width = min(one[0] + one[2], two[0] + two[2]) - max(one[0], two[0])
  height = min(one[1] + one[3], two[1] + two[3]) - max(one[1], two[1])
  if width <= 0 or height <= 0:
    return 0.0
  both = width * height
  area = one[2] * one[3]
  return both / (area if crowd else area + two[2] * two[3] - both)


def _loop(objects, detected, threshold, limits):
  """(right, wrong) of each detection, in the detections' order."""
  free = np.ones(len(objects.image), bool)
  aside = (
    objects.crowd | (objects.area < limits[0]) | (objects.area > limits[1])
  )
  right, wrong = np.zeros((2, len(detected.image)), bool)
  for d in np.argsort(-detected.score, kind="stable"):
    best, most = -1, threshold
    for ignored in (False, True):
      for g in range(len(objects.image)):
        if (objects.image[g], objects.label[g], aside[g]) != (
          detected.image[d],
          detected.label[d],
          ignored,
        ):
          continue
        iou = _iou(detected.box[d], objects.box[g], objects.crowd[g])
        if (free[g] or objects.crowd[g]) and iou >= most:
          best, most = g, iou
      if best >= 0:
        break
    area = detected.box[d, 2] * detected.box[d, 3]
    if best >= 0:
      free[best] = False
      right[d] = not aside[best]
    else:
      wrong[d] = limits[0] <= area <= limits[1]
  return right, wrong


class MatchesTest(parameterized.TestCase):
  """Matching against a small loop that follows COCO's rules word by word."""

  @parameterized.product(seed=tuple(range(6)), size=tuple(matches.AREAS))
  def test_equal_to_the_loop(self, seed, size):
    rng = np.random.default_rng(seed)
    objects, detected = _objects(rng, 60), _detected(rng, 240)
    thresholds = np.array([0.5, 0.75])
    limits = matches.AREAS[size]
    got = matches.Matcher(objects, detected, thresholds).within(limits)
    order = np.lexsort((detected.image, -detected.score, detected.label))
    np.testing.assert_array_equal(got.label, detected.label[order])
    for t, threshold in enumerate(thresholds):
      right, wrong = _loop(objects, detected, threshold, limits)
      np.testing.assert_array_equal(got.right[:, t], right[order])
      np.testing.assert_array_equal(got.wrong[:, t], wrong[order])

  def test_at_most_100_of_a_picture_and_class(self):
    number = 130
    detected = matches.Detected(
      np.zeros(number, int),
      np.zeros(number, int),
      np.linspace(0, 1, number),
      np.tile([0.0, 0.0, 5.0, 5.0], (number, 1)),
    )
    objects = _objects(np.random.default_rng(0), 0)
    matcher = matches.Matcher(objects, detected)
    self.assertEqual(matcher.rank.tolist(), list(range(100)))
    got = matcher.within(matches.AREAS[""])
    self.assertTrue(got.wrong.all())
    self.assertEqual(got.objects.shape, (2, 0))
    self.assertLen(got.select(matcher.rank < 10).label, 10)


class OperatingPointTest(absltest.TestCase):
  """The threshold of the highest F1 against a loop over all thresholds."""

  def test_no_other_threshold_is_better(self):
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 20, 200) / 20
    right = rng.random(200) < scores
    wrong = ~right & (rng.random(200) < 0.9)
    threshold, best = operating_point.best_f1(scores, right, wrong, 120)
    every = {}
    for t in np.unique(scores):
      shown = scores >= t
      hits = (right & shown).sum()
      every[t] = 2 * hits / (hits + (wrong & shown).sum() + 120)
    self.assertAlmostEqual(best, max(every.values()))
    self.assertAlmostEqual(every[threshold], best)

  def test_without_a_hit(self):
    none = np.zeros(3, bool)
    got = operating_point.best_f1(np.arange(3.0), none, ~none, 5)
    self.assertEqual(got, (float("inf"), 0.0))
    empty = np.zeros(0)
    got = operating_point.best_f1(empty, empty > 0, empty > 0, 5)
    self.assertEqual(got, (float("inf"), 0.0))


def _flat(level: int) -> np.ndarray:
  return np.full((2, 3, 3), level, np.uint8)


class RmseTest(absltest.TestCase):
  """RMSE of images: does not wrap, means over the images of a cell."""

  def test_does_not_wrap(self):
    self.assertEqual(detection.rmse(_flat(255), _flat(0)), 255.0)
    self.assertEqual(detection.rmse(_flat(0), _flat(255)), 255.0)

  def test_squares_before_the_mean(self):
    corrupted = _flat(0)
    corrupted[0] = 10
    self.assertAlmostEqual(detection.rmse(_flat(0), corrupted), np.sqrt(50))

  def test_shapes(self):
    with self.assertRaisesRegex(ValueError, "Images of one shape"):
      detection.rmse(_flat(0), _flat(0)[:1])

  def test_table_is_the_mean_of_each_cell(self):
    got = detection.rmse_table(
      [
        ("fog", 1, _flat(0), _flat(10)),
        ("fog", 2, _flat(0), _flat(100)),
        ("fog", 1, _flat(0), _flat(30)),
      ]
    )
    self.assertEqual(got, {("fog", 1): 20.0, ("fog", 2): 100.0})


_ROW = [5, 0, 0, 1, 1, 0.5, 9]
_DETECTION = {
  "image_id": 5,
  "category_id": 9,
  "score": 0.5,
  "bbox": [0, 0, 1, 1],
}


def _checks_truth():
  return {
    "images": [{"id": 5, "height": 4, "width": 6}],
    "categories": [{"id": 9, "name": "cat"}],
    "annotations": [
      {"id": 0, "image_id": 5, "category_id": 9, "bbox": [0, 1, 2, 3]}
    ],
  }


class GroundTruthTest(absltest.TestCase):
  """What COCO's tools take without a word is refused and named."""

  def test_numbered_from_one_with_defaults(self):
    truth = _checks_truth()
    (got,) = checks.ground_truth(truth, "bbox")["annotations"]
    self.assertEqual((got["id"], got["area"], got["iscrowd"]), (1, 6.0, 0))
    self.assertEqual(
      truth, _checks_truth()
    )  # a copy was changed, not the argument


class DetectionsTest(absltest.TestCase):
  def test_only_what_is_compared_is_passed_on(self):
    got = checks.detections(
      _checks_truth(), [{**_DETECTION, "more": 1}], "bbox"
    )
    self.assertEqual(got.rows().tolist(), [[5, 0, 0, 1, 1, 0.5, 9]])
    far = {**_checks_truth(), "annotations": [], "images": [{"id": 2**60}]}
    distant = {**_DETECTION, "image_id": 2**60}
    (row,) = checks.detections(far, [distant], "bbox").rows()
    self.assertEqual(row, distant)


class ArrayTest(parameterized.TestCase):
  def test_rows(self):
    got = checks.detection_array(_checks_truth(), np.array([_ROW]))
    np.testing.assert_array_equal(got, [_ROW])

  @parameterized.parameters((0, 4), (3, -1), (5, math.nan), (6, 1))
  def test_refusals(self, column, value):
    rows = np.array([_ROW, _ROW])
    rows[1, column] = value
    with self.assertRaisesRegex(ValueError, "^Detection 1, "):
      checks.detection_array(_checks_truth(), rows)

  def test_known_images(self):
    self.assertEqual(checks.known_images(_checks_truth(), [5, 5]), [5])
