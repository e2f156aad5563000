"""Borders against numpy's, on whole canvases and in the corner of larger ones."""

import functools

import jax
import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds.corruptions.ops import border, layout

_SHAPE = (3, 4)
_CANVAS = (5, 7)


def _picture(channels: int = 1) -> np.ndarray:
  rng = np.random.default_rng(0)
  shape = (_SHAPE[0], _SHAPE[1] * channels)
  return rng.integers(0, 256, shape).astype(np.int32)


def _in_canvas(picture: np.ndarray, channels: int = 1) -> np.ndarray:
  """The picture in the corner of a canvas of values that may not be read."""
  canvas = np.full((_CANVAS[0], _CANVAS[1] * channels), -1, np.int32)
  canvas[: picture.shape[0], : picture.shape[1]] = picture
  return canvas


class RuleTest(parameterized.TestCase):
  @parameterized.parameters(
    (border.reflect101, "reflect"),
    (border.reflect, "symmetric"),
    (border.nearest, "edge"),
  )
  def test_equals_numpy_as_far_as_it_takes(self, rule, mode):
    at = jax.jit(rule)
    for valid in (1, 2, 5):
      index = np.arange(-13, valid + 13, dtype=np.int32)
      expected = np.pad(np.arange(valid), 13, mode=mode)
      np.testing.assert_array_equal(at(index, valid), expected)


class PadTest(parameterized.TestCase):
  @parameterized.parameters(1, 3)
  def test_edges_are_repeated_whatever_the_canvas(self, channels):
    picture = _picture(channels)
    margin = (2, 3)
    pixels = picture.reshape(*_SHAPE, channels)
    expected = np.pad(pixels, ((2, 2), (3, 3), (0, 0)), mode="edge")
    expected = expected.reshape(expected.shape[0], -1)
    pad = functools.partial(border.pad, margin=margin, channels=channels)
    whole = pad(picture, layout.Size(*_SHAPE))
    np.testing.assert_array_equal(whole, expected)
    got = jax.jit(pad)(_in_canvas(picture, channels), layout.Size(*_SHAPE))
    corner = np.asarray(got)[: expected.shape[0], : expected.shape[1]]
    np.testing.assert_array_equal(corner, expected)

  def test_mirrored_margins_may_be_larger_than_the_picture(self):
    picture = _picture()
    expected = np.pad(picture, ((4, 4), (6, 6)), mode="symmetric")
    pad = jax.jit(border.pad_reflect, static_argnums=2)
    got = pad(_in_canvas(picture), layout.Size(*_SHAPE), (4, 6))
    corner = np.asarray(got)[: expected.shape[0], : expected.shape[1]]
    np.testing.assert_array_equal(corner, expected)


class Rotate180Test(absltest.TestCase):
  def test_turns_the_picture_and_not_its_canvas(self):
    picture = _picture()
    size = layout.Size(*_SHAPE)
    whole = border.rotate180(picture, size)
    np.testing.assert_array_equal(whole, picture[::-1, ::-1])
    got = jax.jit(border.rotate180)(_in_canvas(picture), size)
    corner = np.asarray(got)[: _SHAPE[0], : _SHAPE[1]]
    np.testing.assert_array_equal(corner, picture[::-1, ::-1])
