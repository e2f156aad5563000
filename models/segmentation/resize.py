"""Resizing of canvases to a segmenter's input, in fixed shapes.

The network's canvas holds every picture of the input's canvas; beyond a picture it
is zero after normalisation, as torch pads.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from models.layers import resampling, valid
from models.segmentation.spec import SegmenterSpec


def to_network(
  batch: jax.Array, sizes: jax.Array, spec: SegmenterSpec
) -> tuple[jax.Array, jax.Array]:
  """Return normalised pixels, and their valid sizes.

  Args:
    batch: uint8 `[B, H, W, 3]`.
    sizes: int32 `[B, 2]`, (height, width) of each picture.
    spec: spec of the segmenter.

  Returns:
    float32 `[B, H', W', 3]`, and int32 `[B, 2]`.
  """
  seen_px = network_sizes(sizes, spec)
  pixels = batch.astype(jnp.float32)
  if spec.usual_px:
    canvas = network_canvas(batch.shape[1], batch.shape[2], spec)
    factor = sizes.astype(jnp.float32) / seen_px.astype(jnp.float32)
    pixels = jax.vmap(lambda x, f, s: resampling.antialiased(x, f, s, canvas))(
      pixels, factor, sizes
    )
  return valid.inside(spec.normalize(pixels), seen_px), seen_px


def network_sizes(sizes: jax.Array, spec: SegmenterSpec) -> jax.Array:
  """Return (height, width) after the resize rule: int32 `[B, 2]`."""
  if spec.height_px:
    squashed = jnp.array([spec.height_px, spec.width_px], jnp.int32)
    return jnp.broadcast_to(squashed, sizes.shape)
  if not spec.short_px:
    return sizes.astype(jnp.int32)
  exact = resampling.short_side(sizes, spec.short_px, spec.long_px)
  return jnp.maximum(jnp.floor(exact).astype(jnp.int32), 1)


def network_canvas(
  height: int, width: int, spec: SegmenterSpec
) -> tuple[int, int]:
  """Return the network's canvas for pictures on a canvas of this shape."""
  if spec.height_px:
    return spec.height_px, spec.width_px
  if not spec.short_px:
    return height, width
  return resampling.short_side_canvas(
    height, width, spec.short_px, spec.long_px
  )
