"""Grouped convolutions, each computed in the form that is fastest on its device.

XLA's are slow on CPUs where a group has few channels. There the convolution is
a sum of products: of the padded input, shifted by each place of the kernel, and
that place's weights. Batch 4, one core, float32, beside torch 2.13
(`benchmarks/models.py`):

  7 x 7 depthwise, 96 channels, 56 px     XLA 61 ms   products 3.2   torch 1.4
  3 x 3, 32 groups of 4, 56 px                53               4.8         3.9
  3 x 3, 32 groups of 8, 28 px                11               4.6         1.3

Accelerators get `jax.lax.conv_general_dilated`. `jax.lax.platform_dependent`
chooses when a program is lowered, by the devices that it is compiled for: those
of a mesh, of arguments off the default device, or of ahead-of-time compilation.
Only the chosen form is compiled.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

# Up to this many inputs a group, products are faster. With 16, XLA's loop over
# 144 products is 30 times slower than its convolution.
MOST_INPUTS = 8
# Up to this many products of places and inputs the sum runs over whole
# pictures: 3 x 3 and 5 x 5 depthwise take 0.5 to 0.7 of the time by rows.
MOST_TERMS = 25


def convolve(
  x: jax.Array,
  kernel: jax.Array,
  strides: Sequence[int],
  padding: Sequence[tuple[int, int]],
  *,
  feature_group_count: int,
  rhs_dilation: Sequence[int] = (1, 1),
  **options: Any,
) -> jax.Array:
  """Convolve in groups; the arguments are those of JAX's convolution.

  Args:
    x: `[B, H, W, inputs]`.
    kernel: `[h, w, inputs / groups, outputs]`.
    strides: along H, W.
    padding: zeros (before, after) along H, W.
    feature_group_count: number of groups.
    rhs_dilation: distance of the kernel's places along H, W.
    **options: for `jax.lax.conv_general_dilated`; without `lhs_dilation`.

  Returns:
    `[B, H', W', outputs]` in the dtype of `x`.
  """
  return jax.lax.platform_dependent(
    x,
    kernel,
    cpu=functools.partial(
      products,
      strides=strides,
      padding=padding,
      groups=feature_group_count,
      dilation=rhs_dilation,
    ),
    default=functools.partial(
      jax.lax.conv_general_dilated,
      window_strides=strides,
      padding=padding,
      feature_group_count=feature_group_count,
      rhs_dilation=rhs_dilation,
      **options,
    ),
  )


def products(
  x: jax.Array,
  kernel: jax.Array,
  *,
  strides: Sequence[int],
  padding: Sequence[tuple[int, int]],
  groups: int,
  dilation: Sequence[int] = (1, 1),
) -> jax.Array:
  """Compute `convolve` as a sum of products, in float32 before rounding.

  With more than `MOST_TERMS` terms, rows are computed one after the other. XLA
  would split a single sum over whole pictures, fuse it with what follows and
  compute parts of it several times: ConvNeXt's 7 x 7 before a layer norm took
  27 ms that way, and 4 ms by rows. The order of the terms is the same.

  Args:
    x: `[B, H, W, inputs]`.
    kernel: `[h, w, inputs / groups, outputs]`.
    strides: along H, W.
    padding: zeros (before, after) along H, W.
    groups: number of groups.
    dilation: distance of the kernel's places along H, W.

  Returns:
    `[B, H', W', outputs]` in the dtype of `x`.
  """
  high, wide = ((k - 1) * d + 1 for k, d in zip(kernel.shape[:2], dilation))
  down, right = strides
  exact = jnp.promote_types(x.dtype, jnp.float32)
  padded = jnp.pad(x, [(0, 0), *padding, (0, 0)]).astype(exact)
  padded = _groups_last(padded, groups)
  weights = _groups_last(kernel.astype(exact), groups)
  rows = (padded.shape[1] - high) // down + 1
  columns = (padded.shape[2] - wide) // right + 1

  def total_of(band: jax.Array, rows: int) -> jax.Array:
    terms = []
    for i, k, n in itertools.product(*map(range, kernel.shape[:3])):
      top, left = i * dilation[0], k * dilation[1]
      below, end = top + (rows - 1) * down + 1, left + (columns - 1) * right + 1
      part = band[:, top:below:down, left:end:right, n]
      terms.append(part[:, :, :, None] * weights[i, k, n])
    return functools.reduce(jnp.add, terms)

  def row(index: jax.Array) -> jax.Array:
    band = jax.lax.dynamic_slice_in_dim(padded, index * down, high, axis=1)
    return total_of(band, 1)[:, 0]

  if math.prod(kernel.shape[:3]) <= MOST_TERMS:
    total = total_of(padded, rows)
  else:
    total = jax.lax.map(row, jnp.arange(rows)).swapaxes(0, 1)
  # [B, H', W', groups, outputs of a group]
  total = total.swapaxes(-1, -2)
  return total.reshape(*total.shape[:3], -1).astype(x.dtype)


def _groups_last(x: jax.Array, groups: int) -> jax.Array:
  """Reshape `[..., groups * n]` to `[..., n, groups]`, with the groups on the
  last axis.
  """
  return x.reshape(*x.shape[:-1], groups, -1).swapaxes(-1, -2)
