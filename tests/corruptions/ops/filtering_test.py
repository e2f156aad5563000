"""Ops that filter pixels"""

import jax
import jax.numpy as jnp
import numpy as np
import scipy.fft
import scipy.ndimage
from absl.testing import absltest, parameterized

from robust_tfds.corruptions.ops import (
  border,
  canny,
  chamfer,
  dct,
  equalize,
  gaussian,
  layout,
  motion,
  stencil,
  taps,
)

# Sizes are traced: one program a canvas serves all of them.
_blur = jax.jit(gaussian.blur, static_argnames="border")


_SCIPY = {"nearest": "nearest", "reflect": "reflect", "reflect101": "mirror"}


class GaussianTest(parameterized.TestCase):
  """Gaussian blur against scipy, padded or not."""

  @parameterized.product(
    border=gaussian.BORDERS,
    shape=((40, 53), (1, 7), (2, 30), (5, 1)),
    sigma=(0.4, 2.0, 20.0),
  )
  def test_equals_scipy_and_ignores_the_padding(self, border, shape, sigma):
    rng = np.random.default_rng(0)
    plane = rng.uniform(0, 255, (2, *shape)).astype(np.float32)
    want = np.stack(
      [
        scipy.ndimage.gaussian_filter(
          p.astype(np.float64), sigma, mode=_SCIPY[border], truncate=4.0
        )
        for p in plane
      ]
    )
    weights = gaussian.kernels([sigma, 22.0])[0]  # zero taps at the ends
    got = _blur(plane, weights, layout.Size(*shape), border)
    np.testing.assert_allclose(got, want, atol=2e-3)
    canvas = rng.uniform(0, 255, (2, 60, 64)).astype(np.float32)
    canvas[:, : shape[0], : shape[1]] = plane
    size = layout.Size(*(jnp.int32(n) for n in shape))
    padded = _blur(canvas, weights, size, border)
    np.testing.assert_allclose(
      padded[:, : shape[0], : shape[1]], want, atol=2e-3
    )

  def test_unknown_border(self):
    with self.assertRaisesRegex(ValueError, "Border must be one of"):
      gaussian.blur(np.zeros((3, 3)), np.ones(1), (3, 3), "wrap")


def _edges(levels: np.ndarray, size: tuple) -> jax.Array:
  edges = jax.jit(canny.edges, static_argnames=("low", "high"))
  return edges(levels, size, np.int32(0), low=50, high=150)


class CannyTest(absltest.TestCase):
  """Canny edges on pictures whose answer is known."""

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


_STEPS = {
  **{(y, x): 65536 for y, x in ((0, 1), (1, 0))},
  (1, 1): 91750,
  **{(y, x): 143976 for y, x in ((1, 2), (2, 1))},
}


def _relaxed(marked, cap):
  """Bellman-Ford over the 16 steps of the 5x5 mask."""
  length = np.where(marked, 0, cap * chamfer.ONE).astype(np.int64)
  steps = {
    (sy * y, sx * x): cost
    for (y, x), cost in _STEPS.items()
    for sy in (-1, 1)
    for sx in (-1, 1)
  }
  while True:
    padded = np.pad(length, 2, constant_values=1 << 40)
    best = length
    for (y, x), cost in steps.items():
      rows = slice(2 + y, 2 + y + length.shape[0])
      columns = slice(2 + x, 2 + x + length.shape[1])
      best = np.minimum(best, padded[rows, columns] + cost)
    if (best == length).all():
      return length
    length = best


class ChamferTest(parameterized.TestCase):
  """The chamfer distance against shortest paths of its steps."""

  @parameterized.parameters(0.0, 0.001, 0.02, 0.4)
  def test_equals_shortest_paths(self, share):
    marked = np.random.default_rng(1).random((61, 70)) < share
    got = np.asarray(chamfer.distance(marked, 20))
    np.testing.assert_array_equal(got, _relaxed(marked, 20))


