"""Pictures in memory: there and back, truncation, and what lies outside."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized

from robust_tfds.corruptions.ops import layout


def _picture() -> np.ndarray:
  rng = np.random.default_rng(0)
  return rng.integers(0, 256, (3, 4, 3), np.uint8)


class LayoutTest(parameterized.TestCase):
  def test_sizes(self):
    self.assertEqual(layout.valid_size((5, 6, 3), None), (5, 6))
    size = layout.valid_size((5, 6, 3), jnp.array([2, 3]))
    self.assertEqual((int(size.h), int(size.w)), (2, 3))

  def test_planes_and_back(self):
    picture = jnp.asarray(_picture())
    planes = layout.planes(picture)
    self.assertEqual(planes.shape, (3, 3, 4))
    np.testing.assert_array_equal(planes[1], picture[..., 1])
    flat = layout.flat(picture)
    np.testing.assert_array_equal(layout.interleave(planes), flat)
    np.testing.assert_array_equal(layout.flat(flat), flat)

  @parameterized.parameters(np.float32, np.int32, np.uint8)
  def test_levels_are_cut_off_as_numpy_does(self, dtype):
    levels = np.array([0, 0.99, 1.5, 254.999, 255]).astype(dtype)
    got = layout.to_uint8(jnp.asarray(levels))
    self.assertEqual(got.dtype, jnp.uint8)
    np.testing.assert_array_equal(got, levels.astype(np.uint8))

  def test_levels_beyond_the_range_do_not_wrap(self):
    got = layout.to_uint8(jnp.array([-7.0, 256.0, 1e9]))
    np.testing.assert_array_equal(got, [0, 255, 255])

  def test_whole_numbers_of_a_known_range(self):
    levels = np.array([0, 0.99, 1, 254.999, 255, 65535.5, 2**22], np.float32)
    got = jax.jit(layout.truncate)(levels)
    np.testing.assert_array_equal(got, levels.astype(np.int32))

  def test_outside_the_picture_is_cleared(self):
    flat = layout.flat(jnp.asarray(_picture()))
    self.assertIs(layout.mask(flat, layout.Size(3, 4)), flat)
    got = jax.jit(layout.mask)(flat, layout.Size(2, 3))
    expected = np.zeros((3, 12), np.uint8)
    expected[:2, :9] = np.asarray(flat)[:2, :9]
    np.testing.assert_array_equal(got, expected)
