"""Bilinear resizing in fixed shapes, by factors and limits that are data.

A picture lies in the top-left corner of its array, and beyond its limit nothing is
read: one program serves all sizes.
"""

import jax
import jax.numpy as jnp


def bilinear(
  x: jax.Array,
  factor: jax.Array,
  limit: jax.Array,
  out: tuple[int, ...],
  *,
  align_corners: bool = False,
) -> jax.Array:
  """Resize by two taps a side, as torch's `interpolate` without antialiasing.

  Args:
    x: `[H, W, C]`.
    factor: float32 `[2]`, px of `x` for one of the result, down and across.
    limit: int32 `[2]`, (height, width) of the picture in `x`; its border is
      repeated.
    out: (height, width) of the result.
    align_corners: whether the corners' centres stay in place rather than the
      corners; `factor` is then that of the sides less one px.

  Returns:
    `[*out, C]`.
  """

  def axis(side: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    half = 0.0 if align_corners else 0.5
    at = (jnp.arange(out[side]) + half) * factor[side] - half
    at = jnp.clip(at, 0, limit[side] - 1)
    low = jnp.floor(at).astype(jnp.int32)
    return low, jnp.minimum(low + 1, limit[side] - 1), at - low

  top, bottom, down = axis(0)
  left, right, across = axis(1)
  down = down[:, None, None]
  rows = x[top] * (1 - down) + x[bottom] * down
  across = across[None, :, None]
  return rows[:, left] * (1 - across) + rows[:, right] * across


def antialiased(
  x: jax.Array, factor: jax.Array, limit: jax.Array, out: tuple[int, ...]
) -> jax.Array:
  """Resize by triangles that cover what a px of the result covers, as Pillow.

  Levels stay floats, where Pillow rounds after each pass. The arguments are those
  of `bilinear`.
  """

  def weights(side: int) -> jax.Array:
    centre = (jnp.arange(out[side])[:, None] + 0.5) * factor[side] - 0.5
    place = jnp.arange(x.shape[side])[None]
    stretch = jnp.maximum(factor[side], 1)
    near = jnp.maximum(1 - jnp.abs(place - centre) / stretch, 0)
    near = jnp.where(place < limit[side], near, 0)
    return near / jnp.maximum(near.sum(1, keepdims=True), 1e-6)

  return jnp.einsum(
    "oh,hwc,pw->opc", weights(0), x, weights(1), precision="highest"
  )
