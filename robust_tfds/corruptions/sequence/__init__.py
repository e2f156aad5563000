"""`sequence`: ImageNet-P's perturbation sequences, and the frame around them.

Every file of this folder holds one perturbation, a `plugins.FrameByFrame`:

  PLUGIN = plugins.FrameByFrame(
    tables=tables,          # edition, difficulty -> arrays, on the host
    rows=("index",),        # those of them with one row a frame
    draw=draw,              # all its randomness; left out where there is none
    frame=frame,            # picture, draws, row -> one frame
  )

or a `plugins.Successive`, where a frame depends on the one before. These classes
say what the functions take and give. A frame of the same key is the same whatever
the batch.

Sources: docs/specs/imagenet_p.md sections 1, 2 and 4 (create_p/*.py). An
edition's input is what its script starts from:

  imagenet       the image with its shorter side resized to 256 px
  inception      the image as it is: cropped by 0.875 and resized here
  imagenet64     the image as it is, or already 64x64: squashed to 64x64 here
  tiny_imagenet  the same, but resized by its shorter side and cropped
  cifar10        the 32x32 image
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from robust_tfds import conditions, errors
from robust_tfds.corruptions import batching, plugins, refusal, seeding, spec
from robust_tfds.corruptions.ops import edition_crop, layout

EDITIONS = ("imagenet", "inception", "imagenet64", "tiny_imagenet", "cifar10")
_CROPPED = ("imagenet", "tiny_imagenet", "cifar10")


def sequence_names(benchmark: str = "common") -> tuple[str, ...]:
  """Names of the perturbations (`common`, `extra` or `all`), in paper order.

  `common` are the 10 of mFR and mT5D, `extra` the 4 of the validation set. Noise
  has harder variants beside these: `gaussian_noise_2`, `gaussian_noise_3`, ...
  """
  return conditions.SEQUENCES.names(benchmark)


def sequence(
  image: jax.typing.ArrayLike,
  name: str,
  *,
  edition: str = "imagenet",
  key: jax.Array,
) -> jax.Array:
  """All frames of one perturbation of one image.

  Args:
    image: uint8 `[H, W, 3]` (or grey), 0..255; which image an edition starts
      from is in the module's header.
    name: see `sequence_names("all")`, or a harder noise as `shot_noise_3`.
    edition: one of `EDITIONS`.
    key: JAX key, from `corruptions.example_key`; unused by deterministic ones.

  Returns:
    uint8 `[T, S, S, 3]`, frame 0 first, S the edition's size.

  Raises:
    ValueError: unknown name or edition, or an image of another dtype, shape or
      too small.
  """
  image = batching.three_channels(image)
  keys = seeding.single(key)[None]
  return sequence_batch(image[None], name, edition=edition, keys=keys)[0]


def sequence_batch(
  batch: jax.typing.ArrayLike,
  name: str,
  *,
  edition: str = "imagenet",
  keys: jax.Array,
  sizes: jax.typing.ArrayLike | None = None,
) -> jax.Array:
  """`sequence` of every image of a batch: uint8 `[B, T, S, S, 3]`.

  Args:
    batch: uint8 `[B, H, W, 3]`.
    name: as in `sequence`.
    edition: as in `sequence`.
    keys: JAX keys `[B]` or raw uint32 `[B, 2]`.
    sizes: int `[B, 2]`, the valid (height, width) of each image in the top-left
      corner of its canvas; None where the images fill their canvases. A traced
      one that does not fit gives frames of the checker of `refusal.py`.

  Raises:
    ValueError: as `sequence`, or sizes that do not fit.
  """
  flat = sequence_flat(batch, name, edition=edition, keys=keys, sizes=sizes)
  side = flat.shape[-2]
  return flat.reshape(*flat.shape[:3], side, 3)


def sequence_flat(
  batch: jax.typing.ArrayLike,
  name: str,
  *,
  edition: str = "imagenet",
  keys: jax.Array,
  sizes: jax.typing.ArrayLike | None = None,
) -> jax.Array:
  """`sequence_batch` as uint8 `[B, T, S, S * 3]`: see `image.corrupt_flat`."""
  condition = _condition(name)
  batch = _checked(batch, edition)
  count = batch.shape[0]
  keys = batching.checked_keys(keys, count)
  sizes = batching.checked_sizes(sizes, batch.shape, _least(edition))
  tables = _arrays(condition.name, edition, condition.level)
  traced = isinstance(sizes, jax.core.Tracer)
  function = _compiled(condition.name, spec.edition(edition), traced)
  return function(batch, keys, sizes, tables)


def crop_batch(
  batch: jax.typing.ArrayLike,
  *,
  edition: str = "imagenet",
  sizes: jax.typing.ArrayLike | None = None,
) -> jax.Array:
  """The clean images that an edition's frames are compared with.

  Args:
    batch: uint8 `[B, H, W, 3]`, what the edition starts from (header).
    edition: one of `EDITIONS`.
    sizes: int `[B, 2]`, as in `sequence_batch`.

  Returns:
    uint8 `[B, S, S, 3]`, S the edition's size.

  Raises:
    ValueError: unknown edition, or images of another dtype, shape or too small.
  """
  batch = _checked(batch, edition)
  sizes = batching.checked_sizes(sizes, batch.shape, _least(edition))
  traced = isinstance(sizes, jax.core.Tracer)
  return _crop(spec.edition(edition), traced)(batch, sizes)


def frame_count(name: str, edition: str = "imagenet") -> int:
  """How many frames a perturbation's sequences have in an edition."""
  condition = _condition(name)
  plugin = plugins.sequence(condition.name)
  table = plugin.tables(spec.edition(edition), condition.level)
  return len(table[plugin.rows[0]])


