"""Pooling and normalisation against definitions written out in numpy."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized
from flax import nnx

from models import layers


def _pool(x, window, stride, padding, ceil, reduce):
  """Windows as torch places them, one by one."""
  out = []
  for side in x.shape:
    room = side + 2 * padding - window
    n = (-(-room // stride) if ceil else room // stride) + 1
    if ceil and (n - 1) * stride >= side + padding:
      n -= 1
    out.append(n)
  result = np.zeros(out)
  for i in range(out[0]):
    for j in range(out[1]):
      top, left = i * stride - padding, j * stride - padding
      inside = x[
        max(top, 0) : max(top + window, 0), max(left, 0) : left + window
      ]
      bottom = min(top + window, x.shape[0] + padding)
      right = min(left + window, x.shape[1] + padding)
      result[i, j] = reduce(inside, (bottom - top) * (right - left))
  return result


_CASES = tuple(
  (side, window, stride, padding, ceil)
  for side in (7, 8, 13)
  for window, stride, padding in ((3, 2, 0), (3, 2, 1), (2, 2, 0), (3, 1, 1))
  for ceil in (False, True)
)


class LayersTest(parameterized.TestCase):
  @parameterized.parameters(*_CASES)
  def test_pooling(self, side, window, stride, padding, ceil):
    x = np.random.default_rng(side).standard_normal((side, side + 1)) - 2
    batch = jnp.asarray(x[None, :, :, None], jnp.float32)
    arguments = (window, stride, padding)
    with self.subTest("max"):
      want = _pool(x, *arguments, ceil, lambda w, _: w.max())
      got = layers.max_pool(batch, *arguments, ceil=ceil)
      np.testing.assert_allclose(got[0, :, :, 0], want, rtol=1e-6)
    with self.subTest("average, padding counted"):
      want = _pool(x, *arguments, ceil, lambda w, n: w.sum() / n)
      got = layers.avg_pool(batch, *arguments, ceil=ceil)
      np.testing.assert_allclose(got[0, :, :, 0], want, rtol=1e-5)
    with self.subTest("average, padding left out"):
      want = _pool(x, *arguments, ceil, lambda w, _: w.mean())
      got = layers.avg_pool(batch, *arguments, ceil=ceil, count_padding=False)
      np.testing.assert_allclose(got[0, :, :, 0], want, rtol=1e-5)

  def test_gradients_in_programs(self):
    x = jnp.asarray([[0.0, 1.0, 3.0, 2.0]]).reshape(1, 2, 2, 1)
    for layer, want in (
      (lambda x: layers.max_pool(x, 2, 2), [0, 0, 1, 0]),
      (lambda x: layers.avg_pool(x, 2, 2), [0.25] * 4),
      (layers.relu, [0, 1, 1, 1]),  # torch's at 0
    ):
      got = jax.jit(jax.grad(lambda x, layer=layer: layer(x).sum()))(x)
      np.testing.assert_array_equal(got.ravel(), want)

  def test_lengths(self):
    x = jnp.asarray([[3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_array_equal(layers.length(x, 1), [[5], [0]])
    got = jax.grad(lambda x: layers.length(x, 1).sum())(x)
    np.testing.assert_allclose(got, [[0.6, 0.8], [0, 0]], rtol=1e-6)

  @parameterized.parameters(6, 7, 13, 3)
  def test_adaptive_average(self, side):
    x = np.random.default_rng(0).standard_normal((1, side, side, 2))
    got = layers.adaptive_avg_pool(jnp.asarray(x, jnp.float32), 6)
    for i in range(6):
      for j in range(6):
        rows = slice(i * side // 6, -(-(i + 1) * side // 6))
        columns = slice(j * side // 6, -(-(j + 1) * side // 6))
        want = x[0, rows, columns].mean((0, 1))
        np.testing.assert_allclose(got[0, i, j], want, atol=1e-6)

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

  def test_batch_norm(self):
    norm = layers.BatchNorm(3, 1e-3, rngs=nnx.Rngs(0))
    rng = np.random.default_rng(0)
    mean, var, scale, bias = rng.uniform(0.5, 2, (4, 3)).astype(np.float32)
    norm.mean[...], norm.var[...] = jnp.asarray(mean), jnp.asarray(var)
    norm.scale[...], norm.bias[...] = jnp.asarray(scale), jnp.asarray(bias)
    x = rng.standard_normal((2, 4, 4, 3), np.float32)
    want = (x - mean) / np.sqrt(var + 1e-3) * scale + bias
    np.testing.assert_allclose(norm(jnp.asarray(x)), want, atol=1e-5)

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

  def test_layer_norm(self):
    norm = layers.LayerNorm(8, 1e-6, rngs=nnx.Rngs(0))
    x = np.random.default_rng(0).standard_normal((3, 8), np.float32) + 100
    want = (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)
    np.testing.assert_allclose(norm(jnp.asarray(x)), want, atol=1e-3)

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

  def test_flatten_is_channel_major(self):
    x = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    want = np.moveaxis(x, -1, 1).reshape(2, -1)
    np.testing.assert_array_equal(layers.flatten_as_torch(jnp.asarray(x)), want)

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
