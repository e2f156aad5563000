"""Canny edges and equalisation on pictures whose answer is known."""

import jax
import numpy as np
from absl.testing import absltest

from robust_tfds.corruptions.ops import canny
from robust_tfds.corruptions.ops import equalize

_equalize = jax.jit(equalize.equalize, static_argnums=2)
_edges = jax.jit(canny.edges, static_argnames=("low", "high"))


class CannyTest(absltest.TestCase):
  def test_nothing_in_a_flat_picture(self):
    levels = np.full((20, 30), 77, np.int32)
    self.assertFalse(
      np.asarray(_edges(levels, (20, 30), low=50, high=150)).any()
    )

  def test_a_step_is_one_column(self):
    levels = np.zeros((20, 30), np.int32)
    levels[:, 12:] = 60
    edges = np.asarray(_edges(levels, (20, 30), low=50, high=150))
    np.testing.assert_array_equal(np.flatnonzero(edges.any(axis=0)), [11])
    self.assertTrue(edges[:, 11].all())

  def test_hysteresis_follows_weak_pixels_to_strong_ones(self):
    """Steps of 20 give a magnitude of 80: weak; of 60 give 240: strong."""
    levels = np.zeros((40, 30), np.int32)
    levels[:, 12:] = 20
    weak = np.asarray(_edges(levels, (40, 30), low=50, high=150))
    self.assertFalse(weak.any())
    levels[35:, 12:] = 60
    joined = np.asarray(_edges(levels, (40, 30), low=50, high=150))
    self.assertTrue(joined[:33, 11].all())

  def test_the_canvas_outside_is_not_seen(self):
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 256, (24, 26)).astype(np.int32)
    canvas = rng.integers(0, 256, (32, 40)).astype(np.int32)
    canvas[:24, :26] = levels
    want = _edges(levels, (24, 26), low=50, high=150)
    got = _edges(canvas, (24, 26), low=50, high=150)
    np.testing.assert_array_equal(got[:24, :26], want)
    self.assertFalse(np.asarray(got)[24:].any())


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


if __name__ == "__main__":
  absltest.main()
