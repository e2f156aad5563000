"""Equalisation of few levels, whose shares are known."""

import jax
import numpy as np
from absl.testing import absltest

from robust_tfds.corruptions.ops import equalize

_equalize = jax.jit(equalize.equalize, static_argnums=2)


class EqualizeTest(absltest.TestCase):
  def test_levels_follow_their_cumulative_share(self):
    levels = np.repeat([2, 3, 5, 9], [10, 20, 30, 40]).reshape(10, 10)
    inside = np.ones((10, 10), bool)
    got = _equalize(levels.astype(np.int32), inside, 21)
    # The first level maps to 0; the rest by the count above it: 20, 50, 90.
    want = np.repeat([0, 57, 142, 255], [10, 20, 30, 40]).reshape(10, 10)
    np.testing.assert_array_equal(got, want)

  def test_a_single_level_stays(self):
    levels = np.full((4, 4), 20, np.int32)
    got = _equalize(levels, np.ones((4, 4), bool), 21)
    np.testing.assert_array_equal(got, levels)
