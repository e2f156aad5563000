"""`corrupt` and `corrupt_batch`: the frame around the corruption plugins.

Every file of `image/` holds one corruption as

  INFO: spec.Info
  SEVERITIES: edition name -> five rows (one tuple of numbers a severity)
  tables(edition) -> {name: numpy array with a leading axis of 5}
  draw(key, image, size, table, edition) -> draws     (random ones only)
  apply(image, draws, size, table, edition) -> levels

`tables` is computed once on the host, in float64 where that matters: all that
depends on the severity alone (kernels, lookup tables, coordinates). The frame
picks the severity's row of each table with a traced index, so that one
compilation serves all five. `image` is a uint8 canvas `[H, W, 3]` of which the
top-left `size.h` x `size.w` pixels are the picture; operations take their
borders from `size`, and what they leave outside it is undefined (the frame
clears it). `levels` is uint8, or float32 in levels 0..255 which the frame clips
and truncates. `draw` holds all randomness, so a test can inject the
reference's draws into `apply`. Large data that no severity changes (the frost
pictures) come from an optional `assets(edition) -> {name: array}` and reach
`draw` and `apply` in the same `table` mapping.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import seeding
from robust_tfds.corruptions import spec

Table = Mapping[str, jax.Array]


class Size(NamedTuple):
  """Valid height and width in pixels: Python ints, or traced int32 scalars."""

  h: int | jax.Array
  w: int | jax.Array


def corrupt(
    image: jax.typing.ArrayLike,
    name: str,
    severity: int | jax.Array,
    *,
    edition: str = "imagenet",
    key: jax.Array,
) -> jax.Array:
  """Corrupts one image.

  Args:
    image: uint8 `[H, W, 3]`, `[H, W, 1]` or `[H, W]`, RGB or grey, 0..255.
    name: a corruption, see `corruptions.names("all")`.
    severity: 1-5; a Python or numpy integer, or a traced one.
    edition: which published variant, see `spec.EDITIONS`.
    key: JAX key, from `corruptions.example_key`.

  Returns:
    uint8 `[H, W, 3]`; grey input comes back with three channels.

  Raises:
    ValueError: unknown name or edition, severity outside 1-5, or an image of
      another dtype or shape.
  """
  image = _three_channels(image)
  keys = seeding.raw(key)[None]
  return corrupt_batch(
      image[None], name, severity, edition=edition, keys=keys
  )[0]


def corrupt_batch(
    images: jax.typing.ArrayLike,
    name: str,
    severity: int | jax.Array,
    *,
    edition: str = "imagenet",
    keys: jax.Array,
    sizes: jax.typing.ArrayLike | None = None,
) -> jax.Array:
  """Corrupts a batch, each image with its own key; equal to `corrupt` of each.

  Args:
    images: uint8 `[B, H, W, 3]` (or 1 channel), 0..255.
    name: a corruption, see `corruptions.names("all")`.
    severity: 1-5, one for the batch; may be traced.
    edition: which published variant, see `spec.EDITIONS`.
    keys: JAX keys `[B]` or raw uint32 `[B, 2]`.
    sizes: int `[B, 2]`, the valid (height, width) of each image in the top-left
      corner of its canvas; None where the images fill their canvases.

  Returns:
    uint8 `[B, H, W, 3]`; pixels outside the valid size are 0.

  Raises:
    ValueError: as `corrupt`, or a batch whose lengths differ.
  """
  module = spec.module(name)
  spec.check_severity(severity)
  variant = spec.edition(edition)
  images = _three_channels(images, batch=True)
  keys = seeding.raw(keys)
  if keys.shape != (images.shape[0], 2):
    raise ValueError(
        f"One key per image expected: {images.shape[0]} images, keys of shape"
        f" {list(keys.shape)}."
    )
  if sizes is not None:
    sizes = jnp.asarray(sizes, jnp.int32)
    if sizes.shape != (images.shape[0], 2):
      raise ValueError(
          f"sizes must be [{images.shape[0]}, 2] (height, width), got"
          f" {list(sizes.shape)}."
      )
  severity = jnp.asarray(severity, jnp.int32)
  rows, fixed = _arrays(name, edition, getattr(module, "assets_version", int)())
  return _compiled(name, variant)(images, severity, keys, sizes, rows, fixed)


def select(rows: Mapping[str, jax.Array], severity: jax.Array) -> Table:
  """The row of one (traced) severity of every table."""
  return {
      k: jax.lax.dynamic_index_in_dim(v, severity - 1, keepdims=False)
      for k, v in rows.items()
  }


def run(
    module: types.ModuleType,
    variant: spec.Edition,
    image: jax.Array,
    size: Size,
    key: jax.Array,
    table: Table,
) -> jax.Array:
  """One image through one plugin, to uint8; outside the valid size all 0."""
  draw: Callable | None = getattr(module, "draw", None)
  draws = draw(key, image, size, table, variant) if draw else None
  levels = module.apply(image, draws, size, table, variant)
  return mask(to_uint8(levels), size)


def to_uint8(levels: jax.Array) -> jax.Array:
  """Truncates levels toward zero, as the authors' `np.uint8(...)` does."""
  if levels.dtype == jnp.uint8:
    return levels
  if not jnp.issubdtype(levels.dtype, jnp.floating):
    return jnp.clip(levels, 0, 255).astype(jnp.uint8)
  # Through int32: XLA converts float to uint8 one element at a time.
  return jnp.clip(levels, 0.0, 255.0).astype(jnp.int32).astype(jnp.uint8)


