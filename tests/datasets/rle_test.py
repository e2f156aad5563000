"""Run-length masks: equal to pycocotools' strings, and refusals."""

import doctest
import sys
from unittest import mock

import numpy as np
from absl.testing import absltest
from absl.testing import parameterized

from robust_tfds.datasets import rle


def _masks():
  rng = np.random.default_rng(0)
  yield np.zeros((7, 5), bool)
  yield np.ones((7, 5), bool)
  yield np.eye(9, dtype=bool)
  yield np.indices((6, 6)).sum(axis=0) % 2 == 1
  for shape in ((1, 1), (1, 40), (40, 1), (33, 57), (300, 401)):
    for share in (0.01, 0.5, 0.99):
      yield rng.random(shape) < share
  blob = np.zeros((480, 640), bool)
  blob[100:300, 20:620] = True
  blob[150:200, 200:300] = False
  yield blob


class RleTest(parameterized.TestCase):
  def test_strings_areas_and_boxes_of_pycocotools(self):
    from pycocotools import mask as coco

    for pixels in _masks():
      want = coco.encode(np.asfortranarray(pixels, dtype=np.uint8))
      got = rle.encode(pixels)
      self.assertEqual(got.counts, want["counts"].decode())
      self.assertEqual(list(got.size), want["size"])
      self.assertEqual(rle.area(got), int(coco.area(want)))
      self.assertEqual(list(rle.box(got)), coco.toBbox(want).tolist())
      np.testing.assert_array_equal(rle.decode(got), pixels)

  def test_runs_of_a_crowd(self):
    got = rle.from_counts([2, 3, 1], [3, 2])
    np.testing.assert_array_equal(
      rle.decode(got), [[False, True], [False, True], [True, False]]
    )
    self.assertEqual(rle.counts(got).tolist(), [2, 3, 1])

  def test_a_run_of_zero_in_the_middle(self):
    got = rle.from_counts([0, 0, 1, 1], [1, 2])
    self.assertEqual(rle.box(got), (1, 0, 1, 1))
    self.assertEqual(rle.area(got), 1)

  def test_polygons_are_united(self):
    from pycocotools import mask as coco

    polygons = [[2, 2, 20.5, 2, 11, 19], [5, 5, 25, 5, 25, 25.2, 5, 25]]
    want = coco.decode(coco.merge(coco.frPyObjects(polygons, 30, 40)))
    got = rle.from_polygons(polygons, (30, 40))
    np.testing.assert_array_equal(rle.decode(got), want.astype(bool))

  @parameterized.parameters(
    ([],), ([[1, 2, 3, 4]],), ([[1, 2, 3, 4, 5, 6, 7]],),
    ([[1, 2, 3, float("nan"), 5, 6]],),
  )  # fmt: skip
  def test_bad_polygons(self, polygons):
    with self.assertRaisesRegex(ValueError, "polygon"):
      rle.from_polygons(polygons, (30, 40))

  def test_polygons_without_pycocotools(self):
    with mock.patch.dict(sys.modules, {"pycocotools": None}):
      with self.assertRaisesRegex(ImportError, r"robust_tfds\[detection\]"):
        rle.from_polygons([[0, 0, 5, 0, 5, 5]], (8, 8))

  @parameterized.parameters(
    ("2", (3, 3)),  # too short
    ("22", (1, 3)),  # too long
    ("2P", (2, 2)),  # ends within a run
    ("2\x7f", (2, 2)),
    ("2é", (2, 2)),
    ("P" * 20 + "0", (2, 2)),
  )
  def test_broken_strings(self, counts, size):
    with self.assertRaises(ValueError):
      rle.decode(rle.Mask(counts, size))

  def test_bad_runs_and_shapes(self):
    with self.assertRaisesRegex(ValueError, "add up to 4"):
      rle.from_counts([1, 2], [2, 2])
    with self.assertRaisesRegex(ValueError, "add up to 4"):
      rle.from_counts([5, -1], [2, 2])
    with self.assertRaisesRegex(ValueError, "must be \\[H, W\\]"):
      rle.encode(np.zeros((2, 2, 1)))

  def test_docstrings(self):
    self.assertEqual(doctest.testmod(rle).failed, 0)


if __name__ == "__main__":
  absltest.main()
