"""Blur of few taps against scipy; flat areas stay exactly flat."""

import jax
import numpy as np
import scipy.ndimage
from absl.testing import parameterized

from robust_tfds.corruptions.ops import taps

_SIGMAS = (0.5, 1.0, 0.7, 1.2, 1.6)
_blur = jax.jit(taps.blur, static_argnums=(3, 4))
_change = jax.jit(taps.change, static_argnums=3)


def _padded(picture, edge, axis, stride):
  margin = [(0, 0), (0, 0)]
  margin[axis] = (edge * stride, edge * stride)
  if stride == 1:
    return np.pad(picture, margin, mode="symmetric")
  pixels = picture.reshape(picture.shape[0], -1, stride)
  wide = np.pad(pixels, ((0, 0), (edge, edge), (0, 0)), mode="symmetric")
  return wide.reshape(picture.shape[0], -1)


class TapsTest(parameterized.TestCase):
  @parameterized.parameters((0, 1), (1, 1), (1, 3))
  def test_equals_scipy(self, axis, stride):
    rng = np.random.default_rng(0)
    picture = rng.uniform(0, 255, (12, 18)).astype(np.float32)
    kernels = taps.half_kernels(_SIGMAS)
    edge = taps.margin(kernels["half"][0])
    padded = _padded(picture, edge, axis, stride)
    pixels = picture.reshape(12, -1, stride).astype(np.float64)
    for sigma, half, turns in zip(_SIGMAS, *kernels.values(), strict=True):
      got = _blur(padded, half, turns, axis, stride)
      expected = scipy.ndimage.gaussian_filter1d(
        pixels, sigma, axis=axis, mode="reflect"
      )
      np.testing.assert_allclose(got, expected.reshape(12, 18), atol=1e-3)

  def test_flat_stays_flat_and_whole_numbers_are_exact(self):
    kernels = taps.half_kernels(_SIGMAS)
    half, turns = kernels["half"][4], kernels["turns"][4]
    flat = np.full((3, 40), 77, np.int32)
    got = _blur(flat, half, turns, 1)
    np.testing.assert_array_equal(got, np.full(got.shape, 77, np.float32))
    np.testing.assert_array_equal(_change(flat, half, turns, 1), 0)

  @parameterized.parameters((0, 1), (1, 1), (1, 3))
  def test_whole_weights_are_exact(self, axis, stride):
    rng = np.random.default_rng(0)
    picture = rng.integers(0, 256, (12, 18)).astype(np.uint8)
    half = np.array([30000, 9000, 500, 18, 0], np.float32)
    padded = _padded(picture, 4, axis, stride)
    exact = jax.jit(taps.exact, static_argnums=(3, 4))
    got = exact(padded, half, np.int32(2), axis, stride)
    expected = scipy.ndimage.correlate1d(
      picture.reshape(12, -1, stride).astype(np.int64),
      np.concatenate([half[:0:-1], half]).astype(np.int64),
      axis=axis,
      mode="reflect",
    )
    np.testing.assert_array_equal(got, expected.reshape(12, 18))

  def test_the_change_is_what_blur_adds(self):
    rng = np.random.default_rng(1)
    padded = rng.integers(0, 256, (30, 8)).astype(np.float32)
    kernels = taps.half_kernels(_SIGMAS)
    half, turns = kernels["half"][2], kernels["turns"][2]
    centre = taps.inner(padded, half, 0)
    edge = taps.margin(half)
    np.testing.assert_array_equal(centre, padded[edge:-edge])
    change = _change(padded, half, turns, 0)
    np.testing.assert_allclose(
      centre + change, _blur(padded, half, turns, 0), rtol=1e-5
    )