def mask(image: jax.Array, size: Size) -> jax.Array:
  """Clears what lies outside the valid size."""
  height, width = image.shape[:2]
  if isinstance(size.h, int) and (size.h, size.w) == (height, width):
    return image
  inside = (jnp.arange(height) < size.h)[:, None] & (jnp.arange(width) < size.w)
  return jnp.where(inside[..., None], image, jnp.uint8(0))


@functools.cache
def _arrays(name: str, edition: str, version: int):
  """Device copies of a corruption's tables and assets."""
  del version  # part of the cache's key: which frost pictures are in use
  module, variant = spec.module(name), spec.edition(edition)
  rows = module.tables(variant)
  for key, value in rows.items():
    if value.shape[:1] != (len(spec.SEVERITIES),):
      raise ValueError(f"{name}: table {key!r} needs a leading axis of 5.")
  assets = getattr(module, "assets", None)
  fixed = assets(variant) if assets else {}
  with jax.ensure_compile_time_eval():
    return jax.tree.map(jnp.asarray, (rows, fixed))


@functools.cache
def _compiled(name: str, variant: spec.Edition) -> Callable[..., jax.Array]:
  module = spec.module(name)

  def batch(images, severity, keys, sizes, rows, fixed):
    table = {**select(rows, severity), **fixed}

    def one(image, key, size):
      height, width = image.shape[:2]
      valid = Size(height, width) if size is None else Size(size[0], size[1])
      return run(module, variant, image, valid, key, table)

    in_axes = (0, 0, None if sizes is None else 0)
    return jax.vmap(one, in_axes)(images, keys, sizes)

  return jax.jit(batch)


def _three_channels(
    image: jax.typing.ArrayLike, batch: bool = False
) -> jax.Array | np.ndarray:
  """Checks dtype and shape; grey becomes three equal channels."""
  if not hasattr(image, "dtype"):
    image = np.asarray(image)
  if image.dtype != np.uint8:
    raise ValueError(
        f"Images must be uint8 with levels 0..255, got {image.dtype}. Convert"
        " floats in [0, 1] with (x * 255).astype('uint8'), 16-bit images with"
        " (x >> 8).astype('uint8')."
    )
  if not batch and image.ndim == 2:
    image = image[..., None]
  want = 4 if batch else 3
  layout = "[B, H, W, 3]" if batch else "[H, W, 3] or [H, W]"
  if image.ndim != want or image.shape[-1] not in (1, 3):
    raise ValueError(
        f"Images must be {layout} (or 1 channel), RGB or grey, got shape"
        f" {list(image.shape)}. Drop an alpha channel first."
    )
  if 0 in image.shape[:-1]:
    raise ValueError(f"Empty image: shape {list(image.shape)}.")
  if image.shape[-1] == 1:
    xp = jnp if isinstance(image, jax.Array) else np
    image = xp.broadcast_to(image, (*image.shape[:-1], 3))
  return image
