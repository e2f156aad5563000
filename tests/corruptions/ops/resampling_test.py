"""Ops that move pixels"""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.ndimage
from absl.testing import absltest, parameterized
from PIL import Image

from robust_tfds import resizing
from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.ops import (
  border,
  clipped_zoom,
  double,
  edition_crop,
  frost_resize,
  geometry,
  layout,
  packed,
  remap,
  resampling,
  resize,
  rotation,
  warp,
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


def _resize_resized(canvas: np.ndarray, height: int, width: int, side: int):
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
    plain = _resize_resized(picture, height, width, side)
    np.testing.assert_array_equal(plain, resizing.resized(picture, *taps))
    for below, right in margins:
      canvas = np.full((height + below, width + right, 3), 255, np.uint8)
      canvas[:height, :width] = picture
      padded = _resize_resized(canvas, height, width, side)
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


class RotationTest(parameterized.TestCase):
  """Rotations by nearest neighbours against Pillow's, bit for bit."""

  @parameterized.parameters((24, 24), (17, 30))
  def test_is_pillows(self, height, width):
    angles = np.array([0, 7.5, 45, -33.3, 90, 180, 271])
    rng = np.random.default_rng(0)
    clip = rng.integers(1, 256, (len(angles), height, width, 3), np.uint8)
    got = rotation.rotate(clip, rotation.steps(angles, (height, width)))
    self.assertEqual((got.shape, got.dtype), (clip.shape, np.uint8))
    for pixels, frame, angle in zip(got, clip, angles, strict=True):
      # Pillow turns by multiples of 90 degrees without its walk.
      quarter = angle % 90 == 0 and (height == width or angle % 180 == 0)
      if quarter:
        expected = np.rot90(frame, int(angle) // 90)
      else:
        expected = np.asarray(Image.fromarray(frame).rotate(angle))
      np.testing.assert_array_equal(pixels, expected, err_msg=str(angle))

  def test_outside_is_black(self):
    clip = np.full((1, 20, 20, 3), 255, np.uint8)
    got = rotation.rotate(clip, rotation.steps(np.array([45.0]), (20, 20)))
    self.assertFalse(np.asarray(got)[0, 0, 0].any())


_SIZE = layout.Size(12, 15)


def _picture() -> np.ndarray:
  rng = np.random.default_rng(0)
  return rng.integers(1, 256, (*_SIZE, 3), np.uint8)


def _canvas(margin: int = 3) -> np.ndarray:
  pad = ((0, margin), (0, margin), (0, 0))
  return np.pad(_picture(), pad, constant_values=77)


def _grid() -> tuple[np.ndarray, np.ndarray]:
  y, x = np.mgrid[: _SIZE.h, : _SIZE.w].astype(np.float32)
  return x, y


def _transformed(matrix: np.ndarray, resampling) -> np.ndarray:
  """Pillow's, about torchvision 0.2's centre: `[H, W, 3]`."""
  centre = np.array([_SIZE.w / 2 + 0.5, _SIZE.h / 2 + 0.5])
  offset = centre - matrix @ centre
  data = np.column_stack([matrix, offset]).ravel().tolist()
  picture = Image.fromarray(_picture())
  size = (_SIZE.w, _SIZE.h)
  affine = Image.Transform.AFFINE
  return np.asarray(picture.transform(size, affine, data, resampling))


class PillowTest(parameterized.TestCase):
  """Samples at coordinates against Pillow, and OpenCV's rule by hand."""

  @parameterized.parameters((0, 1, 0), (20, 1, 0), (0, 0.6, 0), (0, 1, 13))
  def test_bilinear(self, angle, scale, shear):
    matrix = geometry.affine_matrix(angle, scale, shear)
    got = jax.jit(warp.pillow_affine)(
      warp.pack(_canvas()), *_grid(), double.bits(matrix), _SIZE
    )
    expected = _transformed(matrix, Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(np.moveaxis(got, 0, -1), expected)

  @parameterized.parameters((0, 1, 0), (20, 1, 0), (0, 0.6, 0), (0, 1, 13))
  def test_bilinear_within_a_level(self, angle, scale, shear):
    """At the edges too: what Pillow leaves black is black."""
    matrix = geometry.affine_matrix(angle, scale, shear)
    centre = np.array([_SIZE.w / 2 + 0.5, _SIZE.h / 2 + 0.5])
    data = np.column_stack([matrix, centre - matrix @ centre]).ravel()
    words = jax.jit(warp.pillow_bilinear)(
      packed.pack(_canvas()), double.bits(data), _SIZE
    )
    got = np.asarray(packed.bytes_of(words)).reshape(_canvas().shape)
    got = got[: _SIZE.h, : _SIZE.w].astype(int)
    expected = _transformed(matrix, Image.Resampling.BILINEAR)
    self.assertLessEqual(np.abs(got - expected).max(), 1)

  def test_nearest(self):
    x, y = _grid()
    u, v = x + 2.75, y - 1.5
    got = jax.jit(warp.pillow_nearest)(warp.pack(_canvas()), u, v, _SIZE)
    expected = np.zeros((*_SIZE, 3), np.uint8)
    expected[2:, :-2] = _picture()[:-2, 2:]
    np.testing.assert_array_equal(np.moveaxis(got, 0, -1), expected)


class OpenCVTest(absltest.TestCase):
  def test_bilinear_with_a_black_border(self):
    rng = np.random.default_rng(1)
    u = rng.uniform(-3, 18, (6, 7)).astype(np.float32)
    v = rng.uniform(-3, 15, (6, 7)).astype(np.float32)
    got = jax.jit(warp.opencv_bilinear)(warp.pack(_canvas()), u, v, _SIZE)
    black = np.pad(_picture().astype(int), ((5, 5), (5, 5), (0, 0)))
    for i, j in np.ndindex(u.shape):
      column, row = (int(np.rint(n[i, j] * 32)) + 5 * 32 for n in (u, v))
      (x, across), (y, down) = divmod(column, 32), divmod(row, 32)
      total = (
        (32 - down) * (32 - across) * black[y, x]
        + (32 - down) * across * black[y, x + 1]
        + down * (32 - across) * black[y + 1, x]
        + down * across * black[y + 1, x + 1]
      )
      np.testing.assert_array_equal(got[:, i, j], (total + 512) >> 10)


_REMAP_SIZE = layout.Size(9, 11)


def _remap_picture() -> np.ndarray:
  rng = np.random.default_rng(0)
  return rng.integers(0, 256, (*_REMAP_SIZE, 3), np.uint8)


def _words(margin: int = 0) -> np.ndarray:
  """The picture's words in a canvas of values that may not be read."""
  pad = ((0, margin), (0, margin), (0, 0))
  return np.asarray(
    packed.pack(np.pad(_remap_picture(), pad, constant_values=77))
  )


def _levels(source: remap.Fine) -> np.ndarray:
  """float64 `[H, W, 3]` of levels with 8 fractional bits."""
  red_green, blue = (np.asarray(w).astype(np.int64) for w in source)
  channels = [red_green & 0xFFFF, red_green >> 16, blue & 0xFFFF]
  return np.stack(channels, axis=-1) / 256


class BorderTest(parameterized.TestCase):
  """Samples of packed pixels against scipy, and the borders' quick forms."""

  @parameterized.parameters("reflect101", "reflect")
  def test_the_same_as_by_integer_division(self, name):
    quick, slow = (jax.jit(vars(m)[name]) for m in (remap, border))
    index = np.arange(-5000, 5000, dtype=np.int32)
    for valid in (1, 2, 7, 41, 333):
      np.testing.assert_array_equal(quick(index, valid), slow(index, valid))


class AffineTest(absltest.TestCase):
  def test_bilinear_on_the_grid_of_32ths(self):
    affine = jax.jit(remap.affine)
    for shift in ((0.0, 0.0), (0.5, -2.25)):
      matrix = np.array([[1, 0, shift[0]], [0, 1, shift[1]]], np.float32)
      y, x = np.mgrid[: _REMAP_SIZE.h, : _REMAP_SIZE.w]
      at = np.stack([y + shift[1], x + shift[0]])
      expected = np.stack(
        [
          scipy.ndimage.map_coordinates(c, at, order=1, mode="mirror")
          for c in _remap_picture().astype(float).transpose(2, 0, 1)
        ],
        axis=-1,
      )
      for margin in (0, 4):
        got = _levels(affine(_words(margin), matrix, _REMAP_SIZE, np.int32(1)))
        got = got[: _REMAP_SIZE.h, : _REMAP_SIZE.w]
        np.testing.assert_allclose(got, expected, atol=1 / 256)


class DisplacedTest(absltest.TestCase):
  def test_equals_scipy_but_for_the_last_truncation(self):
    rng = np.random.default_rng(1)
    y, x = np.mgrid[: _REMAP_SIZE.h, : _REMAP_SIZE.w].astype(np.float32)
    rows, columns = (
      (n + rng.uniform(-15, 15, n.shape)).astype(np.float32) for n in (y, x)
    )
    got = jax.jit(remap.displaced)(
      remap.fine(_words()), rows, columns, _REMAP_SIZE
    )
    channels = np.stack(packed.channels(got), axis=-1)
    expected = np.stack(
      [
        scipy.ndimage.map_coordinates(
          c, [rows, columns], order=1, mode="reflect"
        )
        for c in _remap_picture().astype(float).transpose(2, 0, 1)
      ],
      axis=-1,
    )
    self.assertLess(np.abs(channels - np.floor(expected)).max(), 2)
    self.assertGreater((channels == np.floor(expected)).mean(), 0.99)


_CIFAR = spec.edition("cifar10")


class MatrixTest(parameterized.TestCase):
  """Affine frames: the identity is the edition's crop, quarter turns numpy's."""

  @parameterized.parameters(10.0, 90.0, -35.0)
  def test_a_turn_is_undone_by_its_transpose(self, angle):
    matrix = geometry.affine_matrix(angle)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(2), atol=1e-12)
    a = np.deg2rad(angle)
    np.testing.assert_allclose(matrix[0], [np.cos(a), np.sin(a)], atol=1e-12)

  def test_scale_and_shear(self):
    halved = geometry.affine_matrix(scale=2.0)
    np.testing.assert_allclose(halved, 0.5 * np.eye(2), atol=1e-12)
    sheared = geometry.affine_matrix(shear_deg=20.0)
    s = np.deg2rad(20.0)
    # torchvision 0.2: the inverse of [[1, -sin s], [0, cos s]].
    expected = np.linalg.inv([[1, -np.sin(s)], [0, np.cos(s)]])
    np.testing.assert_allclose(sheared, expected, atol=1e-12)


class FrameTest(absltest.TestCase):
  def test_the_identity_is_the_centre_in_any_canvas(self):
    plugin = geometry.affine_plugin(
      lambda edition, severity: geometry.matrix_table([np.eye(2)]), ()
    )
    table = plugin.tables(_CIFAR, 1)
    row = {name: table[name][0] for name in plugin.rows}
    picture = tiny_files.noise(40, 46)

    @jax.jit
    def frame(canvas):
      key = np.zeros(2, np.uint32)
      scene = plugins.Scene(canvas, layout.Size(40, 46), row, _CIFAR, key)
      return plugin.frame(scene, None)

    for margin in (0, 10):
      canvas = np.pad(picture, ((0, margin), (0, margin), (0, 0)))
      got = frame(canvas)
      expected = picture[4:36, 7:39].reshape(32, -1)
      # torchvision's centre lies half a pixel beyond the middle: with the
      # identity nothing moves.
      np.testing.assert_array_equal(got, expected)

  def test_a_quarter_turn(self):
    """About (w / 2 + 0.5, h / 2 + 0.5): moved by one pixel and black there."""
    picture = tiny_files.noise(32, 32)
    matrix = geometry.matrix_table([geometry.affine_matrix(90.0)])["matrix"][0]
    got = jax.jit(geometry.affine, static_argnums=2)(
      picture, layout.Size(32, 32), _CIFAR, matrix
    )
    got = np.asarray(got).reshape(32, 32, 3).astype(int)
    turned = np.rot90(picture, -1)
    black = (got == 0).all(axis=-1)
    self.assertLessEqual(black.sum(), 64)
    shifts = [
      np.abs(got - np.roll(turned, shift, (0, 1)))[2:-2, 2:-2].max()
      for shift in ((0, 0), (0, 1), (1, 0), (1, 1), (0, -1), (-1, 0))
    ]
    self.assertLessEqual(min(shifts), 1)


class ClippedZoomTest(parameterized.TestCase):
  """Clipped zoom against scipy's zoom of the cut."""

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


_SHAPE = (3, 4)


_CANVAS = (5, 7)


def _border_picture(channels: int = 1) -> np.ndarray:
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
    picture = _border_picture(channels)
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
    picture = _border_picture()
    expected = np.pad(picture, ((4, 4), (6, 6)), mode="symmetric")
    pad = jax.jit(border.pad_reflect, static_argnums=2)
    got = pad(_in_canvas(picture), layout.Size(*_SHAPE), (4, 6))
    corner = np.asarray(got)[: expected.shape[0], : expected.shape[1]]
    np.testing.assert_array_equal(corner, expected)


class Rotate180Test(absltest.TestCase):
  def test_turns_the_picture_and_not_its_canvas(self):
    picture = _border_picture()
    size = layout.Size(*_SHAPE)
    whole = border.rotate180(picture, size)
    np.testing.assert_array_equal(whole, picture[::-1, ::-1])
    got = jax.jit(border.rotate180)(_in_canvas(picture), size)
    corner = np.asarray(got)[: _SHAPE[0], : _SHAPE[1]]
    np.testing.assert_array_equal(corner, picture[::-1, ::-1])


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


def _edition_crop_resized(picture: np.ndarray, side: int) -> np.ndarray:
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
    expected = _edition_crop_resized(picture, 64)
    np.testing.assert_array_equal(got, expected)

  def test_tiny_imagenet_is_the_central_square(self):
    picture = tiny_files.noise(80, 100)
    canvas = np.pad(picture, ((0, 48), (0, 28), (0, 0)))
    got = _crop(canvas, layout.Size(80, 100), spec.edition("tiny_imagenet"))
    expected = _edition_crop_resized(picture[:, 10:90], 64)
    np.testing.assert_array_equal(got, expected)

  def test_inception_is_the_central_seven_eighths(self):
    picture = tiny_files.noise(320, 400)
    size = layout.Size(320, 400)
    got = _crop(picture, size, spec.edition("inception"))
    expected = _edition_crop_resized(picture[20:300, 25:375], 299)
    np.testing.assert_array_equal(got, expected)

  def test_margins_of_inception_go_to_the_even_number(self):
    picture = tiny_files.noise(323, 340)  # margins of 41 and 43
    size = layout.Size(323, 340)
    got = _crop(picture, size, spec.edition("inception"))
    expected = _edition_crop_resized(picture[20:302, 22:319], 299)
    np.testing.assert_array_equal(got, expected)


def _cubic(distance: np.ndarray) -> np.ndarray:
  """The cubic kernel with a = -0.75, as OpenCV has it."""
  a, x = -0.75, np.abs(distance)
  near = ((a + 2) * x - (a + 3)) * x * x + 1
  far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
  return np.where(x <= 1, near, np.where(x < 2, far, 0))


def _triangle(distance: np.ndarray) -> np.ndarray:
  return np.maximum(1 - np.abs(distance), 0)


def _matrix(n_in: int, n_out: int, kernel, scale: float) -> np.ndarray:
  """Weights `[n_out, n_in]` of an interpolation with replicated edges."""
  at = (np.arange(n_out) + 0.5) / scale - 0.5
  near = np.floor(at).astype(int)[:, None] + np.arange(-1, 3)
  weights = np.zeros((n_out, n_in))
  for row, columns in enumerate(near):
    for column in columns:
      place = np.clip(column, 0, n_in - 1)
      weights[row, place] += kernel(at[row] - column)
  return weights


class LinearTest(parameterized.TestCase):
  """Resizes of frost pictures against float64 interpolation by hand."""

  @parameterized.parameters(0.2, 0.3)
  def test_near_the_exact_one(self, scale):
    picture = np.random.default_rng(0).integers(0, 256, (40, 50, 3), np.uint8)
    got = frost_resize.linear(picture, scale)
    height, width = round(40 * scale), round(50 * scale)
    down = _matrix(40, height, _triangle, scale)
    across = _matrix(50, width, _triangle, scale)
    exact = np.einsum("yh,xw,hwc->yxc", down, across, picture)
    self.assertEqual((got.shape, got.dtype), ((height, width, 3), np.uint8))
    self.assertLess(np.abs(got - exact).max(), 1)

  def test_flat_stays_flat(self):
    flat = np.full((20, 30, 3), 255, np.uint8)
    self.assertEqual(frost_resize.linear(flat, 0.3).min(), 255)


class CubicTest(absltest.TestCase):
  def test_weights(self):
    weights = frost_resize.cubic_weights()
    np.testing.assert_allclose(weights.sum(axis=1), 1 << 14, atol=2)
    np.testing.assert_array_equal(weights[0], [0, 1 << 14, 0, 0])
    half = _cubic(np.array([1.5, 0.5, -0.5, -1.5])) * (1 << 14)
    np.testing.assert_allclose(weights[len(weights) // 2], half, atol=1)

  def test_a_crop_of_the_enlarged_picture_in_any_canvas(self):
    picture = np.random.default_rng(1).integers(0, 256, (20, 24, 3), np.uint8)
    resized = (31, 40)
    down = _matrix(20, 31, _cubic, 31 / 20)
    across = _matrix(24, 40, _cubic, 40 / 24)
    exact = np.einsum("yh,xw,hwc->yxc", down, across, picture)
    expected = np.clip(exact, 0, 255)[5:21, 7:25]
    crop = jax.jit(frost_resize.cubic_crop, static_argnums=4)
    crops = []
    for margin in (0, 9):
      canvas = np.pad(picture, ((0, margin), (0, margin), (0, 0)))
      got = crop(
        canvas.reshape(canvas.shape[0], -1),
        np.array([20, 24], np.int32),
        np.array(resized, np.int32),
        np.array([5, 7], np.int32),
        (16, 18),
        frost_resize.cubic_weights(),
      )
      crops.append(np.asarray(got).reshape(16, 18, 3))
    self.assertLess(np.abs(crops[0] - expected).max(), 1)
    np.testing.assert_array_equal(crops[0], crops[1])
