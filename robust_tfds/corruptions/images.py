"""`corrupt` and `corrupt_batch`: the frame around the corruption plugins.

Every file of `image/` holds one corruption as

  SEVERITIES: edition name -> five rows (one tuple of numbers a severity)
  tables(edition) -> {name: numpy array with a leading axis of 5}
  draw(key, image, size, table, edition) -> draws     (random ones only)
  apply(image, draws, size, table, edition) -> levels

`tables` is computed once on the host, in float64 where that matters: all that
depends on the severity alone (kernels, lookup tables, coordinates). The frame
picks the severity's row of each table with a traced index, so that one
compilation serves all five; `table["severity"]` is that index (1-5, traced, the
same for the whole batch, so `lax.switch` on it runs one branch). `image` is a
uint8 canvas `[H, W, 3]` of which the top-left `size.h` x `size.w` pixels are
the picture; operations take their borders from `size`, and what they leave
outside it is undefined (the frame clears it). `levels` is uint8, or float32 or
integer in levels 0..255 which the frame clips and truncates; its shape is
`[H, W, 3]` or the same memory as `[H, W * 3]`. `draw` holds all randomness, so a
test can inject the reference's draws into `apply`. An optional
`prepare(table, canvas, edition) -> table` does what depends on the severity and
the canvas `(H, W)` only, once a batch. Large data that no severity
changes (the frost pictures) come from an optional `assets(edition) -> {name:
array}` and reach `draw` and `apply` in the same `table` mapping.

Layouts. XLA's CPU loops are vectorised along the minor axis, and an axis of 3
channels is too short: gaussian_noise takes 3.0 ms an image of 224 px when the
compiled function ends in `[B, H, W, 3]` and 0.48 ms when it ends in
`[B, H, W * 3]`. So plugins compute on `[H, W * 3]` (`flat`) or on `[3, H, W]`
(`planes`, back with `interleave`: 0.02-0.06 ms each way in uint8), the compiled
function returns `[B, H, W * 3]`, and the reshape happens outside it where it
costs nothing. Inside somebody else's `jit` use `corrupt_flat` and hand its
result to the next compiled function. Floats become uint8 through int32: XLA
converts float to uint8 one element at a time.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from collections.abc import Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import conditions
from robust_tfds.corruptions import canvas
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
  image = three_channels(image)
  keys = seeding.raw(key)[None]
  if edition == "any" and not isinstance(image, jax.core.Tracer):
    # Any size without recompiling: the size travels as data.
    height, width = image.shape[:2]
    padded, size = canvas.pad(np.asarray(image))
    done = corrupt_flat(
      padded[None],
      name,
      severity,
      edition=edition,
      keys=keys,
      sizes=size[None],
    )
    # Cut on the host: a device slice would compile once a size.
    cut = np.asarray(done)[0, :height, : 3 * width]
    return jnp.asarray(cut.reshape(height, width, 3))
  return corrupt_batch(image[None], name, severity, edition=edition, keys=keys)[
    0
  ]


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
  images = three_channels(images, batch=True)
  levels = corrupt_flat(
    images, name, severity, edition=edition, keys=keys, sizes=sizes
  )
  return levels.reshape(images.shape)


def corrupt_flat(
  images: jax.typing.ArrayLike,
  name: str,
  severity: int | jax.Array,
  *,
  edition: str = "imagenet",
  keys: jax.Array,
  sizes: jax.typing.ArrayLike | None = None,
) -> jax.Array:
  """`corrupt_batch` as uint8 `[B, H, W * 3]`: the layout that stays fast.

  Reshape it to `[B, H, W, 3]` in another compiled function, not in this one's.
  """
  module = spec.module(name)
  spec.check_severity(severity)
  variant = spec.edition(edition)
  images = three_channels(images, batch=True)
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
  table = {
    k: jax.lax.dynamic_index_in_dim(v, severity - 1, keepdims=False)
    for k, v in rows.items()
  }
  return {**table, "severity": severity}


def flat(image: jax.Array) -> jax.Array:
  """`[H, W, 3]` as `[H, W * 3]`; the latter comes back as it is."""
  return image.reshape(image.shape[0], -1)


def planes(image: jax.Array) -> jax.Array:
  """`[H, W, 3]` as `[3, H, W]`."""
  return image.transpose(2, 0, 1)


def interleave(channels: jax.Array) -> jax.Array:
  """Planes `[3, H, W]` of levels as uint8 `[H, W * 3]`."""
  return flat(to_uint8(channels).transpose(1, 2, 0))


def prepared(
  module: types.ModuleType,
  variant: spec.Edition,
  shape: tuple[int, int],
  table: Table,
) -> Table:
  """The table with what the plugin adds to it once a batch."""
  prepare: Callable | None = getattr(module, "prepare", None)
  return prepare(table, shape, variant) if prepare else table


def run(
  module: types.ModuleType,
  variant: spec.Edition,
  image: jax.Array,
  size: Size,
  key: jax.Array,
  table: Table,
) -> jax.Array:
  """One image through one plugin: uint8 `[H, W * 3]`, 0 outside the size."""
  draw: Callable | None = getattr(module, "draw", None)
  draws = draw(key, image, size, table, variant) if draw else None
  levels = module.apply(image, draws, size, table, variant)
  return mask(to_uint8(flat(levels)), size)


def to_uint8(levels: jax.Array) -> jax.Array:
  """Truncates levels toward zero, as the authors' `np.uint8(...)` does."""
  if levels.dtype == jnp.uint8:
    return levels
  # int32 between: XLA converts float to uint8 one element at a time.
  return jnp.clip(levels, 0, 255).astype(jnp.int32).astype(jnp.uint8)


