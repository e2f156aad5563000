"""Canvases: few, never much larger, never across a power of two."""

import collections

import numpy as np
from absl.testing import absltest

from robust_tfds import errors
from robust_tfds.corruptions import canvas


def coco_sizes() -> set[tuple[int, int]]:
  """800 sizes with COCO val's spread: long sides to 640, both orientations."""
  rng = np.random.default_rng(0)
  sizes = set()
  while len(sizes) < 800:
    long_side = int(rng.choice([640, 640, 500, 612, rng.integers(32, 641)]))
    short_side = int(rng.integers(32, long_side + 1))
    flip = rng.random() < 0.4
    sizes.add((long_side, short_side) if flip else (short_side, long_side))
  return sizes


class CanvasTest(absltest.TestCase):
  def test_long_thin_pictures_are_refused_before_memory_is_taken(self):
    with self.assertRaisesRegex(
      errors.UserError, "A picture of 1 x 30000 px: 805,306,368 pixels in the"
    ):
      canvas.shape(30_000, 1)

  def test_few_canvases_for_a_folder_of_any_sizes(self):
    rng = np.random.default_rng(0)
    sizes = np.exp(rng.uniform(np.log(24), np.log(5000), (800, 2))).astype(int)
    levels = collections.Counter(canvas.shape(*s) for s in sizes.tolist())
    self.assertGreater(len(levels), canvas.MOST)
    shapes = canvas.few(levels)
    self.assertLen(shapes, canvas.MOST)
    for size in sizes.tolist():
      holds = canvas.smallest(shapes, *size)
      self.assertIn(holds, shapes)
      self.assertTrue((np.array(holds) >= size).all())
    # Of few pictures none is worth a second compilation, of many each is.
    self.assertEqual(canvas.few({(64, 64): 1, (480, 640): 1}), [(480, 640)])
    many = {(64, 64): 999, (480, 640): 999}
    self.assertEqual(canvas.few(many), sorted(many))
    self.assertEqual(canvas.few({}), [])

  def test_canvases_beyond_the_limit_stay_apart(self):
    long = {(16384, 4096): 1, (4096, 16384): 1}
    self.assertLen(canvas.few(long, most=1), 2)
    self.assertEqual(canvas.smallest([(64, 64)], 65, 3), (128, 128))

  def test_at_most_twelve_canvases_for_coco(self):
    sizes = coco_sizes()
    canvases = {canvas.shape(*s) for s in sizes}
    self.assertLessEqual(len(canvases), 12)
    for height, width in sizes:
      rows, columns = canvas.shape(height, width)
      self.assertGreaterEqual((rows, columns), (height, width))
      power = 1 << (max(height, width) - 1).bit_length()
      self.assertLessEqual(max(rows, columns), max(power, 32))
