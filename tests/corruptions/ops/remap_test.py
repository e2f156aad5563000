"""Samples of packed pixels against scipy, and the borders' quick forms."""

import jax
import numpy as np
import scipy.ndimage
from absl.testing import absltest, parameterized

from robust_tfds.corruptions.ops import border, layout, packed, remap

_SIZE = layout.Size(9, 11)


def _picture() -> np.ndarray:
  rng = np.random.default_rng(0)
  return rng.integers(0, 256, (*_SIZE, 3), np.uint8)


def _words(margin: int = 0) -> np.ndarray:
  """The picture's words in a canvas of values that may not be read."""
  pad = ((0, margin), (0, margin), (0, 0))
  return np.asarray(packed.pack(np.pad(_picture(), pad, constant_values=77)))


def _levels(source: remap.Fine) -> np.ndarray:
  """float64 `[H, W, 3]` of levels with 8 fractional bits."""
  red_green, blue = (np.asarray(w).astype(np.int64) for w in source)
  channels = [red_green & 0xFFFF, red_green >> 16, blue & 0xFFFF]
  return np.stack(channels, axis=-1) / 256


class BorderTest(parameterized.TestCase):
  @parameterized.parameters("reflect101", "reflect")
  def test_the_same_as_by_integer_division(self, name):
    quick, slow = (jax.jit(vars(m)[name]) for m in (remap, border))
    index = np.arange(-5000, 5000, dtype=np.int32)
    for valid in (1, 2, 7, 41, 333):
      np.testing.assert_array_equal(quick(index, valid), slow(index, valid))


class AffineTest(absltest.TestCase):
  def test_bilinear_on_the_grid_of_32ths(self):
    affine = jax.jit(remap.affine)
    for shift in ((0.0, 0.0), (0.5, -2.25)):
      matrix = np.array([[1, 0, shift[0]], [0, 1, shift[1]]], np.float32)
      y, x = np.mgrid[: _SIZE.h, : _SIZE.w]
      at = np.stack([y + shift[1], x + shift[0]])
      expected = np.stack(
        [
          scipy.ndimage.map_coordinates(c, at, order=1, mode="mirror")
          for c in _picture().astype(float).transpose(2, 0, 1)
        ],
        axis=-1,
      )
      for margin in (0, 4):
        got = _levels(affine(_words(margin), matrix, _SIZE, np.int32(1)))
        got = got[: _SIZE.h, : _SIZE.w]
        np.testing.assert_allclose(got, expected, atol=1 / 256)


class DisplacedTest(absltest.TestCase):
  def test_equals_scipy_but_for_the_last_truncation(self):
    rng = np.random.default_rng(1)
    y, x = np.mgrid[: _SIZE.h, : _SIZE.w].astype(np.float32)
    rows, columns = (
      (n + rng.uniform(-15, 15, n.shape)).astype(np.float32) for n in (y, x)
    )
    got = jax.jit(remap.displaced)(remap.fine(_words()), rows, columns, _SIZE)
    channels = np.stack(packed.channels(got), axis=-1)
    expected = np.stack(
      [
        scipy.ndimage.map_coordinates(
          c, [rows, columns], order=1, mode="reflect"
        )
        for c in _picture().astype(float).transpose(2, 0, 1)
      ],
      axis=-1,
    )
    self.assertLess(np.abs(channels - np.floor(expected)).max(), 2)
    self.assertGreater((channels == np.floor(expected)).mean(), 0.99)
