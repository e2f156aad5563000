"""Matching against a small loop that follows COCO's rules word by word."""

import numpy as np
from absl.testing import parameterized

from eval.metrics.detection import matches


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