def mask(image: jax.Array, size: Size) -> jax.Array:
  """Clears what lies outside the valid size of a `[H, W * 3]` canvas."""
  height, width = image.shape
  if isinstance(size.h, int) and (size.h, 3 * size.w) == (height, width):
    return image
  rows = jnp.arange(height) < size.h
  columns = jnp.arange(width) < 3 * size.w
  return jnp.where(rows[:, None] & columns, image, jnp.uint8(0))


def over_batch(one: Callable, *arrays: jax.Array | None) -> jax.Array:
  """`one` of every example: together on accelerators, in turn on the CPU.

  An image's intermediates fit a core's cache, a batch's do not: in turn is two
  to five times as fast for anything of more than one pass.
  """
  present = [a is not None for a in arrays]

  def call(given):
    given = iter(given)
    return one(*(next(given) if p else None for p in present))

  return jax.lax.platform_dependent(
    [a for a in arrays if a is not None],
    cpu=lambda xs: jax.lax.map(call, xs),
    default=lambda xs: jax.vmap(call)(xs),
  )


@functools.cache
def _arrays(name: str, edition: str, version: int):
  """Device copies of a corruption's tables and assets."""
  del version  # part of the cache's key: which frost pictures are in use
  module, variant = spec.module(name), spec.edition(edition)
  rows = module.tables(variant)
  for key, value in rows.items():
    if value.shape[:1] != (len(conditions.SEVERITIES),):
      raise ValueError(f"{name}: table {key!r} needs a leading axis of 5.")
  assets = getattr(module, "assets", None)
  fixed = assets(variant) if assets else {}
  with jax.ensure_compile_time_eval():
    return jax.tree.map(jnp.asarray, (rows, fixed))


@functools.cache
def _compiled(name: str, variant: spec.Edition) -> Callable[..., jax.Array]:
  module = spec.module(name)

  def batch(images, severity, keys, sizes, rows, fixed):
    shape = images.shape[1:3]
    table = {**select(rows, severity), **fixed}
    table = prepared(module, variant, shape, table)

    def one(image, key, size):
      valid = Size(*shape) if size is None else Size(size[0], size[1])
      return run(module, variant, image, valid, key, table)

    return over_batch(one, images, keys, sizes)

  return jax.jit(batch)


def three_channels(
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