def _blocks(count: int) -> np.ndarray:
  """Samples around 0, extremes among them: int16 `[8 columns, 8 rows, N]`."""
  rng = np.random.default_rng(0)
  blocks = rng.integers(-128, 128, (8, 8, count))
  blocks[..., 0], blocks[..., 1] = -128, 127
  blocks[..., 2] = np.where(rng.random((8, 8)) < 0.5, -128, 127)
  return blocks.astype(np.int16)


def _cosines(blocks: np.ndarray) -> np.ndarray:
  return scipy.fft.dctn(blocks.astype(float), axes=(0, 1), norm="ortho")


class TransformTest(parameterized.TestCase):
  def test_forward_is_eight_times_the_cosines(self):
    blocks = _blocks(500)
    columns = dct.forward(blocks, axis=0)
    got = np.asarray(dct.forward(columns, axis=1))  # [8 rows, 8 columns, N]
    self.assertEqual((got.dtype, got.shape), (np.int16, blocks.shape))
    expected = 8 * _cosines(blocks).transpose(1, 0, 2)
    np.testing.assert_allclose(got, expected, atol=2.5)

  @parameterized.parameters(1, 40, 255)
  def test_inverse_gives_the_samples_of_quantised_blocks(self, step):
    coefficients = np.round(_cosines(_blocks(500)) / step) * step
    rows = coefficients.transpose(1, 0, 2).astype(np.int16)
    samples = dct.inverse(dct.inverse(rows, axis=0), axis=1)
    expected = scipy.fft.idctn(coefficients, axes=(0, 1), norm="ortho")
    np.testing.assert_allclose(samples, expected, atol=1)

  def test_the_axis_comes_first(self):
    blocks = _blocks(3)
    got = np.asarray(dct.forward(blocks.transpose(1, 0, 2), axis=1))
    flat = blocks.astype(int).sum(axis=0)
    np.testing.assert_array_equal(got[0], (flat + 2) >> 2)


_equalize = jax.jit(equalize.equalize, static_argnums=2)


class EqualizeTest(absltest.TestCase):
  """Equalisation of few levels, whose shares are known."""

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


class StencilTest(parameterized.TestCase):
  """3x3 neighbourhoods against slices of a picture that numpy pads."""

  @parameterized.parameters(
    (border.reflect101, "reflect"), (border.nearest, "edge")
  )
  def test_nine_shifts_that_never_read_beyond_the_picture(self, rule, mode):
    picture = np.random.default_rng(0).integers(0, 256, (4, 5)).astype(np.int32)
    canvas = np.full((6, 8), -1, np.int32)
    canvas[:4, :5] = picture
    padded = np.pad(picture, 1, mode=mode)
    neighbours = jax.jit(stencil.neighbours, static_argnums=3)
    near = neighbours(canvas, layout.Size(4, 5), np.int32(0), rule)
    self.assertLen(near, 9)
    for (y, x), got in near.items():
      self.assertEqual(got.shape, (6, 8))
      expected = padded[1 + y : 5 + y, 1 + x : 6 + x]
      np.testing.assert_array_equal(got[:4, :5], expected, err_msg=f"{y} {x}")

  @parameterized.parameters(
    (border.reflect101, "reflect"), (border.nearest, "edge")
  )
  def test_a_picture_that_fills_its_canvas(self, rule, mode):
    canvas = np.random.default_rng(0).integers(0, 256, (4, 5)).astype(np.int32)
    padded = np.pad(canvas, 1, mode=mode)
    size = layout.Size(4, 5)
    near = jax.jit(
      lambda c, n: list(stencil.neighbours(c, size, n, rule).values())
    )
    for i, got in enumerate(near(canvas, np.int32(0))):
      y, x = divmod(i, 3)
      np.testing.assert_array_equal(got, padded[y : y + 4, x : x + 5])

  def test_inside(self):
    got = np.asarray(stencil.inside((4, 5), layout.Size(2, 3)))
    expected = np.zeros((4, 5), bool)
    expected[:2, :3] = True
    np.testing.assert_array_equal(got, expected)


