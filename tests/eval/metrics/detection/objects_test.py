"""Objects, overlaps and matches that AP is made of."""

import numpy as np
from absl.testing import absltest, parameterized
from pycocotools import mask as coco

from eval.metrics import detection
from eval.metrics.detection import (
  matches,
  operating_point,
  overlaps,
)
from robust_tfds.coco import rle


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
