"""Ops that move pixels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from robust_tfds import resizing
from robust_tfds.corruptions import spec
from robust_tfds.corruptions.ops import (
  double,
  edition_crop,
  layout,
  resampling,
  resize,
)
from tests import quick, resizing_golden, tiny_files

_resample = jax.jit(resampling.resample)


def _taps(size, out, bicubic):
  return [resizing.taps(n, o, bicubic) for n, o in zip(size, out, strict=True)]


def _resized(canvas, size, out, bicubic):
  taps = _taps(size, out, bicubic)
  return np.asarray(_resample(jnp.asarray(canvas), *taps)).reshape(*out, 3)


class ResamplingTest(parameterized.TestCase):
  """The resize on devices: the host's bytes, over many sizes, in any canvas."""

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


def _resized_in_box(canvas: np.ndarray, height: int, width: int, side: int):
  box = (jnp.int32(0), jnp.int32(0), jnp.int32(height), jnp.int32(width))
  whole = jax.jit(lambda x, b: resize.bilinear(x, b, (side, side)))
  return np.asarray(whole(jnp.asarray(canvas), box))


class ResizeTest(parameterized.TestCase):
  """The resize of traced sizes: the host's, and the same bits on any canvas."""

  @parameterized.parameters(
    (90, 80, 64, ((0, 7), (37, 90), (200, 1))),
    (333, 500, 64, ((37, 90),)),
    (140, 149, 299, ((200, 1),)),
  )
  def test_the_hosts_result_on_any_canvas(self, height, width, side, margins):
    picture = resizing_golden.levels(height, width)
    taps = [resizing.taps(n, side) for n in (height, width)]
    plain = _resized_in_box(picture, height, width, side)
    np.testing.assert_array_equal(plain, resizing.resized(picture, *taps))
    for below, right in margins:
      canvas = np.full((height + below, width + right, 3), 255, np.uint8)
      canvas[:height, :width] = picture
      padded = _resized_in_box(canvas, height, width, side)
      np.testing.assert_array_equal(padded, plain)

  def test_any_box(self):
    whole = jax.jit(lambda x, box: resize.bilinear(x, box, (64, 64)))
    rng = np.random.default_rng(0)
    picture = resizing_golden.levels(300, 400)
    for height, width in rng.integers(20, 300, (40, 2)).tolist():
      top, left = 300 - height, 400 - width
      taps = [resizing.taps(n, 64) for n in (height, width)]
      want = resizing.resized(picture[top:, left:], *taps)
      got = whole(picture, jnp.array([top, left, height, width], jnp.int32))
      np.testing.assert_array_equal(got, want, f"{height} x {width}")


class DoubleTest(absltest.TestCase):
  """Float64 inside a JAX of float32: the bits of numpy's."""

  def test_bits_keep_every_value(self):
    values = np.array([[0.1, -1e300], [np.pi, 5e-324]])
    stored = double.bits(values)
    self.assertEqual((stored.shape, stored.dtype), ((2, 2, 2), np.int32))
    np.testing.assert_array_equal(stored.view(np.float64)[..., 0], values)
    with jax.enable_x64(True):
      np.testing.assert_array_equal(double.value(jnp.asarray(stored)), values)

  def test_quotients_are_rounded_correctly(self):
    a = np.arange(1, 2000, dtype=np.float32)
    got = jax.jit(double.quotient)(a, np.float32(255))
    self.assertEqual(got.dtype, jnp.float32)
    np.testing.assert_array_equal(got, a / np.float32(255))


_crop = jax.jit(edition_crop.crop, static_argnums=2)


def _resized_whole(picture: np.ndarray, side: int) -> np.ndarray:
  taps = [resizing.taps(n, side) for n in picture.shape[:2]]
  return resizing.resized(picture, *taps)


class WindowTest(absltest.TestCase):
  """What editions look at: slices, and boxes that are resized."""

  def test_halves_go_to_the_even_number(self):
    heights = np.arange(32, 64)
    got = jax.jit(edition_crop.window, static_argnums=1)(
      layout.Size(heights, heights[::-1]), 32
    )
    expected = [int(round((n - 32) / 2)) for n in heights.tolist()]
    np.testing.assert_array_equal(got[0], expected)
    np.testing.assert_array_equal(got[1], expected[::-1])


class CropTest(absltest.TestCase):
  def test_a_picture_of_the_editions_size_stays(self):
    picture = tiny_files.noise(32, 32)
    cifar = spec.edition("cifar10")
    got = edition_crop.crop(picture, layout.Size(32, 32), cifar)
    self.assertIs(got, picture)

  def test_the_centre_in_any_canvas(self):
    picture = tiny_files.noise(37, 50)
    canvas = np.pad(picture, ((0, 27), (0, 14), (0, 0)))
    got = _crop(canvas, layout.Size(37, 50), spec.edition("cifar10"))
    np.testing.assert_array_equal(got, picture[2:34, 9:41])

  def test_imagenet64_is_the_whole_picture(self):
    picture = tiny_files.noise(80, 100)
    canvas = np.pad(picture, ((0, 48), (0, 28), (0, 0)))
    got = _crop(canvas, layout.Size(80, 100), spec.edition("imagenet64"))
    expected = _resized_whole(picture, 64)
    np.testing.assert_array_equal(got, expected)

  def test_tiny_imagenet_is_the_central_square(self):
    picture = tiny_files.noise(80, 100)
    canvas = np.pad(picture, ((0, 48), (0, 28), (0, 0)))
    got = _crop(canvas, layout.Size(80, 100), spec.edition("tiny_imagenet"))
    expected = _resized_whole(picture[:, 10:90], 64)
    np.testing.assert_array_equal(got, expected)

  def test_inception_is_the_central_seven_eighths(self):
    picture = tiny_files.noise(320, 400)
    size = layout.Size(320, 400)
    got = _crop(picture, size, spec.edition("inception"))
    expected = _resized_whole(picture[20:300, 25:375], 299)
    np.testing.assert_array_equal(got, expected)

  def test_margins_of_inception_go_to_the_even_number(self):
    picture = tiny_files.noise(323, 340)  # margins of 41 and 43
    size = layout.Size(323, 340)
    got = _crop(picture, size, spec.edition("inception"))
    expected = _resized_whole(picture[20:302, 22:319], 299)
    np.testing.assert_array_equal(got, expected)
