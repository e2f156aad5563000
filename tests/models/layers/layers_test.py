"""Layers of networks."""

import functools
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest, parameterized
from flax import nnx

from models import layers
from models.layers import deformable, grouped, positions, train_mode
from tests.models import extension_ops


class LayersTest(parameterized.TestCase):
  """Pooling and normalisation against definitions written out in numpy."""

  def test_gradients_in_programs(self):
    x = jnp.asarray([[0.0, 1.0, 3.0, 2.0]]).reshape(1, 2, 2, 1)
    for layer, want in (
      (lambda x: layers.max_pool(x, 2, 2), [0, 0, 1, 0]),
      (lambda x: layers.avg_pool(x, 2, 2), [0.25] * 4),
      (layers.relu, [0, 1, 1, 1]),  # torch's at 0
    ):
      got = jax.jit(jax.grad(lambda x, layer=layer: layer(x).sum()))(x)
      np.testing.assert_array_equal(got.ravel(), want)

  def test_pools_have_gradients_in_programs(self):
    x = jnp.arange(16.0).reshape(1, 4, 4, 1)
    for pool, want in ((layers.max_pool, 4), (layers.avg_pool, 4)):
      got = jax.jit(jax.grad(lambda x, f=pool: f(x, 2, 2).sum()))(x)
      self.assertAlmostEqual(float(got.sum()), want, places=6)

  def test_pads_as_tensorflow(self):
    for side, kernel, stride, pads in (
      (224, 7, 2, (2, 3)),
      (112, 3, 2, (0, 1)),
      (7, 3, 2, (1, 1)),
      (7, 3, 1, (1, 1)),
    ):
      x = jnp.ones((1, side, side, 1))
      padded = layers.pad_as_tensorflow(x, kernel, stride)[0, :, :, 0]
      np.testing.assert_array_equal(padded, np.pad(np.ones((side, side)), pads))

  def test_batch_norm_in_training(self):
    norm = layers.BatchNorm(3, rngs=nnx.Rngs(0))
    x = np.random.default_rng(0).normal(5, 3, (2, 4, 4, 3)).astype(np.float32)
    norm.train()
    mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
    want = (x - mean) / np.sqrt(var + 1e-5)
    np.testing.assert_allclose(norm(jnp.asarray(x)), want, atol=1e-4)
    # torch: a tenth of the way, with the unbiased variance (32 values).
    np.testing.assert_allclose(norm.mean[...], 0.1 * mean, rtol=1e-4)
    unbiased = 0.9 + 0.1 * var * 32 / 31
    np.testing.assert_allclose(norm.var[...], unbiased, rtol=1e-4)
    norm.eval()
    norm(jnp.asarray(x))
    np.testing.assert_allclose(norm.mean[...], 0.1 * mean, rtol=1e-4)

  def test_batch_norm_without_an_epsilon_trains(self):
    """FrozenBatchNorm2d's old 0: a channel of one value has no variance."""
    norm, torchs = (layers.BatchNorm(3, e, rngs=nnx.Rngs(0)) for e in (0, 1e-5))
    x = np.random.default_rng(0).normal(5, 3, (2, 4, 4, 3)).astype(np.float32)
    x[..., 1] = 7
    for each in (norm, torchs):
      each.train()
    got = norm(jnp.asarray(x))
    self.assertTrue(np.isfinite(got).all())
    np.testing.assert_array_equal(got, torchs(jnp.asarray(x)))

  def test_stack_counts_functions_as_places(self):
    first = layers.linear(2, 3, rngs=nnx.Rngs(0))
    last = layers.linear(3, 4, rngs=nnx.Rngs(0))
    stack = layers.Stack((first, layers.relu, last))
    paths = {p[0] for p, _ in nnx.to_flat_state(nnx.state(stack))}
    self.assertEqual(paths, {"0", "2"})
    x = jnp.ones((1, 2))
    np.testing.assert_array_equal(stack(x), last(layers.relu(first(x))))

  def test_stack_is_iterated_in_order(self):
    stack = layers.Stack({"double": lambda x: 2 * x, "plus": lambda x: x + 1})
    self.assertEqual([step(3) for step in stack], [6, 4])

  def test_stack_by_names_keeps_their_order(self):
    b = layers.linear(2, 3, rngs=nnx.Rngs(0))
    a = layers.linear(3, 4, rngs=nnx.Rngs(0))
    stack = layers.Stack({"block1-0": b, "relu": layers.relu, "a": a})
    paths = {p[0] for p, _ in nnx.to_flat_state(nnx.state(stack))}
    self.assertEqual(paths, {"block1-0", "a"})
    x = jnp.ones((1, 2))
    np.testing.assert_array_equal(stack(x), a(layers.relu(b(x))))

  def test_everything_follows_the_input_dtype(self):
    rngs = nnx.Rngs(0)
    x = jnp.ones((1, 8, 8, 4), jnp.bfloat16)
    for layer in (
      layers.conv(4, 4, 3, rngs=rngs),
      layers.linear(4, 4, rngs=rngs),
      layers.BatchNorm(4, rngs=rngs),
      layers.LayerNorm(4, 1e-6, rngs=rngs),
      lambda x: layers.avg_pool(x, 3, 2),
      lambda x: layers.adaptive_avg_pool(x, 3),
    ):
      self.assertEqual(jax.eval_shape(layer, x).dtype, jnp.bfloat16)


