"""Canny edges on pictures whose answer is known."""

import jax
import numpy as np
from absl.testing import absltest

from robust_tfds.corruptions.ops import canny


def _edges(levels: np.ndarray, size: tuple) -> jax.Array:
  edges = jax.jit(canny.edges, static_argnames=("low", "high"))
  return edges(levels, size, np.int32(0), low=50, high=150)


class CannyTest(absltest.TestCase):
  def test_nothing_in_a_flat_picture(self):
    levels = np.full((40, 30), 77, np.int32)
    self.assertFalse(np.asarray(_edges(levels, (40, 30))).any())

  def test_a_step_is_one_column(self):
    levels = np.zeros((40, 30), np.int32)
    levels[:, 12:] = 60
    edges = np.asarray(_edges(levels, (40, 30)))
    np.testing.assert_array_equal(np.flatnonzero(edges.any(axis=0)), [11])
    self.assertTrue(edges[:, 11].all())

  def test_hysteresis_follows_weak_pixels_to_strong_ones(self):
    """Steps of 20 give a magnitude of 80: weak; of 60 give 240: strong."""
    levels = np.zeros((40, 30), np.int32)
    levels[:, 12:] = 20
    weak = np.asarray(_edges(levels, (40, 30)))
    self.assertFalse(weak.any())
    levels[35:, 12:] = 60
    joined = np.asarray(_edges(levels, (40, 30)))
    self.assertTrue(joined[:33, 11].all())

  def test_the_canvas_outside_is_not_seen(self):
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 256, (24, 26)).astype(np.int32)
    canvas = rng.integers(0, 256, (40, 30)).astype(np.int32)
    canvas[:24, :26] = levels
    want = _edges(levels, (24, 26))
    got = _edges(canvas, (24, 26))
    np.testing.assert_array_equal(got[:24, :26], want)
    self.assertFalse(
      np.asarray(got)[24:].any() or np.asarray(got)[:, 26:].any()
    )
