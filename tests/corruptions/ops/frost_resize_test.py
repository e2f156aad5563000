"""Resizes of frost pictures against float64 interpolation by hand."""

import jax
import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds.corruptions.ops import frost_resize


def _cubic(distance: np.ndarray) -> np.ndarray:
  """The cubic kernel with a = -0.75, as OpenCV has it."""
  a, x = -0.75, np.abs(distance)
  near = ((a + 2) * x - (a + 3)) * x * x + 1
  far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
  return np.where(x <= 1, near, np.where(x < 2, far, 0))


def _triangle(distance: np.ndarray) -> np.ndarray:
  return np.maximum(1 - np.abs(distance), 0)


def _matrix(n_in: int, n_out: int, kernel, scale: float) -> np.ndarray:
  """Weights `[n_out, n_in]` of an interpolation with replicated edges."""
  at = (np.arange(n_out) + 0.5) / scale - 0.5
  near = np.floor(at).astype(int)[:, None] + np.arange(-1, 3)
  weights = np.zeros((n_out, n_in))
  for row, columns in enumerate(near):
    for column in columns:
      place = np.clip(column, 0, n_in - 1)
      weights[row, place] += kernel(at[row] - column)
  return weights


class LinearTest(parameterized.TestCase):
  @parameterized.parameters(0.2, 0.3)
  def test_near_the_exact_one(self, scale):
    picture = np.random.default_rng(0).integers(0, 256, (40, 50, 3), np.uint8)
    got = frost_resize.linear(picture, scale)
    height, width = round(40 * scale), round(50 * scale)
    down = _matrix(40, height, _triangle, scale)
    across = _matrix(50, width, _triangle, scale)
    exact = np.einsum("yh,xw,hwc->yxc", down, across, picture)
    self.assertEqual((got.shape, got.dtype), ((height, width, 3), np.uint8))
    self.assertLess(np.abs(got - exact).max(), 1)

  def test_flat_stays_flat(self):
    flat = np.full((20, 30, 3), 255, np.uint8)
    self.assertEqual(frost_resize.linear(flat, 0.3).min(), 255)


class CubicTest(absltest.TestCase):
  def test_weights(self):
    weights = frost_resize.cubic_weights()
    np.testing.assert_allclose(weights.sum(axis=1), 1 << 14, atol=2)
    np.testing.assert_array_equal(weights[0], [0, 1 << 14, 0, 0])
    half = _cubic(np.array([1.5, 0.5, -0.5, -1.5])) * (1 << 14)
    np.testing.assert_allclose(weights[len(weights) // 2], half, atol=1)

  def test_a_crop_of_the_enlarged_picture_in_any_canvas(self):
    picture = np.random.default_rng(1).integers(0, 256, (20, 24, 3), np.uint8)
    resized = (31, 40)
    down = _matrix(20, 31, _cubic, 31 / 20)
    across = _matrix(24, 40, _cubic, 40 / 24)
    exact = np.einsum("yh,xw,hwc->yxc", down, across, picture)
    expected = np.clip(exact, 0, 255)[5:21, 7:25]
    crop = jax.jit(frost_resize.cubic_crop, static_argnums=4)
    crops = []
    for margin in (0, 9):
      canvas = np.pad(picture, ((0, margin), (0, margin), (0, 0)))
      got = crop(
        canvas.reshape(canvas.shape[0], -1),
        np.array([20, 24], np.int32),
        np.array(resized, np.int32),
        np.array([5, 7], np.int32),
        (16, 18),
        frost_resize.cubic_weights(),
      )
      crops.append(np.asarray(got).reshape(16, 18, 3))
    self.assertLess(np.abs(crops[0] - expected).max(), 1)
    np.testing.assert_array_equal(crops[0], crops[1])
