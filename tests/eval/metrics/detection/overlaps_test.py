"""Overlaps of pairs against pycocotools'."""

import numpy as np
from absl.testing import absltest
from pycocotools import mask as coco

from eval.metrics.detection import overlaps
from robust_tfds.coco import rle


def _every_pair(first, second):
  return overlaps.Pairs.from_keys(np.zeros(first, int), np.zeros(second, int))


class OverlapsTest(absltest.TestCase):
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
