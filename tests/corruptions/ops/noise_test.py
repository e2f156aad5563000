"""Ops that draw, and the layout of what they draw on."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds.corruptions import plugins, seeding, spec
from robust_tfds.corruptions.ops import (
  fresh_noise,
  keep,
  layout,
  normal_noise,
  plasma,
)

_KEY = np.array([3, 4], np.uint32)
_CIFAR = spec.edition("cifar10")


def _added(scene, normals):
  """A corruption that adds its normals, ten levels a unit."""
  return layout.flat(scene.image) + 10 * normals


class FreshNoiseTest(absltest.TestCase):
  """Noise sequences: a clean first frame, then noise of each frame's own."""

  def test_a_row_for_every_frame(self):
    np.testing.assert_array_equal(
      fresh_noise.index_table()["index"], np.arange(31)
    )
    self.assertEqual(tuple(fresh_noise.index_table()), fresh_noise.ROWS)

  def test_frames(self):
    image = np.full((4, 5, 3), 128, np.uint8)
    size = layout.Size(4, 5)

    @jax.jit
    def at(index):
      scene = plugins.Scene(image, size, {"index": index}, _CIFAR, _KEY)
      return fresh_noise.gaussian(_added)(scene, None)

    np.testing.assert_array_equal(at(0), layout.flat(image))
    for index in (1, 2):
      normals = np.asarray(seeding.normal(_KEY, (4, 15), index))
      expected = (128 + 10 * normals).astype(np.uint8)
      np.testing.assert_array_equal(at(index), expected)


_EDITION = spec.edition("any")


def _draws(height: int, width: int) -> np.ndarray:
  image = np.zeros((height, width, 3), np.uint8)
  size, key = layout.Size(20, 30), np.array([1, 2], np.uint32)
  scene = plugins.Scene(image, size, {}, _EDITION, key)
  return np.asarray(jax.jit(lambda: normal_noise.draw(scene))())


class NormalNoiseTest(absltest.TestCase):
  """Normals, one a value, the same in any canvas."""

  def test_standard(self):
    draws = _draws(64, 64)
    self.assertEqual((draws.shape, draws.dtype), ((64, 192), np.float32))
    self.assertAlmostEqual(draws.mean(), 0, delta=0.05)
    self.assertAlmostEqual(draws.std(), 1, delta=0.03)

  def test_any_canvas(self):
    np.testing.assert_array_equal(_draws(64, 64)[:20, :90], _draws(20, 30))


_LEVELS = 3


def _loops(field: np.ndarray, amplitude: np.ndarray) -> np.ndarray:
  """Diamond-square on a torus, a point at a time."""
  grid = np.zeros((1, 1), np.int64)
  for scale in amplitude:
    n = grid.shape[0]
    noise = np.rint(field[: 2 * n, : 2 * n] * scale).astype(np.int64)
    finer = np.zeros((2 * n, 2 * n), np.int64)
    finer[::2, ::2] = grid

    def mean(*points, finer=finer, n=n):
      return (sum(finer[y % (2 * n), x % (2 * n)] for y, x in points) + 2) >> 2

    for i, j in np.ndindex(n, n):
      y, x = 2 * i, 2 * j
      corners = (y, x), (y + 2, x), (y, x + 2), (y + 2, x + 2)
      finer[y + 1, x + 1] = mean(*corners) + noise[n + i, n + j]
    for i, j in np.ndindex(n, n):
      y, x = 2 * i, 2 * j
      ends = (y, x), (y, x + 2), (y - 1, x + 1), (y + 1, x + 1)
      finer[y, x + 1] = mean(*ends) + noise[i, n + j]
      ends = (y, x), (y + 2, x), (y + 1, x - 1), (y + 1, x + 1)
      finer[y + 1, x] = mean(*ends) + noise[n + i, j]
    grid = finer
  return grid


_draw = jax.jit(plasma.draw, static_argnums=1)


class PlasmaTest(absltest.TestCase):
  """The plasma fractal against the authors' order of midpoints, in integers."""

  def setUp(self):
    super().setUp()
    self.field = np.asarray(_draw(np.array([1, 2], np.uint32), _LEVELS))
    self.amplitude = plasma.amplitudes([2.0] * 5, _LEVELS)[0]

  def test_heights_equal_the_loops(self):
    grids = jax.jit(plasma.heights)(self.field, self.amplitude)
    self.assertEqual([g.shape[0] for g in grids], [1, 2, 4, 8])
    expected = _loops(self.field, self.amplitude)
    np.testing.assert_array_equal(grids[-1], expected)

  def test_a_small_map_draws_the_numbers_of_a_large_one(self):
    larger = _draw(np.array([1, 2], np.uint32), _LEVELS + 1)
    np.testing.assert_array_equal(larger[:8, :8], self.field)
    self.assertLess(np.abs(self.field).max(), 1)


@jax.jit
def _twice(values, natural):
  return 2 * keep.keep(jnp.sin(values), natural)


@jax.jit
def _sine_twice(values, natural):
  return 2 * keep.stored(jnp.sin, natural, values)


@jax.jit
def _of_constant(data):
  natural = keep.hidden(3, data)
  return 2 * keep.stored(jnp.sin, natural, jnp.float32(data)), natural


class StoredTest(absltest.TestCase):
  """A stored value is the value, and stays stored in the compiled program."""

  def test_is_the_function(self):
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    expected = 2 * np.sin(values)
    for natural in (0, 5):
      got = _sine_twice(values, natural)
      np.testing.assert_allclose(got, expected, rtol=1e-6)
    got = jax.vmap(_sine_twice)(values, jnp.array([1, 4]))
    np.testing.assert_allclose(got, expected, rtol=1e-6)

  def test_a_hidden_constant_is_itself_and_no_constant(self):
    data = np.array([[255, 0]], np.uint8)
    got, natural = _of_constant(data)
    self.assertEqual(natural, 3)
    np.testing.assert_allclose(got, 2 * np.sin(data.astype(float)), rtol=1e-6)
    if jax.default_backend() == "cpu":
      program = _of_constant.lower(data).compile().as_text()
      self.assertIn("conditional", program)


class KeepTest(absltest.TestCase):
  def test_changes_nothing(self):
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    for natural in (0, 5):
      got = _twice(values, natural)
      np.testing.assert_allclose(got, 2 * np.sin(values), rtol=1e-6)

  def test_rows_of_a_batch_are_apart(self):
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    got = jax.vmap(_twice)(values, jnp.array([1, 4]))
    np.testing.assert_allclose(got, 2 * np.sin(values), rtol=1e-6)

  def test_the_branch_outlives_the_compiler(self):
    if jax.default_backend() != "cpu":
      self.skipTest("Other backends fuse as they like.")
    program = _twice.lower(jnp.ones(3), 1).compile().as_text()
    self.assertIn("conditional", program)


class LayoutTest(parameterized.TestCase):
  """Pictures in memory: there and back, truncation, and what lies outside."""

  @parameterized.parameters(np.float32, np.int32, np.uint8)
  def test_levels_are_cut_off_as_numpy_does(self, dtype):
    levels = np.array([0, 0.99, 1.5, 254.999, 255]).astype(dtype)
    got = layout.to_uint8(jnp.asarray(levels))
    self.assertEqual(got.dtype, jnp.uint8)
    np.testing.assert_array_equal(got, levels.astype(np.uint8))

  def test_levels_beyond_the_range_do_not_wrap(self):
    got = layout.to_uint8(jnp.array([-7.0, 256.0, 1e9]))
    np.testing.assert_array_equal(got, [0, 255, 255])