_BITS = 14


def _kernels() -> dict[str, np.ndarray]:
  return motion.kernels((2, 3, 2.5, 4, 5), (1, 1.5, 1, 2, 3), _BITS)


class KernelsTest(absltest.TestCase):
  """Motion blur against a loop over its taps."""

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


_SIGMAS = (0.5, 1.0, 0.7, 1.2, 1.6)


_taps_blur = jax.jit(taps.blur, static_argnums=(3, 4))


_change = jax.jit(taps.change, static_argnums=3)


def _padded(picture, edge, axis, stride):
  margin = [(0, 0), (0, 0)]
  margin[axis] = (edge * stride, edge * stride)
  if stride == 1:
    return np.pad(picture, margin, mode="symmetric")
  pixels = picture.reshape(picture.shape[0], -1, stride)
  wide = np.pad(pixels, ((0, 0), (edge, edge), (0, 0)), mode="symmetric")
  return wide.reshape(picture.shape[0], -1)


class TapsTest(parameterized.TestCase):
  """Blur of few taps against scipy; flat areas stay exactly flat."""

  @parameterized.parameters((0, 1), (1, 1), (1, 3))
  def test_equals_scipy(self, axis, stride):
    rng = np.random.default_rng(0)
    picture = rng.uniform(0, 255, (12, 18)).astype(np.float32)
    kernels = taps.half_kernels(_SIGMAS)
    edge = taps.margin(kernels["half"][0])
    padded = _padded(picture, edge, axis, stride)
    pixels = picture.reshape(12, -1, stride).astype(np.float64)
    for sigma, half, turns in zip(_SIGMAS, *kernels.values(), strict=True):
      got = _taps_blur(padded, half, turns, axis, stride)
      expected = scipy.ndimage.gaussian_filter1d(
        pixels, sigma, axis=axis, mode="reflect"
      )
      np.testing.assert_allclose(got, expected.reshape(12, 18), atol=1e-3)

  def test_flat_stays_flat_and_whole_numbers_are_exact(self):
    kernels = taps.half_kernels(_SIGMAS)
    half, turns = kernels["half"][4], kernels["turns"][4]
    flat = np.full((3, 40), 77, np.int32)
    got = _taps_blur(flat, half, turns, 1)
    np.testing.assert_array_equal(got, np.full(got.shape, 77, np.float32))
    np.testing.assert_array_equal(_change(flat, half, turns, 1), 0)

  @parameterized.parameters((0, 1), (1, 1), (1, 3))
  def test_whole_weights_are_exact(self, axis, stride):
    rng = np.random.default_rng(0)
    picture = rng.integers(0, 256, (12, 18)).astype(np.uint8)
    half = np.array([30000, 9000, 500, 18, 0], np.float32)
    padded = _padded(picture, 4, axis, stride)
    exact = jax.jit(taps.exact, static_argnums=(3, 4))
    got = exact(padded, half, np.int32(2), axis, stride)
    expected = scipy.ndimage.correlate1d(
      picture.reshape(12, -1, stride).astype(np.int64),
      np.concatenate([half[:0:-1], half]).astype(np.int64),
      axis=axis,
      mode="reflect",
    )
    np.testing.assert_array_equal(got, expected.reshape(12, 18))

  def test_the_change_is_what_blur_adds(self):
    rng = np.random.default_rng(1)
    padded = rng.integers(0, 256, (30, 8)).astype(np.float32)
    kernels = taps.half_kernels(_SIGMAS)
    half, turns = kernels["half"][2], kernels["turns"][2]
    centre = taps.inner(padded, half, 0)
    edge = taps.margin(half)
    np.testing.assert_array_equal(centre, padded[edge:-edge])
    change = _change(padded, half, turns, 0)
    np.testing.assert_allclose(
      centre + change, _taps_blur(padded, half, turns, 0), rtol=1e-5
    )
