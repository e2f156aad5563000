"""`corrupt` and `corrupt_batch`: the corruptions of pictures, around the plugins.

Every file of this folder holds one corruption, a `plugins.Corruption`:

  PLUGIN = plugins.Corruption(
    severities=SEVERITIES,  # edition name -> five rows
    tables=tables,          # edition -> arrays, one row a severity, on the host
    draw=draw,              # scene -> all its randomness; omitted without any
    apply=apply,            # scene, draws -> levels
  )

A `plugins.Scene` is a picture with its size, the plugin's table, the edition
and the example's key. `plugins.Corruption` describes the functions' results,
and the optional parts of a plugin. Functions on pixels that plugins share are
in `ops/`.

The compiled function returns `[B, H, W * 3]` (`ops/layout.py` says why), and
the reshape happens outside it (`_reshaped`). Inside another function's `jit`
use `corrupt_flat` and pass its result to the next compiled function. Floats
become uint8 through int32: XLA converts float to uint8 one element at a time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import errors
from robust_tfds.corruptions import (
  batching,
  canvas,
  given_draws,
  plugins,
  seeding,
  spec,
)
from robust_tfds.corruptions.ops import layout


@errors.without_traceback
def corrupt(
  image: jax.typing.ArrayLike,
  name: str,
  severity: float | jax.Array,
  *,
  edition: str | None = None,
  key: jax.Array | None = None,
  seed: int | None = None,
  draws: Mapping[str, Any] | None = None,
) -> batching.Image:
  """Corrupt one image.

  Args:
    image: uint8 `[H, W, 3]`, `[H, W, 1]` or `[H, W]`, RGB or grey, 0..255.
    name: a corruption, see `corruptions.names("all")`.
    severity: 1-5; an integer of Python, numpy or jax, or a traced one: where
      that turns out to be another, the result is the checker of `refusal.py`.
      Of edition `ccc` a known multiple of .25 from 0, which changes nothing, to
      5; its whole severities have the keys of the same integers.
    edition: which published variant, see `spec.EDITIONS`; None: of a square
      picture of exactly an edition's size (224, 299, 64, 32 px) that, of all
      others `any`.
    key: JAX key, from `corruptions.example_key`; or
    seed: a seed instead of the key, for a single picture: the key is
      `example_key(seed, "image", name, severity, "image")`, the same for all;
      or
    draws: all that the corruption would draw, by the names of the authors'
      code, for corruptions of the sets `c_bar` and `c_bar_cifar`.

  Returns:
    uint8 `[H, W, 3]`, a JAX array where `image` is one, else NumPy; grey input
    comes back with three channels.

  Raises:
    ValueError: the name or edition is unknown, the severity is outside 1-5, or
      the image has a wrong dtype or shape; not exactly one of key, seed and draws
      is given; a seed with a traced severity; or the draws lack a name, have
      another shape or belong to another severity.
  """
  given, image = image, batching.three_channels(image)
  if edition is None:
    edition = spec.edition_of(*image.shape[:2])
  if draws is not None:
    if (key, seed) != (None, None):
      raise errors.UserError(
        "corrupt takes key=, seed= or draws=, got draws and another. Draws"
        " decide all that a key would."
      )
    drawn = _corrupt_by_draws(image, name, severity, edition, draws)
    return batching.like_input(drawn, given)
  if spec.is_unchanged(severity, edition):
    plugins.picture(name)
    return batching.like_input(jnp.asarray(image), given)
  keys = seeding.picture_key(key, seed, name, severity)[None]
  if edition == "any" and not isinstance(image, jax.core.Tracer):
    # Any size without recompiling: the size travels as data.
    pixels, own = np.asarray(image), canvas.shape(*image.shape[:2])
    done = corrupt_in_canvas(
      pixels, own, name, severity, edition=edition, key=keys[0]
    )
    if not isinstance(given, jax.Array):
      return np.require(done, requirements="W")
    # Put as it is: `asarray` would compile a copy for every size.
    return jax.device_put(done)
  levels = corrupt_flat(image[None], name, severity, edition=edition, keys=keys)
  return batching.like_input(_reshaped(levels, (1, *image.shape))[0], given)


def _corrupt_by_draws(
  image: batching.Image,
  name: str,
  severity: object,
  edition: str,
  draws: Mapping[str, Any],
) -> jax.Array:
  """Return the picture under given draws: uint8 `[H, W, 3]`."""
  level, plugin = spec.check_severity(severity), plugins.picture(name)
  plugins.check_size(name, edition, image.shape, None)
  if plugin.accept is None:
    raise errors.UserError(
      f"{name} takes no draws; those of the sets c_bar and c_bar_cifar do. Use"
      " key= or seed=."
    )
  row = spec.edition(edition).row(plugin.severities)[level - 1]
  side = max(image.shape[:2])
  accepted = plugin.accept(given_draws.Draws(name, level, draws), row, side)
  rows, fixed = tables(name, edition)
  levels = _compiled_with_draws(name, spec.edition(edition))(
    image, accepted, jnp.int32(level), rows, fixed
  )
  return levels.reshape(image.shape)


@functools.cache
def _compiled_with_draws(
  name: str, variant: spec.Edition
) -> Callable[..., jax.Array]:
  plugin = plugins.picture(name)

  def apply(
    image: jax.Array,
    draws: Any,
    severity: jax.Array,
    rows: Mapping[str, jax.Array],
    fixed: Mapping[str, jax.Array],
  ) -> jax.Array:
    size = layout.valid_size(image.shape, None)
    table = plugin.prepare(
      {**select(rows, severity), **fixed},
      (image.shape[0], image.shape[1]),
      variant,
    )
    no_key = jnp.zeros(2, jnp.uint32)
    scene = plugins.Scene(image, size, table, variant, no_key)
    return run_with(plugin, scene, draws)

  return jax.jit(apply)


def corrupt_in_canvas(
  image: np.ndarray,
  shape: canvas.Shape,
  name: str,
  severity: float | jax.Array,
  *,
  edition: str,
  key: jax.typing.ArrayLike,
) -> np.ndarray:
  """Corrupt a picture inside a canvas, which changes no byte of the result.

  Args:
    image: uint8 `[H, W, 3]`.
    shape: shape of the canvas; pictures in the same canvas share programs.
    name: as for `corrupt`.
    severity: as for `corrupt`.
    edition: as for `corrupt`.
    key: as for `corrupt`.

  Returns:
    uint8 `[H, W, 3]`.
  """
  height, width = image.shape[:2]
  padded, size = canvas.pad(image, shape)
  keys = seeding.single(key)[None]
  done = corrupt_flat(
    padded[None], name, severity, edition=edition, keys=keys, sizes=size[None]
  )
  # Cut on the host: a device slice would compile once per size.
  cut = np.asarray(done)[0, :height, : 3 * width]
  return cut.reshape(height, width, 3)


@errors.without_traceback
def corrupt_batch(
  images: jax.typing.ArrayLike,
  name: str,
  severity: float | jax.Array,
  *,
  edition: str | None = None,
  keys: jax.Array,
  sizes: jax.typing.ArrayLike | None = None,
) -> batching.Image:
  """Corrupt a batch, each image with its own key; equal to `corrupt` on each.

  Args:
    images: uint8 `[B, H, W, 3]` (or 1 channel), 0..255.
    name: a corruption, see `corruptions.names("all")`.
    severity: 1-5, one for the batch; may be traced; of `ccc` as for `corrupt`. A
      traced one outside 1-5 gives the checker of `refusal.py` in place of every
      picture.
    edition: which published variant, see `spec.EDITIONS`; None: as of `corrupt`,
      by the sizes where they are given (of traced ones `any`).
    keys: JAX keys `[B]` or raw uint32 `[B, 2]`.
    sizes: int `[B, 2]`, the valid (height, width) of each image in the top-left
      corner of its canvas; None if the images fill their canvases. A traced one
      outside the canvas gives the checker in place of its picture.

  Returns:
    uint8 `[B, H, W, 3]`, a JAX array where `images` are one, else NumPy; pixels
    outside the valid size are 0. On one CPU it is finished when this returns.

  Raises:
    ValueError: as for `corrupt`, or lengths in the batch differ, or a size is
      outside the canvas.
  """
  given, images = images, batching.three_channels(images, batch=True)
  levels = corrupt_flat(
    images, name, severity, edition=edition, keys=keys, sizes=sizes
  )
  return batching.like_input(_reshaped(levels, images.shape), given)


def _reshaped(levels: jax.Array, shape: tuple[int, ...]) -> jax.Array:
  """Reshape levels; on one CPU without XLA's copy of the batch.

  That copy, into fresh memory, is 0.4 of 1.7 ms of saturate at 640x480 px.
  """
  traced = isinstance(levels, jax.core.Tracer)
  if traced or [d.platform for d in levels.devices()] != ["cpu"]:
    return levels.reshape(shape)
  place = levels.sharding if levels.committed else None
  view = np.asarray(levels).reshape(shape)
  return jax.device_put(view, place, may_alias=True)


def corrupt_flat(
  images: jax.typing.ArrayLike,
  name: str,
  severity: float | jax.Array,
  *,
  edition: str | None = None,
  keys: jax.Array,
  sizes: jax.typing.ArrayLike | None = None,
) -> jax.Array:
  """Corrupt a batch like `corrupt_batch`, as uint8 `[B, H, W * 3]`, the layout
  that stays fast.

  Reshape it to `[B, H, W, 3]` in another compiled function, not in this one's.
  """
  images = batching.three_channels(images, batch=True)
  keys = batching.checked_keys(keys, images.shape[0])
  sizes = batching.checked_sizes(sizes, images.shape)
  if edition is None:
    return _corrupt_by_size(images, name, spec.severity(severity), keys, sizes)
  variant = spec.edition(edition)
  if spec.is_unchanged(severity, edition):
    return jnp.asarray(images).reshape(*images.shape[:2], -1)
  level = spec.level(severity, variant)
  plugins.check_size(name, edition, images.shape[1:], sizes)
  rows, fixed = tables(name, edition)
  traced = any(isinstance(v, jax.core.Tracer) for v in (level, sizes))
  run_batch = _compiled(name, variant, traced)
  return run_batch(
    images, jnp.asarray(level, jnp.int32), keys, sizes, rows, fixed
  )


def _corrupt_by_size(
  images: batching.Image,
  name: str,
  severity: int | jax.Array,
  keys: jax.Array,
  sizes: batching.Image | None,
) -> jax.Array:
  """Apply `corrupt_flat` to pictures that each have the edition of their size.

  Where several are in a batch all of it goes through each: one program an edition,
  whatever the batch is made of.
  """
  count, height, width, _ = images.shape
  if sizes is None:
    each = [spec.edition_of(height, width)] * count
  elif isinstance(sizes, jax.core.Tracer):
    each = ["any"] * count
  else:
    each = [spec.edition_of(h, w) for h, w in np.asarray(sizes).tolist()]
  out = jnp.zeros((count, height, 3 * width), jnp.uint8)
  for edition in dict.fromkeys(each):
    side = spec.edition(edition).size_px
    whole = side in (None, height) and side in (None, width)
    levels = corrupt_flat(
      images if whole else images[:, :side, :side],
      name,
      severity,
      edition=edition,
      keys=keys,
      sizes=None if side else sizes,
    )
    if levels.shape == out.shape and len(set(each)) == 1:
      return levels
    high, wide = levels.shape[1:]
    chosen = np.array([e == edition for e in each])[:, None, None]
    part = jnp.where(chosen, levels, out[:, :high, :wide])
    out = out.at[:, :high, :wide].set(part)
  return out


def select(rows: Mapping[str, jax.Array], severity: jax.Array) -> plugins.Table:
  """Select the row of one (traced) severity from every table."""
  table = {
    k: jax.lax.dynamic_index_in_dim(v, severity - 1, keepdims=False)
    for k, v in rows.items()
  }
  return {**table, "severity": severity}


def run(plugin: plugins.Corruption, scene: plugins.Scene) -> jax.Array:
  """Run one picture through one plugin: uint8 `[H, W * 3]`, 0 outside the size."""
  return run_with(plugin, scene, plugin.draw(scene))


def run_with(
  plugin: plugins.Corruption, scene: plugins.Scene, draws: Any
) -> jax.Array:
  """Run one picture through one plugin with given draws, see `run`."""
  levels = plugin.apply(scene, draws)
  return layout.mask(layout.to_uint8(layout.flat(levels)), scene.size)


def tables(
  name: str, edition: str
) -> tuple[dict[str, jax.Array], dict[str, jax.Array]]:
  """Return a corruption's tables, for every severity, and assets, on the devices."""
  return _arrays(name, edition, plugins.picture(name).assets_version())


