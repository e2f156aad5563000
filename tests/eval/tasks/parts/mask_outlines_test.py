"""Where masks begin and end, against masks painted pixel by pixel."""

from unittest import mock

import numpy as np
from absl.testing import parameterized

from eval.tasks.detections import mask_outlines
from tests.eval.tasks import painted_mask

_VALUES = {
  "noise": lambda rng, shape: rng.random(shape),
  "binary": lambda rng, shape: rng.random(shape) < 0.5,
  "a half": lambda rng, shape: np.full(shape, 0.5),
  "quarters": lambda rng, shape: rng.integers(0, 5, shape) / 4,
  "nearly a half": lambda rng, shape: 0.5 + rng.normal(0, 1e-7, shape),
  "large": lambda rng, shape: rng.normal(0, 1e5, shape),
  "full": lambda rng, shape: np.ones(shape),
}


def _boxes(rng, number, height, width):
  """Boxes of all sizes, many beyond the picture; some on whole pixels."""
  corners = rng.uniform(-1, 1.5, (number, 2)) * (width, height)
  sides = np.exp(rng.uniform(-8, 8, corners.shape))
  boxes = np.concatenate([corners, corners + sides], axis=1)
  boxes[::3] = np.rint(boxes[::3])
  return boxes.astype(np.float32)


def _pictures(masks, boxes, size):
  """The masks as bool `[D, height, width]`, from the places of changes."""
  owner, place = mask_outlines.changes(masks, boxes, size)
  changes = np.zeros((len(masks), size[0] * size[1] + 1), np.int64)
  np.add.at(changes, (owner, place), 1)
  inside = np.cumsum(changes, axis=1)[:, :-1] % 2 == 1
  return inside.reshape(-1, size[1], size[0]).swapaxes(1, 2)


class ChangesTest(parameterized.TestCase):
  def _check(self, masks, boxes, size):
    got = _pictures(masks, boxes, size)
    for picture, mask, box in zip(got, masks, boxes, strict=True):
      want = painted_mask.painted(mask, box, *size)
      np.testing.assert_array_equal(picture, want, str((box, size)))

  @parameterized.parameters(*_VALUES)
  def test_equal_to_painted_masks(self, values):
    rng = np.random.default_rng(0)
    for side in (1, 2, 3, 14, 28):
      for size in ((1, 1), (1, 90), (90, 1), (33, 57), (120, 90)):
        masks = _VALUES[values](rng, (9, side, side)).astype(np.float32)
        self._check(masks, _boxes(rng, 9, *size), size)

  @parameterized.parameters(
    ([2, 1, 6, 5], 16), ([-4, -4, 4, 4], 16), ([4, -2, 12, 6], 24),
    ([9, 0, 12, 8], 0), ([-9, 0, -1, 8], 0), ([3, 3, 3, 3], 0),
    ([0, 0, 8, 8], 64), ([-1e9, -1e9, 1e9, 1e9], 64), ([3.4, 0, 3.6, 8], 8),
    ([3.6, 0, 3.8, 8], 0), ([0, 2, 8, 3], 8),
  )  # fmt: skip
  def test_a_full_mask_fills_its_box(self, box, pixels):
    masks, boxes = np.ones((1, 4, 4)), np.array([box], np.float32)
    self.assertEqual(_pictures(masks, boxes, (8, 8)).sum(), pixels)
    self._check(masks, boxes, (8, 8))

  def test_cells_are_spread_over_the_box(self):
    masks = np.zeros((1, 2, 2))
    masks[0, 0, 1] = 1  # top right
    (got,) = _pictures(masks, np.array([[0, 0, 8, 8]]), (8, 8))
    self.assertTrue(got[1, 6])
    self.assertFalse(got[6, 1] or got[1, 1] or got[6, 6])

  def test_the_threshold_is_a_half(self):
    boxes = np.array([[0, 0, 2, 2], [0, 0, 2, 2]])
    masks = np.stack([np.full((2, 2), 0.5), np.full((2, 2), 0.49)])
    first, second = _pictures(masks, boxes, (2, 2))
    self.assertTrue(first[0, 0])
    self.assertFalse(second.any())

  def test_columns_computed_or_scanned_are_the_same(self):
    rng = np.random.default_rng(1)
    masks = rng.random((20, 28, 28), np.float32)
    boxes, size = _boxes(rng, 20, 200, 150), (200, 150)
    want = _pictures(masks, boxes, size)
    with mock.patch.object(mask_outlines, "_LARGEST_VALUE", 0.0):
      np.testing.assert_array_equal(_pictures(masks, boxes, size), want)
    with mock.patch.object(mask_outlines, "_COLUMNS_AT_ONCE", 7):
      np.testing.assert_array_equal(_pictures(masks, boxes, size), want)
