"""Logits to class ids: enlargement to the picture, and windows that slide over it.

Logits are resized before the largest is taken, as torchvision, mmsegmentation and
transformers do (docs/evidence/specs/segmentation.md, section 3).
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from models.layers import resampling
from robust_tfds import errors

# Pixels and their sizes -> logits `[B, h, w, classes]`, and their valid sizes.
Network = Callable[[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]
# Height and width: of an array's shape.
Side = tuple[int, ...]


def class_ids(
  logits: jax.typing.ArrayLike,
  size_hw: Side,
  *,
  sizes: jax.Array | None = None,
  valid: jax.Array | None = None,
  align_corners: bool = False,
) -> jax.Array:
  """Return the class of the largest logit of each pixel of pictures.

  Pictures are resized one after the other, so that the logits of one alone are
  held at `size_hw`.

  Args:
    logits: float `[B, h, w, classes]`.
    size_hw: (height, width) of the pictures, or of the canvas that they share.
    sizes: int32 `[B, 2]`, (height, width) of each picture in the canvas; None:
      they fill it.
    valid: int32 or float32 `[B, 2]`, the part of each grid of logits that its
      picture fills; None: all of it.
    align_corners: see `SegmenterSpec`.

  Returns:
    int32 `[B, *size_hw]`; beyond a picture the classes of its border.

  Raises:
    UserError: the logits have another number of axes.

  >>> class_ids(jax.numpy.array([[[[1.0, 0.0], [0.0, 1.0]]]]), (1, 4))
  Array([[[0, 0, 1, 1]]], dtype=int32)
  """
  extents = _extents(logits, size_hw, sizes, valid)

  def largest(arrays: tuple[jax.Array, ...]) -> jax.Array:
    resized = _resized(arrays, size_hw, align_corners)
    return jnp.argmax(resized, axis=-1).astype(jnp.int32)

  return jax.lax.map(largest, extents)


def enlarged(
  logits: jax.typing.ArrayLike,
  size_hw: Side,
  *,
  sizes: jax.Array | None = None,
  valid: jax.Array | None = None,
  align_corners: bool = False,
) -> jax.Array:
  """Return logits at the pixels of pictures: float32 `[B, *size_hw, classes]`.

  The arguments are those of `class_ids`, whose sums these are; all pictures are
  held at once.
  """
  extents = _extents(logits, size_hw, sizes, valid)
  return jax.vmap(lambda *a: _resized(a, size_hw, align_corners))(*extents)


def sliding(
  network: Network,
  pixels: jax.Array,
  sizes: jax.Array,
  window_px: int,
  stride_px: int,
) -> tuple[jax.Array, jax.Array]:
  """Return mean logits of windows that slide over pictures.

  The last window of a row or column is moved back into the picture. Logits of a
  window are resized to it, added, and divided by the number of windows over a
  pixel: mmsegmentation's `slide_inference`.

  Args:
    network: computes the logits of windows.
    pixels: float `[B, H, W, 3]`.
    sizes: int32 `[B, 2]`, valid (height, width).
    window_px: side of a window.
    stride_px: distance between windows.

  Returns:
    float32 `[B, H, W, classes]`, and `sizes`.
  """
  canvas = pixels.shape[1:3]
  window = (min(window_px, canvas[0]), min(window_px, canvas[1]))
  rows, columns = (
    -(-(side - part) // stride_px) + 1 for side, part in zip(canvas, window)
  )
  beyond = jnp.maximum(sizes - jnp.array(window), 0)
  counts = -(-beyond // stride_px) + 1
  shown = jnp.minimum(sizes, jnp.array(window))

  def add(
    total: tuple[jax.Array, jax.Array], place: jax.Array
  ) -> tuple[tuple[jax.Array, jax.Array], None]:
    at = jnp.stack([place // columns, place % columns])
    starts = jnp.minimum(at * stride_px, beyond)
    used = (at < counts).all(1).astype(jnp.float32)
    parts = jax.vmap(lambda x, s: _part(x, s, window))(pixels, starts)
    logits, valid = network(parts, shown)
    logits = jax.vmap(lambda *a: _resized(a, window, False))(
      logits, valid, shown
    )
    # A picture that is smaller than the canvas ends before its last windows do.
    return jax.vmap(_added)(total, logits, starts, used), None

  first = jax.eval_shape(network, pixels[:, : window[0], : window[1]], shown)[0]
  sums = jnp.zeros((*pixels.shape[:3], first.shape[-1]), jnp.float32)
  start = (sums, jnp.zeros((*pixels.shape[:3], 1), jnp.float32))
  (sums, over), _ = jax.lax.scan(add, start, jnp.arange(rows * columns))
  return sums / jnp.maximum(over, 1), sizes


def _extents(
  logits: jax.typing.ArrayLike,
  size_hw: Side,
  sizes: jax.Array | None,
  valid: jax.Array | None,
) -> tuple[jax.Array, jax.Array, jax.Array]:
  """Return float32 logits, their valid parts, and the sizes of pictures."""
  wide = jnp.asarray(logits, jnp.float32)
  if wide.ndim != 4:
    raise errors.UserError(
      f"Got logits of shape {wide.shape}, expected [B, h, w, classes]."
    )
  full = jnp.tile(jnp.array(size_hw), (len(wide), 1))
  grid = jnp.tile(jnp.array(wide.shape[1:3]), (len(wide), 1))
  return (
    wide,
    grid if valid is None else valid,
    full if sizes is None else sizes,
  )


def _part(x: jax.Array, start: jax.Array, window: Side) -> jax.Array:
  """Return a window of `[H, W, C]`."""
  return jax.lax.dynamic_slice(x, (*start, 0), (*window, x.shape[-1]))


def _added(
  total: tuple[jax.Array, jax.Array],
  logits: jax.Array,
  start: jax.Array,
  used: jax.Array,
) -> tuple[jax.Array, jax.Array]:
  """Add a window's logits, and 1 to the counts of its pixels."""
  window = logits.shape[:2]
  ones = jnp.ones((*window, 1), jnp.float32)
  sums, counts = (
    jax.lax.dynamic_update_slice(
      whole, _part(whole, start, window) + used * part, (*start, 0)
    )
    for whole, part in zip(total, (logits, ones))
  )
  return sums, counts


def _resized(
  arrays: tuple[jax.Array, ...], canvas: Side, align_corners: bool
) -> jax.Array:
  """Resize the valid part of `[h, w, C]` to a picture on a canvas.

  Args:
    arrays: logits, their valid part, and the size of the picture.
    canvas: (height, width) of the result.
    align_corners: see `SegmenterSpec`.
  """
  logits, valid, size = arrays
  given, wanted = valid.astype(jnp.float32), size.astype(jnp.float32)
  factor = given / wanted
  if align_corners:
    factor = (given - 1) / jnp.maximum(wanted - 1, 1)
  limit = jnp.ceil(given).astype(jnp.int32)
  return resampling.bilinear(
    logits, factor, limit, canvas, align_corners=align_corners
  )