def _condition(name: str) -> conditions.Condition:
  """Perturbation and difficulty of a name such as `shot_noise_2`."""
  condition = conditions.SEQUENCES.parse(name)
  if condition.clean:
    known = conditions.SEQUENCES.names()
    raise errors.unknown("perturbation", name, known)
  return condition


def _least(edition: str) -> int:
  """The least side of an edition's sources, px."""
  return spec.edition(edition).side_px if edition in _CROPPED else 1


def _checked(batch: jax.typing.ArrayLike, edition: str) -> batching.Image:
  if not isinstance(edition, str) or edition not in EDITIONS:
    raise errors.unknown("edition of the sequences", edition, EDITIONS)
  variant = spec.edition(edition)
  batch = batching.three_channels(batch, batch=True)
  if edition in _CROPPED and min(batch.shape[1:3]) < variant.side_px:
    raise errors.UserError(
      f"Edition {edition!r} starts from images of at least"
      f" {variant.size_px} px a side, got {list(batch.shape[1:3])}. Resize the"
      " shorter side first (to 256 px for `imagenet`)."
    )
  return batch


@functools.cache
def _crop(variant: spec.Edition, traced: bool) -> Callable[..., jax.Array]:
  def batch(images: jax.Array, sizes: jax.Array | None) -> jax.Array:
    def cropped(image: jax.Array, size: layout.Size) -> jax.Array:
      crop = layout.to_uint8(edition_crop.crop(image, size, variant))
      if not traced:
        return crop
      levels = _unless_too_small(layout.flat(crop), image, size, variant)
      return levels.reshape(crop.shape)

    return batching.over_pictures(cropped, images, sizes)

  return jax.jit(batch)


@functools.cache
def _arrays(name: str, edition: str, difficulty: int) -> dict[str, jax.Array]:
  tables = plugins.sequence(name).tables(spec.edition(edition), difficulty)
  with jax.ensure_compile_time_eval():
    return jax.tree.map(jnp.asarray, tables)


def _unless_too_small(
  levels: jax.Array,
  image: jax.Array,
  size: layout.Size,
  variant: spec.Edition,
) -> jax.Array:
  """The frames, or the checker where a traced size does not fit."""
  height, width = image.shape[:2]
  valid = refusal.size_holds(size, (height, width), _least(variant.name))
  return refusal.unless(valid, levels)


@functools.cache
def _compiled(
  name: str, variant: spec.Edition, traced: bool
) -> Callable[..., jax.Array]:
  plugin = plugins.sequence(name)

  def batch(
    images: jax.Array,
    keys: jax.Array,
    sizes: jax.Array | None,
    table: Mapping[str, jax.Array],
  ) -> jax.Array:
    def frames(
      image: jax.Array, size: layout.Size, key: jax.Array
    ) -> jax.Array:
      levels = run(plugin, variant, image, size, key, table)
      if not traced:
        return levels
      return _unless_too_small(levels, image, size, variant)

    return batching.over_pictures(frames, images, sizes, keys)

  return jax.jit(batch)


def run(
  plugin: plugins.Perturbation,
  variant: spec.Edition,
  image: jax.Array,
  size: layout.Size,
  key: jax.Array,
  table: Mapping[str, jax.Array],
  draws: Any = None,
) -> jax.Array:
  """One image through one plugin: uint8 `[T, S, S * 3]`.

  `draws` replaces what the plugin would draw, for tests.
  """
  if variant.name not in plugin.on_source:
    image = edition_crop.crop(image, size, variant)
    size = layout.valid_size(image.shape, None)
  if draws is None:
    draws = plugin.draw(key, image, size, table, variant)
  return plugin.frames(image, draws, size, table, variant)
