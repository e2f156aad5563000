"""Convolutions over one, two or three axes: `[B, C, ...]`, kernels `[O, I, ...]`."""

import math

import jax
import jax.numpy as jnp

from models.adapters.onnx_graph.operators.node import (
  Array,
  Node,
  Operator,
)
from models.adapters.onnx_graph.operators.windows import (
  Pads,
  Windows,
)


def _conv(
  node: Node, x: Array, kernel: Array, bias: Array | None = None
) -> jax.Array:
  windows = Windows.from_node(node, x.shape[2:], kernel.shape[2:])
  y = jax.lax.conv_general_dilated(
    x,
    kernel,
    windows.strides,
    windows.padding,
    rhs_dilation=windows.dilations,
    feature_group_count=node.attributes.get("group", 1),
  )
  return _biased(y, bias)


def _conv_transpose(
  node: Node, x: Array, kernel: Array, bias: Array | None = None
) -> jax.Array:
  """Compute the gradient of a convolution: strides spread the picture."""
  axes = x.ndim - 2
  strides = node.attributes.get("strides", (1,) * axes)
  dilations = node.attributes.get("dilations", (1,) * axes)
  group = node.attributes.get("group", 1)
  reach = [d * (k - 1) + 1 for d, k in zip(dilations, kernel.shape[2:])]
  pads = _transposed_pads(node, x.shape[2:], strides, reach)
  y = jax.lax.conv_general_dilated(
    x,
    _turned(kernel, group),
    (1,) * axes,
    pads,
    lhs_dilation=strides,
    rhs_dilation=dilations,
    feature_group_count=group,
  )
  return _biased(y, bias)


def _turned(kernel: Array, group: int) -> jax.Array:
  """Map `[I, O / group, ...]` to `[O, I / group, ...]`, mirrored in space."""
  inputs, outputs, *sides = kernel.shape
  parts = jnp.reshape(kernel, (group, inputs // group, outputs, *sides))
  whole = parts.swapaxes(1, 2).reshape(group * outputs, inputs // group, *sides)
  return jnp.flip(whole, tuple(range(2, whole.ndim)))


def _transposed_pads(
  node: Node, sides: tuple[int, ...], strides: tuple[int, ...], reach: list[int]
) -> Pads:
  """Return (before, after) of the spread picture, for a plain convolution."""
  axes = len(sides)
  extra = node.attributes.get("output_padding", (0,) * axes)
  pads = node.attributes.get("pads", (0,) * 2 * axes)
  auto = node.attributes.get("auto_pad", "NOTSET")
  shape = node.attributes.get("output_shape")
  if shape is None and auto in ("SAME_UPPER", "SAME_LOWER"):
    shape = [n * s for n, s in zip(sides, strides)]
  if shape is not None:
    whole = [
      (n - 1) * s + r + e for n, s, r, e in zip(sides, strides, reach, extra)
    ]
    total = [w - n for w, n in zip(whole, shape[-axes:])]
    upper = auto == "SAME_UPPER"
    less = [math.floor(t / 2) for t in total]
    more = [t - n for t, n in zip(total, less)]
    pads = [*less, *more] if upper else [*more, *less]
  return tuple(
    (r - 1 - pads[i], r - 1 - pads[i + axes] + extra[i])
    for i, r in enumerate(reach)
  )


def _biased(y: jax.Array, bias: Array | None) -> jax.Array:
  if bias is None:
    return y
  return y + bias.reshape(-1, *(1,) * (y.ndim - 2))


OPERATORS = {
  "Conv": Operator(_conv, product=True),
  "ConvTranspose": Operator(_conv_transpose, product=True),
}
