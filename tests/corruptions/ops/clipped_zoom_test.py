"""Clipped zoom against scipy's zoom of the cut."""

import itertools

import jax
import numpy as np
import scipy.ndimage
from absl.testing import parameterized

from robust_tfds.corruptions.ops import clipped_zoom
from tests import quick


class ClippedZoomTest(parameterized.TestCase):
  @quick.cases(
    [
      (1.01, (60, 64)),
      (1.15, (33, 97)),
      (1.3, (60, 64)),
      (2.5, (33, 97)),
    ],
    itertools.product((1.01, 1.15, 1.3, 2.0, 2.5, 4.5), ((60, 64), (33, 97))),
  )
  def test_equals_scipy(self, zoom, shape):
    plane = np.random.default_rng(0).random(shape).astype(np.float32)
    taken = [int(np.ceil(n / zoom)) for n in shape]
    start = [(n - t) // 2 for n, t in zip(shape, taken, strict=True)]
    cut = plane[
      tuple(slice(s, s + t) for s, t in zip(start, taken, strict=True))
    ]
    want = scipy.ndimage.zoom(cut.astype(np.float64), zoom, order=1)
    canvas = np.zeros((70, 100), np.float32)  # the lengths do not depend on it
    canvas[: shape[0], : shape[1]] = plane
    axes = []
    for valid, side, made in zip(shape, canvas.shape, want.shape, strict=True):
      lengths = clipped_zoom.lengths(valid, side, [zoom])
      lengths = clipped_zoom.Lengths(*(np.int32(x[0]) for x in lengths))
      self.assertEqual(lengths.target, made)
      axes.append(clipped_zoom.positions(lengths, made))
    got = jax.jit(clipped_zoom.resample)(canvas, *axes)
    np.testing.assert_allclose(got, want, atol=2e-6)

  def test_lengths_follow_float64(self):
    """99 / 1.1 is 90 in exact arithmetic and 89.99... or 90 in float64."""
    zooms = np.arange(1, 1.31, 0.03)
    lengths = jax.jit(lambda side: clipped_zoom.lengths(side, 300, zooms))
    for side in range(1, 300):
      want = [int(np.ceil(side / float(zoom))) for zoom in zooms]
      np.testing.assert_array_equal(lengths(side).source, want)
