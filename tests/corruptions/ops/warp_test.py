"""Samples at coordinates against Pillow, and OpenCV's rule by hand."""

import jax
import numpy as np
from absl.testing import absltest, parameterized
from PIL import Image

from robust_tfds.corruptions.ops import double, geometry, layout, packed, warp

_SIZE = layout.Size(12, 15)


def _picture() -> np.ndarray:
  rng = np.random.default_rng(0)
  return rng.integers(1, 256, (*_SIZE, 3), np.uint8)


def _canvas(margin: int = 3) -> np.ndarray:
  pad = ((0, margin), (0, margin), (0, 0))
  return np.pad(_picture(), pad, constant_values=77)


def _grid() -> tuple[np.ndarray, np.ndarray]:
  y, x = np.mgrid[: _SIZE.h, : _SIZE.w].astype(np.float32)
  return x, y


def _transformed(matrix: np.ndarray, resampling) -> np.ndarray:
  """Pillow's, about torchvision 0.2's centre: `[H, W, 3]`."""
  centre = np.array([_SIZE.w / 2 + 0.5, _SIZE.h / 2 + 0.5])
  offset = centre - matrix @ centre
  data = np.column_stack([matrix, offset]).ravel().tolist()
  picture = Image.fromarray(_picture())
  size = (_SIZE.w, _SIZE.h)
  affine = Image.Transform.AFFINE
  return np.asarray(picture.transform(size, affine, data, resampling))


class PillowTest(parameterized.TestCase):
  @parameterized.parameters((0, 1, 0), (20, 1, 0), (0, 0.6, 0), (0, 1, 13))
  def test_bilinear(self, angle, scale, shear):
    matrix = geometry.affine_matrix(angle, scale, shear)
    got = jax.jit(warp.pillow_affine)(
      warp.pack(_canvas()), *_grid(), double.bits(matrix), _SIZE
    )
    expected = _transformed(matrix, Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(np.moveaxis(got, 0, -1), expected)

  @parameterized.parameters((0, 1, 0), (20, 1, 0), (0, 0.6, 0), (0, 1, 13))
  def test_bilinear_within_a_level(self, angle, scale, shear):
    """At the edges too: what Pillow leaves black is black."""
    matrix = geometry.affine_matrix(angle, scale, shear)
    centre = np.array([_SIZE.w / 2 + 0.5, _SIZE.h / 2 + 0.5])
    data = np.column_stack([matrix, centre - matrix @ centre]).ravel()
    words = jax.jit(warp.pillow_bilinear)(
      packed.pack(_canvas()), double.bits(data), _SIZE
    )
    got = np.asarray(packed.bytes_of(words)).reshape(_canvas().shape)
    got = got[: _SIZE.h, : _SIZE.w].astype(int)
    expected = _transformed(matrix, Image.Resampling.BILINEAR)
    self.assertLessEqual(np.abs(got - expected).max(), 1)

  def test_nearest(self):
    x, y = _grid()
    u, v = x + 2.75, y - 1.5
    got = jax.jit(warp.pillow_nearest)(warp.pack(_canvas()), u, v, _SIZE)
    expected = np.zeros((*_SIZE, 3), np.uint8)
    expected[2:, :-2] = _picture()[:-2, 2:]
    np.testing.assert_array_equal(np.moveaxis(got, 0, -1), expected)


class OpenCVTest(absltest.TestCase):
  def test_bilinear_with_a_black_border(self):
    rng = np.random.default_rng(1)
    u = rng.uniform(-3, 18, (6, 7)).astype(np.float32)
    v = rng.uniform(-3, 15, (6, 7)).astype(np.float32)
    got = jax.jit(warp.opencv_bilinear)(warp.pack(_canvas()), u, v, _SIZE)
    black = np.pad(_picture().astype(int), ((5, 5), (5, 5), (0, 0)))
    for i, j in np.ndindex(u.shape):
      column, row = (int(np.rint(n[i, j] * 32)) + 5 * 32 for n in (u, v))
      (x, across), (y, down) = divmod(column, 32), divmod(row, 32)
      total = (
        (32 - down) * (32 - across) * black[y, x]
        + (32 - down) * across * black[y, x + 1]
        + down * (32 - across) * black[y + 1, x]
        + down * across * black[y + 1, x + 1]
      )
      np.testing.assert_array_equal(got[:, i, j], (total + 512) >> 10)
