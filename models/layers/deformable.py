"""Deformable convolutions (arXiv:1703.06211, 1811.11168), by gathers and products.

  y(p) = sum over k of w_k m_k x(p + p_k + d_k)

Each place p of the output reads the input where its own offsets d_k move the
kernel's places p_k, between pixels bilinearly, beyond the border zeros. The
first version has no m_k; the second's are in 0..1. The results are those of
torchvision's `deform_conv2d` and mmdetection's, with one group of offsets. A
scan over the kernel's places holds the samples of a single place at a time.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from models import layers


class Conv(nnx.Module):
  """A convolution without bias whose offsets are predicted by a second convolution.

  Its names are mmdetection's: `weight` and `conv_offset`, whose outputs are y0,
  x0, y1, x1, ... of the kernel's places, row by row, then the logits of their
  m_k.
  """

  def __init__(self, plain: nnx.Conv, *, modulated: bool, rngs: nnx.Rngs):
    """Create the layer that replaces `plain`, with its channels, groups, stride
    and padding.

    Args:
      plain: a convolution of two dimensions without dilation.
      modulated: whether to build the second version, with m_k.
      rngs: for the initial weights; offsets start at 0, m_k at a half.
    """
    self.kernel = plain.kernel
    high, wide, inputs, _ = plain.kernel_shape
    self.strides: tuple[int, int] = _pair(plain.strides)
    self.padding: tuple[int, int] = _pair(np.array(plain.padding)[:, 0])
    self.groups = plain.feature_group_count
    self.conv_offset = layers.conv(
      inputs * self.groups,
      high * wide * (3 if modulated else 2),
      (high, wide),
      self.strides,
      self.padding,
      rngs=rngs,
    )
    start = self.conv_offset.kernel
    start[...] = jnp.zeros(start.shape)
    self.modulated = modulated

  def __call__(self, x: jax.Array) -> jax.Array:
    """Map `[B, H, W, inputs]` to `[B, H', W', outputs]`."""
    moves, taps = self.conv_offset(x), np.prod(self.kernel.shape[:2])
    chances = None
    if self.modulated:
      chances = jax.nn.sigmoid(moves[..., 2 * taps :])
    return convolve(
      x,
      self.kernel[...],
      moves[..., : 2 * taps],
      chances,
      strides=self.strides,
      padding=self.padding,
      groups=self.groups,
    )


def convolve(
  x: jax.Array,
  kernel: jax.Array,
  offsets: jax.Array,
  chances: jax.Array | None = None,
  *,
  strides: Sequence[int],
  padding: Sequence[int],
  groups: int = 1,
) -> jax.Array:
  """Compute the sum at the top of this file, in float32 before rounding.

  Args:
    x: `[B, H, W, inputs]`.
    kernel: `[h, w, inputs / groups, outputs]`.
    offsets: `[B, H', W', 2 h w]` in px: y0, x0, y1, x1, ...
    chances: `[B, H', W', h w]`, the m_k; None: all 1.
    strides: along H, W.
    padding: zeros before and after along H, W.
    groups: number of channel groups.

  Returns:
    `[B, H', W', outputs]` in the dtype of `x`.
  """
  (batch, height, width, inputs), outputs = x.shape, kernel.shape[-1]
  rows, columns = offsets.shape[1:3]
  taps = kernel.shape[0] * kernel.shape[1]
  flat = x.reshape(batch, height * width, inputs)
  weights = kernel.reshape(taps, inputs // groups, groups, outputs // groups)
  places = np.mgrid[:rows, :columns].reshape(2, -1).T * strides - padding
  shifts = np.array(list(itertools.product(*map(range, kernel.shape[:2]))))
  moves = offsets.astype(jnp.float32).reshape(batch, -1, taps, 2)
  at = moves + places[:, None] + shifts  # [B, H' W', taps, 2]
  if chances is None:
    chances = jnp.ones((), x.dtype)
  shares = jnp.broadcast_to(
    chances.reshape(batch, -1, taps) if chances.ndim else chances, at.shape[:-1]
  )

  def add_tap(tap: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
    weight, place, share = tap
    seen = sample(flat, place, (height, width)) * share[..., None]
    seen = seen.reshape(*seen.shape[:2], groups, -1)
    part = jnp.einsum("bpgi,igo->bpgo", seen, weight.astype(seen.dtype))
    return part.astype(jnp.float32)

  every = weights, jnp.moveaxis(at, 2, 0), jnp.moveaxis(shares, 2, 0)
  # The first place starts the sum: zeros would belong to no device of a mesh.
  total, _ = jax.lax.scan(
    lambda total, tap: (total + add_tap(tap), None),
    add_tap(jax.tree.map(lambda x: x[0], every)),
    jax.tree.map(lambda x: x[1:], every),
  )
  return total.reshape(batch, rows, columns, outputs).astype(x.dtype)


def sample(
  flat: jax.Array, positions: jax.Array, size: tuple[int, int]
) -> jax.Array:
  """Interpolate between pixels bilinearly; pixels beyond the border are zeros.

  Args:
    flat: `[B, H W, C]`.
    positions: float32 `[B, N, 2]`, (y, x) in px.
    size: H, W.

  Returns:
    `[B, N, C]` in the dtype of `flat`.
  """
  limit = jnp.array(size, jnp.float32)
  low = jnp.floor(
    jnp.clip(positions, -2, limit + 1)
  )  # further out are zeros as well
  part = jnp.clip(positions, -2, limit + 1) - low
  total = jnp.zeros((), flat.dtype)
  for corner in itertools.product((0, 1), repeat=2):
    place = low + jnp.array(corner, jnp.float32)
    inside = ((place >= 0) & (place < limit)).all(-1)
    share = jnp.prod(jnp.where(jnp.array(corner), part, 1 - part), axis=-1)
    row, column = jnp.moveaxis(jnp.clip(place, 0, limit - 1), -1, 0)
    index = row.astype(jnp.int32) * size[1] + column.astype(jnp.int32)
    pixel = jnp.take_along_axis(flat, index[..., None], axis=1)
    total += pixel * (share * inside)[..., None].astype(flat.dtype)
  return total


def _pair(value: Any) -> tuple[int, int]:
  high, wide = np.broadcast_to(value, 2).tolist()
  return high, wide