# Inputs, outputs, groups, stride; whether of the second version.
_DEFORMABLE_CASES = ((3, 4, 1, 1, False), (4, 6, 2, 2, True))


def _drawn(inputs, outputs, groups, stride, modulated, size=(7, 6)):
  """Pixels, kernel, offsets and chances, in torch's layout."""
  rng = np.random.default_rng(0)
  places = [(n - 1) // stride + 1 for n in size]
  draw = functools.partial(rng.standard_normal, dtype=np.float32)
  x, kernel = draw((2, inputs, *size)), draw((outputs, inputs // groups, 3, 3))
  offsets = 3 * draw((2, 18, *places))
  chances = rng.random((2, 9, *places), np.float32) if modulated else None
  return x, kernel, offsets, chances


def _ours(x, kernel, offsets, chances, groups, stride):
  last = functools.partial(np.moveaxis, source=1, destination=-1)
  y = jax.jit(
    functools.partial(
      deformable.convolve,
      strides=(stride, stride),
      padding=(1, 1),
      groups=groups,
    )
  )(
    last(x),
    kernel.transpose(2, 3, 1, 0),
    last(offsets),
    None if chances is None else last(chances),
  )
  return np.moveaxis(np.asarray(y), -1, 1)


def _pixel(x, y, row, column):
  """Of a picture `[C, H, W]` between its pixels, zeros beyond them."""
  total = np.zeros(len(x))
  for i in (int(np.floor(y + row)), int(np.floor(y + row)) + 1):
    for j in (int(np.floor(column)), int(np.floor(column)) + 1):
      if 0 <= i < x.shape[1] and 0 <= j < x.shape[2]:
        weight = (1 - abs(y + row - i)) * (1 - abs(column - j))
        total += weight * x[:, i, j]
  return total


def _loops(x, kernel, offsets, chances, groups, stride):
  """The sum of the paper's equation, place by place."""
  batch, _, rows, columns = offsets.shape
  outputs, per_group = kernel.shape[:2]
  y = np.zeros((batch, outputs, rows, columns))
  for b, i, j, k in np.ndindex(batch, rows, columns, 9):
    down, across = offsets[b, 2 * k : 2 * k + 2, i, j]
    place = i * stride - 1 + k // 3, j * stride - 1 + k % 3
    seen = _pixel(x[b], place[0], down, place[1] + across)
    seen *= 1 if chances is None else chances[b, k, i, j]
    for o in range(outputs):
      first = o // (outputs // groups) * per_group
      part = seen[first : first + per_group]
      y[b, o, i, j] += kernel[o, :, k // 3, k % 3] @ part
  return y


class ConvolveTest(parameterized.TestCase):
  """Deformable convolutions against loops, plain ones and torchvision's."""

  @parameterized.parameters(*_DEFORMABLE_CASES)
  def test_as_loops(self, inputs, outputs, groups, stride, modulated):
    given = _drawn(inputs, outputs, groups, stride, modulated)
    want = _loops(*given, groups, stride)
    got = _ours(*given, groups, stride)
    np.testing.assert_allclose(got, want, atol=2e-5 * np.abs(want).max())

  @parameterized.parameters(*_DEFORMABLE_CASES)
  @pytest.mark.slow
  def test_as_torchvision(self, inputs, outputs, groups, stride, modulated):
    torch, ops = extension_ops.torchvision()
    sizes = 8 * inputs, 8 * outputs, groups, stride, modulated, (40, 33)
    given = _drawn(*sizes)
    tensors = [None if a is None else torch.from_numpy(a) for a in given]
    x, kernel, offsets, chances = tensors
    want = ops.deform_conv2d(
      x, offsets, kernel, stride=stride, padding=1, mask=chances
    ).numpy()
    got = _ours(*given, groups, stride)
    gap = np.abs(got - want).max() / np.abs(want).max()
    print(f"deform_conv2d {sizes}: {gap:.1e} of scale")
    self.assertLess(gap, 1e-5)


class ConvTest(parameterized.TestCase):
  @parameterized.parameters((False, 18), (True, 27))
  def test_starts_as_the_plain_one(self, modulated, channels):
    plain = layers.conv(8, 6, 3, 2, 1, groups=2, bias=False, rngs=nnx.Rngs(0))
    x = jnp.asarray(_drawn(8, 6, 2, 2, False)[0]).transpose(0, 2, 3, 1)
    want = plain(x)
    conv = deformable.Conv(plain, modulated=modulated, rngs=nnx.Rngs(1))
    self.assertEqual(conv.conv_offset.kernel.shape, (3, 3, 8, channels))
    # The chances of the second version start at a half.
    factor = 0.5 if modulated else 1.0
    got = nnx.jit(lambda conv, x: conv(x))(conv, x)
    np.testing.assert_allclose(got, factor * want, atol=1e-5)

  @pytest.mark.slow
  def test_offsets_come_first_then_chances(self):
    plain = layers.conv(2, 2, 3, 1, 1, bias=False, rngs=nnx.Rngs(0))
    conv = deformable.Conv(plain, modulated=True, rngs=nnx.Rngs(1))
    rng = np.random.default_rng(0)
    start = rng.standard_normal(27).astype(np.float32)
    conv.conv_offset.bias[...] = jnp.asarray(start)
    x = _drawn(2, 2, 1, 1, True)[0]
    grid = np.ones((2, 1, *x.shape[2:]), np.float32)
    moves = start[None, :, None, None] * grid
    want = _ours(
      x,
      np.asarray(plain.kernel[...]).transpose(3, 2, 0, 1),
      moves[:, :18],
      1 / (1 + np.exp(-moves[:, 18:])),
      *(1, 1),
    )
    got = np.moveaxis(np.asarray(conv(x.transpose(0, 2, 3, 1))), -1, 1)
    np.testing.assert_allclose(got, want, atol=1e-5)


def _grouped_drawn(*shape, seed=0):
  return np.random.default_rng(seed).standard_normal(shape, np.float32)


def _xla(x, kernel, strides, padding, groups):
  return jax.lax.conv_general_dilated(
    x,
    kernel,
    strides,
    padding,
    dimension_numbers=("NHWC", "HWIO", "NHWC"),
    feature_group_count=groups,
    precision="highest",
  )


class ProductsTest(parameterized.TestCase):
  """Sums of products against XLA's convolutions in groups."""

  @parameterized.parameters(
    ((3, 3), (1, 1), [(1, 1), (1, 1)], (6, 6, 6)),
    ((5, 5), (2, 2), [(2, 2), (2, 2)], (6, 6, 12)),
    ((7, 7), (2, 1), [(0, 1), (1, 3)], (3, 6, 9)),
  )
  def test_as_xla(self, kernel, strides, padding, channels):
    groups, inputs, outputs = channels
    x = _grouped_drawn(2, 9, 11, inputs)
    weights = _grouped_drawn(*kernel, inputs // groups, outputs, seed=1)
    want = _xla(x, weights, strides, padding, groups)
    form = {"strides": strides, "padding": padding, "groups": groups}
    got = jax.jit(functools.partial(grouped.products, **form))(x, weights)
    scale = np.abs(want).max()
    np.testing.assert_allclose(got / scale, want / scale, atol=1e-6)

  def test_by_rows_and_whole_the_same_bytes(self):
    x, weights = _grouped_drawn(2, 9, 11, 6), _grouped_drawn(5, 5, 1, 6, seed=1)
    form = {"strides": (2, 1), "padding": [(2, 2)] * 2, "groups": 6}
    got = []
    for most in (24, 25):
      with mock.patch.object(grouped, "MOST_TERMS", most):
        call = functools.partial(grouped.products, **form)
        text = jax.jit(call).lower(x, weights).as_text()
        self.assertEqual("stablehlo.while" in text, most < 25)
        got.append(jax.jit(call)(x, weights))
    np.testing.assert_array_equal(*got)

  def test_bfloat16_is_rounded_once(self):
    x, weights = _grouped_drawn(1, 8, 8, 4), _grouped_drawn(7, 7, 1, 4, seed=1)
    x, weights = x.astype(jnp.bfloat16), weights.astype(jnp.bfloat16)
    form = {"strides": (1, 1), "padding": [(3, 3)] * 2, "groups": 4}
    got = grouped.products(x, weights, **form)
    self.assertEqual(got.dtype, jnp.bfloat16)
    want = grouped.products(
      x.astype(np.float32), weights.astype(np.float32), **form
    )
    np.testing.assert_array_equal(got, want.astype(jnp.bfloat16))


class GroupedConvTest(parameterized.TestCase):
  @parameterized.parameters((6, 6, True), (18, 2, False))
  def test_form_by_platform(self, channels, groups, products):
    conv = layers.conv(channels, channels, 3, groups=groups, rngs=nnx.Rngs(0))
    traced = jax.jit(conv).trace(jnp.ones((1, 8, 8, channels)))
    for platform, convolves in (("cpu", not products), ("cuda", True)):
      text = traced.lower(lowering_platforms=(platform,)).as_text()
      self.assertEqual("stablehlo.convolution" in text, convolves, platform)

  def test_sharded_and_differentiated(self):
    conv = layers.conv(4, 4, 3, 2, 1, groups=4, rngs=nnx.Rngs(0))
    graph, state = nnx.split(conv)
    x = _grouped_drawn(jax.device_count() * 2, 9, 9, 4)

    def loss(state, x, products):
      layer = nnx.merge(graph, state)
      if not products:
        layer.conv_general_dilated = jax.lax.conv_general_dilated
      return jnp.square(layer(x)).sum()

    mesh = jax.make_mesh(
      (jax.device_count(),), ("x",), axis_types=(jax.sharding.AxisType.Auto,)
    )
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    gradient = jax.jit(jax.grad(loss), static_argnums=2)
    with jax.default_matmul_precision("highest"):
      want = gradient(state, x, False)
      got = gradient(state, jax.device_put(x, rows), True)
    jax.tree.map(
      functools.partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-3),
      got,
      want,
    )


class WeightsTest(parameterized.TestCase):
  """Interpolation of positions: what holds at any size."""

  @parameterized.product(
    inputs=(3, 14, 37), outputs=(2, 14, 24), antialias=(False, True)
  )
  def test_rows_sum_to_one(self, inputs, outputs, antialias):
    matrix = positions.weights(inputs, outputs, antialias=antialias)
    self.assertEqual(matrix.shape, (outputs, inputs))
    np.testing.assert_allclose(matrix.sum(1), 1, atol=1e-6)

  @parameterized.parameters(False, True)
  def test_the_same_grid_stays(self, antialias):
    matrix = positions.weights(7, 7, antialias=antialias)
    np.testing.assert_allclose(matrix, np.eye(7), atol=1e-7)

  def test_a_slope_stays_a_slope_inside(self):
    matrix = positions.weights(16, 32, antialias=True)
    got = matrix @ np.arange(16)
    np.testing.assert_allclose(got[6:-6], (np.arange(32) / 2 - 0.25)[6:-6])


class FitTest(absltest.TestCase):
  def test_only_positions_of_the_same_tokens(self):
    array = np.ones((1, 5, 8), np.float32)
    self.assertIsNone(positions.fit(("cls_token",), array, (1, 10, 8)))
    self.assertIsNone(positions.fit(("pos_embed",), array, (1, 10, 9)))
    self.assertIsNone(positions.fit(("pos_embed",), array, (1, 11, 8)))
    got, note = positions.fit(("pos_embed",), array[0], (1, 10, 8))
    np.testing.assert_allclose(got, np.ones((1, 10, 8)), atol=1e-6)
    self.assertIn("2 x 2 patches were interpolated to 3 x 3", note)


def _entered(*steps, key=0):
  stack = layers.Stack(steps)
  train_mode.enter(stack, jax.random.key(key), frozen_norms=False)
  return stack


class TrainModeTest(absltest.TestCase):
  """What is drawn in training: how much, for whom, and what it depends on."""

  def test_evaluation_keeps_everything(self):
    x = jnp.ones((2, 3))
    stack = layers.Stack((layers.Dropout(0.5), layers.StochasticDepth(0.5)))
    self.assertIs(stack(x), x)

  def test_dropout_keeps_the_mean(self):
    y = np.asarray(_entered(layers.Dropout(0.2))(jnp.ones((100, 100))))
    self.assertEqual(set(np.unique(y)), {np.float32(0), np.float32(1 / 0.8)})
    # Five standard errors: sqrt(.2 * .8 / 10^4) = .004.
    self.assertAlmostEqual((y == 0).mean(), 0.2, delta=0.02)

  def test_stochastic_depth_drops_whole_examples(self):
    y = np.asarray(_entered(layers.StochasticDepth(0.5))(jnp.ones((400, 2, 3))))
    of_examples = y.reshape(400, -1)
    self.assertTrue((of_examples == of_examples[:, :1]).all())
    self.assertAlmostEqual((of_examples[:, 0] == 0).mean(), 0.5, delta=0.125)

  def test_draws_know_the_place_and_not_the_batch(self):
    for layer in (layers.Dropout, layers.StochasticDepth):
      stack = _entered(layer(0.5))
      whole = stack(jnp.ones((16, 5)))
      np.testing.assert_array_equal(stack(jnp.ones((7, 5))), whole[:7])

  def test_layers_and_keys_draw_apart(self):
    x = jnp.ones((16, 5))
    one = _entered(layers.Dropout(0.5), layers.identity)
    second = _entered(layers.identity, layers.Dropout(0.5))
    other = _entered(layers.Dropout(0.5), layers.identity, key=1)
    self.assertFalse(np.array_equal(one(x), second(x)))
    self.assertFalse(np.array_equal(one(x), other(x)))
    again = _entered(layers.Dropout(0.5), layers.identity)
    np.testing.assert_array_equal(one(x), again(x))

  def test_the_dtype_stays(self):
    x = jnp.ones((2, 3), jnp.bfloat16)
    self.assertEqual(_entered(layers.Dropout(0.5))(x).dtype, jnp.bfloat16)
