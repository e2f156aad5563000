"""Run-length masks: equal to pycocotools' strings, and refusals."""

import doctest
import sys
from unittest import mock

import numpy as np
from absl.testing import parameterized

from robust_tfds.coco import rle


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

  def test_many_masks_at_once(self):
    from pycocotools import mask as coco

    masks = [m for m in _masks() if m.size > 1]
    runs = [rle.counts(rle.encode(m)) for m in masks]
    firsts = np.cumsum([0, *map(len, runs[:-1])])
    want = [
      coco.encode(np.asfortranarray(m, dtype=np.uint8))["counts"].decode()
      for m in masks
    ]
    self.assertEqual(rle.compressed(np.concatenate(runs), firsts), want)
    self.assertEqual(rle.compressed(np.zeros(0, int), np.zeros(0, int)), [])

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
    ([[1, 2, 3, float("nan"), 5, 6]],), ([[1, 2, 3, float("inf"), 5, 6]],),
    ([[1, 2, 3, "4", 5, 6]],), ([[1, 2, 3, True, 5, 6]],), ([[1, 2, 3]],),
    ([[1, 2, 3, None, 5, 6]],), ([[[1, 2], [3, 4], [5, 6]]],), ("abc",),
    ([[0, 0, 1e9, 0, 1e9, 1e9]],), ([[0, 0, 1e30, 0, 5, 5]],), ([7],),
    ([[0, 0, 5, 0, 5, 10**30]],), ([[-1e6, 0, 5, 0, 5, 5]],), (None,),
    ([[0, 0, 1, 1, 2, 2], []],), ([[0, 0, 40, 30] * 20_000],),
  )  # fmt: skip
  def test_bad_polygons_never_reach_the_c_code(self, polygons):
    with self.assertRaisesRegex(ValueError, "polygon"):
      rle.from_polygons(polygons, (30, 40))

  def test_polygons_a_little_outside_are_legitimate(self):
    outside = rle.from_polygons(
      [[-3, -3, 43.5, -3, 43.5, 33, -3, 33]], (30, 40)
    )
    self.assertEqual(rle.area(outside), 30 * 40)
    flat = [[296.65, 388.33, 296.65, 388.33, 297.68, 388.33, 297.68, 388.33]]
    self.assertEqual(rle.area(rle.from_polygons(flat, (480, 640))), 0)

  @parameterized.parameters(
    (None,), ([30],), ([30, 40, 3],), ([30.0, 40],), ([True, 40],), ([0, 40],),
    ([-30, 40],), ([10**9, 10**9],), ("30",), ([float("nan"), 40],),
  )  # fmt: skip
  def test_bad_sizes(self, size):
    with self.assertRaisesRegex(
      ValueError, "two whole numbers from 1 to 65535"
    ):
      rle.from_polygons([[0, 0, 5, 0, 5, 5]], size)
    with self.assertRaisesRegex(
      ValueError, "two whole numbers from 1 to 65535"
    ):
      rle.from_counts([5], size)

  def test_the_first_of_many_broken_ones(self):
    rng = np.random.default_rng(3)
    masks = [rle.encode(rng.random((h, h + 3)) < 0.4) for h in range(1, 60)]
    texts, sizes = [m.counts for m in masks], [m.size for m in masks]
    self.assertIsNone(rle.first_broken(texts, sizes))
    self.assertIsNone(rle.first_broken([], []))
    with mock.patch.object(rle, "_CHARS_AT_ONCE", 64):
      self.assertIsNone(rle.first_broken(texts, sizes))
      for text, message in (
        ("", "Broken"), ("2P", "Broken"), ("2\u2192", "Broken"),
        (texts[40] + "1", "add up to"), (texts[39], "add up to"),
      ):  # fmt: skip
        spoiled = [*texts[:40], text, *texts[41:], "?"]
        place, words = rle.first_broken(spoiled, [*sizes, (1, 1)])
        self.assertEqual(place, 40)
        self.assertIn(message, words)

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
    for runs in (
      [1, 2.0, 1],
      ["1", "3"],
      [True, 3],
      [[1, 3]],
      None,
      4,
      [[1], 3],
    ):
      with self.assertRaisesRegex(ValueError, "a list of whole numbers"):
        rle.from_counts(runs, [2, 2])
    for runs in ([10**30, 1], [2**62, 2**62, 2**62, 2**62, 4]):
      with self.assertRaisesRegex(ValueError, "whole numbers|add up to 4"):
        rle.from_counts(runs, [2, 2])
    with self.assertRaisesRegex(ValueError, "must be \\[H, W\\]"):
      rle.encode(np.zeros((2, 2, 1)))

  def test_docstrings(self):
    self.assertEqual(doctest.testmod(rle).failed, 0)
