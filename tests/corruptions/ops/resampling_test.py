"""The resize on devices: the host's bytes, over many sizes, in any canvas."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import parameterized

from robust_tfds import resizing
from robust_tfds.corruptions.ops import resampling
from tests import quick, resizing_golden, tiny_files

_resample = jax.jit(resampling.resample)


def _taps(size, out, bicubic):
  return [resizing.taps(n, o, bicubic) for n, o in zip(size, out, strict=True)]


def _resized(canvas, size, out, bicubic):
  taps = _taps(size, out, bicubic)
  return np.asarray(_resample(jnp.asarray(canvas), *taps)).reshape(*out, 3)


class ResamplingTest(parameterized.TestCase):
  @quick.cases(
    [
      ((240, 320), (182, 242), False),
      ((37, 51), (128, 176), True),
      ((700, 64), (160, 160), True),
      ((256, 256), (256, 256), False),
      ((1, 1), (8, 5), False),
      ((60, 2), (3, 2), True),
    ],
    [
      ((240, 320), (256, 341), False),
      ((240, 320), (256, 341), True),
      ((240, 320), (182, 242), True),
      ((37, 51), (128, 176), False),
      ((700, 64), (160, 160), False),
      ((97, 131), (224, 224), False),
      ((97, 131), (224, 224), True),
      ((256, 256), (256, 256), True),
      ((1, 1), (8, 5), True),
      ((60, 2), (3, 2), False),
      ((120, 50), (64, 25), False),
      ((120, 50), (64, 25), True),
    ],
  )
  def test_is_the_hosts(self, size, out, bicubic):
    self._check(size, out, bicubic)

  def _check(self, size, out, bicubic):
    picture = resizing_golden.levels(*size)
    want = resizing.resized(picture, *_taps(size, out, bicubic))
    got = _resized(picture, size, out, bicubic)
    np.testing.assert_array_equal(got, want)

  @parameterized.parameters(*range(6))
  @pytest.mark.slow
  def test_any_size(self, seed):
    rng = np.random.default_rng(seed)
    size, out = rng.integers(1, 160, 2).tolist(), rng.integers(20, 99, 2)
    self._check(size, out.tolist(), bool(seed % 2))

  def test_what_lies_outside_the_picture_is_not_seen(self):
    picture = tiny_files.noise(60, 90)
    plain = _resized(picture, (60, 90), (40, 50), True)
    canvas = np.full((100, 120, 3), 255, np.uint8)
    canvas[:60, :90] = picture
    padded = _resized(canvas, (60, 90), (40, 50), True)
    np.testing.assert_array_equal(padded, plain)

  def test_a_part_is_a_crop_and_black_beyond(self):
    picture = tiny_files.noise(60, 90)
    down = resizing.taps(60, 40).part(30, 44)
    across = resizing.taps(90, 50).part(-3, 20)
    got = np.asarray(_resample(jnp.asarray(picture), down, across))
    want = resizing.resized(picture, down, across)
    np.testing.assert_array_equal(got.reshape(want.shape), want)

  @pytest.mark.slow
  def test_stacked_taps_of_several_sizes(self):
    pictures = [tiny_files.noise(60, 90), tiny_files.noise(100, 80)]
    canvases = np.zeros((2, 100, 90, 3), np.uint8)
    want = []
    for canvas, picture in zip(canvases, pictures, strict=True):
      canvas[: picture.shape[0], : picture.shape[1]] = picture
      taps = _taps(picture.shape[:2], (24, 16), False)
      want.append(resizing.resized(picture, *taps))
    down = resizing.stack([resizing.taps(n, 24) for n in (60, 100)])
    across = resizing.stack([resizing.taps(n, 16) for n in (90, 80)])
    self.assertEqual(down.weights.shape[-1] % 2, 0)
    got = jax.vmap(resampling.resample)(jnp.asarray(canvases), down, across)
    np.testing.assert_array_equal(got.reshape(2, 24, 16, 3), want)
