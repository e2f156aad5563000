"""Convolutions of torch's `[B, C, ...]` arrays, transposed ones too."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax


def convolution(
  x: jax.Array,
  weight: jax.Array,
  bias: jax.Array | None,
  stride: Sequence[int],
  padding: Sequence[int],
  dilation: Sequence[int],
  transposed: bool,
  output_padding: Sequence[int],
  groups: int,
) -> jax.Array:
  """aten.convolution over one, two or three axes.

  Args:
    x: `[B, C, ...]`, or `[C, ...]` of one example.
    weight: `[O, C / groups, ...]`; of a transposed one `[C, O / groups, ...]`.
    bias: `[O]`.
    stride: per axis, or one for all; so are padding, dilation, output_padding.
    padding: zeros on both sides; of a transposed one what is cut off.
    dilation: see `stride`.
    transposed: whether it is the gradient of a convolution.
    output_padding: rows that a transposed one adds at the end.
    groups: of channels.
  """
  axes = weight.ndim - 2
  alone = x.ndim == axes + 1
  x = x[None] if alone else x
  steps, pads, gaps, extra = (
    each_axis(v, axes) for v in (stride, padding, dilation, output_padding)
  )
  if transposed:
    reach = [g * (k - 1) for g, k in zip(gaps, weight.shape[2:], strict=True)]
    out = lax.conv_general_dilated(
      x,
      _turned(weight, groups),
      (1,) * axes,
      [(r - p, r - p + e) for r, p, e in zip(reach, pads, extra, strict=True)],
      lhs_dilation=steps,
      rhs_dilation=gaps,
      dimension_numbers=_layout(axes),
      feature_group_count=groups,
    )
  else:
    out = lax.conv_general_dilated(
      x,
      weight,
      steps,
      [(p, p) for p in pads],
      rhs_dilation=gaps,
      dimension_numbers=_layout(axes),
      feature_group_count=groups,
    )
  if bias is not None:
    out = out + bias.reshape(-1, *(1,) * axes)
  return out[0] if alone else out


def each_axis(value: int | Sequence[int], axes: int) -> tuple[int, ...]:
  """A value per axis: torch writes one for all of them."""
  listed = (value,) if isinstance(value, int) else tuple(value)
  return listed * axes if len(listed) == 1 else listed


def _turned(weight: jax.Array, groups: int) -> jax.Array:
  """The kernel `[C, O / groups, ...]` of a transposed one as `[O, C / groups]`."""
  inputs, outputs, *window = weight.shape
  split = weight.reshape(groups, inputs // groups, outputs, *window)
  swapped = jnp.swapaxes(split, 1, 2)
  kernel = swapped.reshape(groups * outputs, inputs // groups, *window)
  return jnp.flip(kernel, tuple(range(2, weight.ndim)))


def _layout(axes: int) -> tuple[str, str, str]:
  letters = "DHW"[3 - axes :]
  return f"NC{letters}", f"OI{letters}", f"NC{letters}"


TABLE = {"aten.convolution.default": convolution}
