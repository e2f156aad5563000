"""Motion blur against a loop over its taps."""

import jax
import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds.corruptions.ops import border, layout, motion

_BITS = 14


def _kernels() -> dict[str, np.ndarray]:
  return motion.kernels((2, 3, 2.5, 4, 5), (1, 1.5, 1, 2, 3), _BITS)


class KernelsTest(absltest.TestCase):
  def test_sum_to_a_power_of_two(self):
    weights, turns = _kernels()["weights"], _kernels()["turns"]
    np.testing.assert_array_equal(weights.sum(axis=1), [1 << _BITS] * 5)
    self.assertEqual(weights.shape[1] % 4, 0)
    taps = [2 * int(np.ceil(r)) + 1 for r in (2, 3, 2.5, 4, 5)]
    for row, count, turn in zip(weights, taps, turns, strict=True):
      self.assertTrue((np.diff(row[:count]) <= 0).all())
      self.assertFalse(row[count:].any())
      self.assertBetween(4 * turn, count, count + 3)

  def test_weights_are_gaussian(self):
    i = np.arange(5)
    expected = np.exp(-(i**2) / 2) / np.exp(-(i**2) / 2).sum()
    got = _kernels()["weights"][0, :5] / (1 << _BITS)
    np.testing.assert_allclose(got, expected, atol=2 / (1 << _BITS))


class DirectionTest(parameterized.TestCase):
  def test_tables_are_whole_numbers_of_the_circle(self):
    table = motion.directions(-45, 45)
    self.assertEqual(table.shape, (motion.STEPS, 2))
    length = np.hypot(*(table.T / motion.ONE))
    np.testing.assert_allclose(length, 1, atol=1e-5)
    np.testing.assert_array_equal(np.sign(table[[0, -1], 0]), [-1, 1])

  @parameterized.parameters(0.0, 17.0, -44.0, 133.0)
  def test_offsets(self, angle):
    rows, columns = motion.offsets(motion.direction(angle), 12)
    i, radians = np.arange(12), np.deg2rad(angle)
    np.testing.assert_array_equal(rows, np.ceil(i * np.sin(radians) - 0.5))
    np.testing.assert_array_equal(columns, np.ceil(i * np.cos(radians) - 0.5))
    exact = motion.exact_offsets(np.array(angle), 12)
    np.testing.assert_array_equal(exact, np.stack([rows, columns]))

  def test_no_taps_beyond_a_side(self):
    weights = np.full(8, 3, np.int32)
    got = motion.within(weights, motion.direction(0.0), layout.Size(9, 5))
    np.testing.assert_array_equal(got, [3] * 5 + [0] * 3)


class BlurTest(absltest.TestCase):
  def test_equals_the_loop(self):
    picture = np.random.default_rng(0).integers(0, 256, (6, 7, 3), np.uint8)
    kernels = _kernels()
    weights, turns = kernels["weights"][4], kernels["turns"][4]
    edge = motion.margin(weights)

    @jax.jit
    def blurred(weights, direction):
      flat = picture.reshape(6, -1)
      padded = border.pad(flat, layout.Size(6, 7), (edge, edge), 3)
      return motion.blur(padded, weights, turns, direction, 3)

    for angle in (30.0, -70.0):
      offsets = motion.exact_offsets(np.array(angle), len(weights))
      expected = np.zeros((6, 7, 3), int)
      for y, x in np.ndindex(6, 7):
        for weight, down, across in zip(weights, *offsets, strict=True):
          row, column = np.clip(y + down, 0, 5), np.clip(x + across, 0, 6)
          expected[y, x] += int(weight) * picture[row, column].astype(int)
      np.testing.assert_array_equal(
        blurred(weights, offsets), expected.reshape(6, -1)
      )
