"""Resizing of canvases to a detector's input, in fixed shapes.

A picture's shorter side becomes `short_px` unless the longer one would exceed
`long_px`; sides are floored (or rounded, as in OpenCV), pixels interpolated
bilinearly without antialiasing between the pictures' own borders: torchvision's
`GeneralizedRCNNTransform`. The network's canvas is a multiple of 32 that holds
every picture of the input's canvas; beyond a picture it is zero after
normalisation.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from models.detection.spec import DetectorSpec
from models.layers import resampling, valid

_MULTIPLE = 32


def to_network(
  batch: jax.Array, sizes: jax.Array, spec: DetectorSpec
) -> tuple[jax.Array, jax.Array, jax.Array]:
  """Return normalised pixels, their valid sizes, and the factors back.

  Args:
    batch: uint8 `[B, H, W, 3]`.
    sizes: int32 `[B, 2]`.
    spec: spec of the detector.

  Returns:
    float32 `[B, H', W', 3]`, int32 `[B, 2]`, and factors float32 `[B, 4]` from
    the network's pixels to the input's, for x1, y1, x2, y2.
  """
  height, width = batch.shape[1:3]
  canvas = network_canvas(height, width, spec)
  resized_px = network_sizes(sizes, spec)
  factor = sizes.astype(jnp.float32) / resized_px.astype(jnp.float32)
  pixels = spec.normalize(batch)
  if spec.short_px:
    pixels = jax.vmap(lambda p, f, s: resampling.bilinear(p, f, s, canvas))(
      pixels, factor, sizes
    )
  else:
    margin = [(0, c - n) for c, n in zip(canvas, (height, width))]
    pixels = jnp.pad(pixels, ((0, 0), *margin, (0, 0)))
  pixels = valid.inside(pixels, resized_px)
  return pixels, resized_px, jnp.concatenate([factor[:, ::-1]] * 2, axis=1)


def network_sizes(sizes: jax.Array, spec: DetectorSpec) -> jax.Array:
  """Return (height, width) after the resize rule: int32 `[B, 2]`."""
  if not spec.short_px:
    return sizes.astype(jnp.int32)
  exact = resampling.short_side(sizes, spec.short_px, spec.long_px)
  more = 0.5 if spec.round_sides else 0.0
  return jnp.floor(exact + more).astype(jnp.int32)


def network_canvas(
  height: int, width: int, spec: DetectorSpec
) -> tuple[int, int]:
  """Return the network's canvas for pictures on a canvas of this shape."""
  sides = (height, width)
  if spec.short_px:
    sides = resampling.short_side_canvas(
      height, width, spec.short_px, spec.long_px
    )
  high, wide = (-(-n // _MULTIPLE) * _MULTIPLE for n in sides)
  return high, wide
