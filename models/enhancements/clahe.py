"""Contrast-limited adaptive histogram equalisation (Zuiderveld 1994).

OpenCV's algorithm (modules/imgproc/src/clahe.cpp), to the level, on the device:
8 x 8 tiles, histograms clipped at `CLIP` times the flat one, a look-up table
per tile, tables interpolated between tile centres. It acts on the luma; the
same change is added to R, G and B, which keeps the chroma.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from models.enhancements import Apply, Enhancement
from models.spec import ModelSpec

TILES = 8  # OpenCV's default grid
CLIP = 2.0  # OpenCV's documentation and samples; its bare default is 40
_LEVELS = 256
# ITU-R BT.601, as JPEG's luma.
_LUMA = (0.299, 0.587, 0.114)


def enhance(apply: Apply, spec: ModelSpec) -> Apply:
  """Return an `apply` that equalises pictures, or frames of clips, first."""
  del spec

  def equalized(variables: Any, batch: jax.Array) -> jax.Array:
    return apply(variables, equalize(batch))

  return equalized


def equalize(batch: jax.Array) -> jax.Array:
  """Equalise uint8 RGB `[..., H, W, 3]`; shape and dtype stay."""
  pictures = batch.reshape(-1, *batch.shape[-3:])
  wide = pictures.astype(jnp.float32)
  luma = jnp.round(wide @ jnp.asarray(_LUMA, jnp.float32)).astype(jnp.int32)
  change = jax.vmap(equalize_plane)(luma) - luma
  changed = pictures.astype(jnp.int32) + change[..., None]
  return jnp.clip(changed, 0, 255).astype(jnp.uint8).reshape(batch.shape)


def equalize_plane(plane: jax.Array) -> jax.Array:
  """Equalise an int32 plane `[H, W]` in 0..255; shape, dtype and range stay."""
  height, width = plane.shape
  pads = [(0, -side % TILES) for side in (height, width)]
  # OpenCV pads both sides fully if either does not divide.
  if any(after for _, after in pads):
    pads = [(0, TILES - side % TILES) for side in (height, width)]
  padded = jnp.pad(plane, pads, mode="reflect")
  high, wide = padded.shape[0] // TILES, padded.shape[1] // TILES
  tiles = padded.reshape(TILES, high, TILES, wide).transpose(0, 2, 1, 3)
  tables = jax.vmap(jax.vmap(_table))(tiles.reshape(TILES, TILES, -1))
  top, bottom, down = _neighbours(height, high)
  left, right, across = _neighbours(width, wide)

  def look_up(rows: jax.Array, columns: jax.Array) -> jax.Array:
    return tables[rows[:, None], columns[None, :], plane]

  upper = look_up(top, left) * (1 - across) + look_up(top, right) * across
  lower = look_up(bottom, left) * (1 - across) + look_up(bottom, right) * across
  mixed = upper * (1 - down[:, None]) + lower * down[:, None]
  return jnp.clip(jnp.round(mixed), 0, 255).astype(jnp.int32)


def _table(tile: jax.Array) -> jax.Array:
  """Compute the look-up table of a tile: int32 `[pixels]` to the new level of
  each level, float32 `[256]`.
  """
  pixels = tile.shape[0]
  limit = max(int(CLIP * pixels / _LEVELS), 1)
  count = jnp.zeros(_LEVELS, jnp.int32).at[tile].add(1)
  excess = jnp.maximum(count - limit, 0).sum()
  count = jnp.minimum(count, limit) + excess // _LEVELS
  rest = excess % _LEVELS
  # The rest goes to every step-th level, one each, until it is used up.
  step = jnp.maximum(_LEVELS // jnp.maximum(rest, 1), 1)
  level = jnp.arange(_LEVELS)
  count += (level % step == 0) & (level // step < rest)
  scale = jnp.float32(_LEVELS - 1) / jnp.float32(pixels)
  return jnp.clip(jnp.round(jnp.cumsum(count) * scale), 0, 255)


def _neighbours(side: int, tile: int) -> tuple[jax.Array, jax.Array, jax.Array]:
  """Return the tiles before and after each pixel, and the weight of the second."""
  # By the reciprocal, as OpenCV does: ties of the last rounding depend on it.
  middles = np.arange(side, dtype=np.float32) * np.float32(1 / tile)
  place = jnp.asarray(middles - np.float32(0.5))
  before = jnp.floor(place).astype(jnp.int32)
  share = place - before
  last = TILES - 1
  return jnp.clip(before, 0, last), jnp.clip(before + 1, 0, last), share


ENHANCEMENT = Enhancement(
  enhance,
  kinds=("classification", "video"),
  unsuited="it would take the padding of a detector's canvas for pixels",
)