@functools.cache
def _arrays(
  name: str, edition: str, version: int
) -> tuple[dict[str, jax.Array], dict[str, jax.Array]]:
  """Return device copies of a corruption's tables and assets."""
  del version  # part of the cache's key: which frost pictures are in use
  plugin, variant = plugins.picture(name), spec.edition(edition)
  rows = plugin.tables(variant)
  for key, value in rows.items():
    if value.shape[:1] != (variant.levels,):
      raise errors.UserError(
        f"{name}: table {key!r} needs a leading axis of {variant.levels}."
      )
  return batching.to_device((rows, plugin.assets(variant)))


@functools.cache
def _compiled(
  name: str, variant: spec.Edition, traced: bool
) -> Callable[..., jax.Array]:
  """Return the compiled function; with `traced` it marks values out of range."""
  plugin = plugins.picture(name)

  def batch(
    images: jax.Array,
    severity: jax.Array,
    keys: jax.Array,
    sizes: jax.Array | None,
    rows: Mapping[str, jax.Array],
    fixed: Mapping[str, jax.Array],
  ) -> jax.Array:
    canvas_shape = (images.shape[1], images.shape[2])
    table = plugin.prepare(
      {**select(rows, severity), **fixed}, canvas_shape, variant
    )
    return batching.over_scenes(
      functools.partial(run, plugin),
      images,
      sizes,
      keys,
      table=table,
      edition=variant,
      traced=traced,
      severity=severity,
    )

  return jax.jit(batch)
