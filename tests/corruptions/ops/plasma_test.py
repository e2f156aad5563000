"""The plasma fractal against the authors' order of midpoints, in integers."""

import jax
import numpy as np
from absl.testing import absltest

from robust_tfds.corruptions.ops import plasma

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
  def setUp(self):
    super().setUp()
    self.field = np.asarray(_draw(np.array([1, 2], np.uint32), _LEVELS))
    self.amplitude = plasma.amplitudes([2.0] * 5, _LEVELS)[0]

  def test_amplitudes_fall_by_the_square_of_the_decay(self):
    rows = plasma.amplitudes([2, 2, 1.5, 3, 3], 4)
    self.assertEqual(rows.shape, (5, 4))
    np.testing.assert_allclose(rows[2, 1:] / rows[2, :-1], 1 / 2.25, rtol=1e-6)
    self.assertEqual(rows[0, 0] / (1 << 12), plasma.START)

  def test_heights_equal_the_loops(self):
    grids = jax.jit(plasma.heights)(self.field, self.amplitude)
    self.assertEqual([g.shape[0] for g in grids], [1, 2, 4, 8])
    expected = _loops(self.field, self.amplitude)
    np.testing.assert_array_equal(grids[-1], expected)

  def test_a_small_map_draws_the_numbers_of_a_large_one(self):
    larger = _draw(np.array([1, 2], np.uint32), _LEVELS + 1)
    np.testing.assert_array_equal(larger[:8, :8], self.field)
    self.assertLess(np.abs(self.field).max(), 1)

  def test_normalised_from_the_lowest(self):
    above, highest = plasma.normalise(np.array([[-3, 4], [0, 9]]))
    np.testing.assert_array_equal(above, [[0, 7], [3, 12]])
    self.assertEqual(float(highest), 12)
