"""Sums of products against XLA's convolutions in groups."""

import functools
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized
from flax import nnx

from models import layers
from models.layers import grouped


def _drawn(*shape, seed=0):
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
  @parameterized.parameters(
    ((3, 3), (1, 1), [(1, 1), (1, 1)], (6, 6, 6)),
    ((5, 5), (2, 2), [(2, 2), (2, 2)], (6, 6, 12)),
    ((7, 7), (2, 1), [(0, 1), (1, 3)], (3, 6, 9)),
  )
  def test_as_xla(self, kernel, strides, padding, channels):
    groups, inputs, outputs = channels
    x = _drawn(2, 9, 11, inputs)
    weights = _drawn(*kernel, inputs // groups, outputs, seed=1)
    want = _xla(x, weights, strides, padding, groups)
    form = {"strides": strides, "padding": padding, "groups": groups}
    got = jax.jit(functools.partial(grouped.products, **form))(x, weights)
    scale = np.abs(want).max()
    np.testing.assert_allclose(got / scale, want / scale, atol=1e-6)

  def test_by_rows_and_whole_the_same_bytes(self):
    x, weights = _drawn(2, 9, 11, 6), _drawn(5, 5, 1, 6, seed=1)
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
    x, weights = _drawn(1, 8, 8, 4), _drawn(7, 7, 1, 4, seed=1)
    x, weights = x.astype(jnp.bfloat16), weights.astype(jnp.bfloat16)
    form = {"strides": (1, 1), "padding": [(3, 3)] * 2, "groups": 4}
    got = grouped.products(x, weights, **form)
    self.assertEqual(got.dtype, jnp.bfloat16)
    want = grouped.products(
      x.astype(np.float32), weights.astype(np.float32), **form
    )
    np.testing.assert_array_equal(got, want.astype(jnp.bfloat16))


class ConvTest(parameterized.TestCase):
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
    x = _drawn(jax.device_count() * 2, 9, 9, 4)

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
