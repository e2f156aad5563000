"""`sequence`: ImageNet-P's perturbation sequences, and the frame around them.

Every file of `sequence/` holds one perturbation as

  on_source(edition): whether its frames are made from the source image and
    cropped afterwards, rather than from the edition's crop
  tables(edition, difficulty) -> {name: numpy array}; those in `ROWS` have one
    row a frame, and their length is the number of frames
  draw(key, image, size, table, edition) -> draws      (random ones only)
  frame(image, draws, size, row, edition) -> levels     one frame, or
  frames(image, draws, size, table, edition) -> levels  all of them, where a
    frame depends on the one before

`image` is a uint8 canvas `[H, W, 3]` with the picture in its top-left corner:
the source where SOURCE is set, else the edition's crop. Frames are uint8 or
float32 levels, `[H, W, 3]` or flat `[H, W * 3]`, of the edition's size; floats
are truncated. A frame of the same key is the same whatever the batch.

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
import types
from collections.abc import Callable
from collections.abc import Mapping

import jax
import jax.numpy as jnp

from robust_tfds import conditions
from robust_tfds import errors
from robust_tfds.corruptions import images
from robust_tfds.corruptions import seeding
from robust_tfds.corruptions import spec
from robust_tfds.corruptions.ops import resize

EDITIONS = ("imagenet", "inception", "imagenet64", "tiny_imagenet", "cifar10")
_KIND = "sequences"
_CROPPED = ("imagenet", "tiny_imagenet", "cifar10")


def sequence_names(benchmark: str = "common") -> tuple[str, ...]:
  """Names of the perturbations (`common`, `extra` or `all`), in paper order.

  `common` are the 10 of mFR and mT5D, `extra` the 4 of the validation set. Noise
  has harder variants beside these: `gaussian_noise_2`, `gaussian_noise_3`, ...
  """
  return conditions.SEQUENCES.names(benchmark)


def split_difficulty(name: str) -> tuple[str, int]:
  """Perturbation and difficulty of a name such as `shot_noise_2`.

  Raises:
    ValueError: an unknown perturbation (with a suggestion), or a difficulty for
      one that has none.
  """
  condition = conditions.SEQUENCES.parse(name)
  return condition.name, condition.level


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
  image = images.three_channels(image)
  keys = seeding.raw(key)[None]
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
      corner of its canvas; None where the images fill their canvases.

  Raises:
    ValueError: as `sequence`.
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
  """`sequence_batch` as uint8 `[B, T, S, S * 3]`: see `images.corrupt_flat`."""
  stem, difficulty = split_difficulty(name)
  batch = _checked(batch, edition)
  keys = seeding.raw(keys)
  if keys.shape != (batch.shape[0], 2):
    raise ValueError(
      f"One key per image expected: {batch.shape[0]} images, keys of shape"
      f" {list(keys.shape)}."
    )
  if sizes is not None:
    sizes = jnp.asarray(sizes, jnp.int32)
  tables = _arrays(stem, edition, difficulty)
  return _compiled(stem, spec.edition(edition))(batch, keys, sizes, tables)


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
  if sizes is not None:
    sizes = jnp.asarray(sizes, jnp.int32)
  return _crop(spec.edition(edition))(batch, sizes)


def frame_count(name: str, edition: str = "imagenet") -> int:
  """How many frames a perturbation's sequences have in an edition."""
  stem, difficulty = split_difficulty(name)
  module = spec.module(stem, _KIND)
  table = module.tables(spec.edition(edition), difficulty)
  return len(table[module.ROWS[0]])


def window(size: images.Size, side: int) -> tuple[jax.Array, jax.Array]:
  """Top and left of the centre crop: int(round((n - side) / 2)), half to even."""
  half = [(jnp.asarray(n, jnp.int32) - side) for n in size]
  return tuple(_half_to_even(n) for n in half)


def _half_to_even(twice: jax.Array) -> jax.Array:
  low = twice // 2
  odd = twice % 2
  return low + (odd & (low % 2))


def edition_crop(
  image: jax.Array, size: images.Size, edition: spec.Edition
) -> jax.Array:
  """What an edition's photometric perturbations start from: uint8 `[S, S, 3]`."""
  side = edition.size_px
  if image.shape[:2] == (side, side) and isinstance(size.h, int):
    return image
  if edition.name == "inception":
    return resize.bilinear(image, _central(size, 0.875), (side, side))
  if edition.name == "imagenet64":
    return resize.bilinear(image, (0, 0, size.h, size.w), (side, side))
  if edition.name == "tiny_imagenet" and min(image.shape[:2]) > side:
    return resize.bilinear(image, _square(size), (side, side))
  top, left = window(size, side)
  return jax.lax.dynamic_slice(image, (top, left, 0), (side, side, 3))


def _central(size: images.Size, fraction: float):
  """Box (top, left, height, width) of the central fraction, floor of each."""
  height = jnp.floor(jnp.asarray(size.h) * fraction).astype(jnp.int32)
  width = jnp.floor(jnp.asarray(size.w) * fraction).astype(jnp.int32)
  return (size.h - height) // 2, (size.w - width) // 2, height, width


def _square(size: images.Size):
  """Box of the central square of the shorter side."""
  side = jnp.minimum(jnp.asarray(size.h), jnp.asarray(size.w))
  return (size.h - side) // 2, (size.w - side) // 2, side, side


def _checked(batch: jax.typing.ArrayLike, edition: str) -> jax.Array:
  if edition not in EDITIONS:
    raise errors.unknown("edition of the sequences", edition, EDITIONS)
  variant = spec.edition(edition)
  batch = images.three_channels(batch, batch=True)
  if edition in _CROPPED and min(batch.shape[1:3]) < variant.size_px:
    raise ValueError(
      f"Edition {edition!r} starts from images of at least"
      f" {variant.size_px} px a side, got {list(batch.shape[1:3])}. Resize the"
      " shorter side first (to 256 px for `imagenet`)."
    )
  return batch


@functools.cache
def _crop(variant: spec.Edition) -> Callable[..., jax.Array]:
  def batch(images_, sizes):
    canvas = images_.shape[1:3]

    def one(image, size):
      valid = (
        images.Size(*canvas) if size is None else images.Size(size[0], size[1])
      )
      return images.to_uint8(edition_crop(image, valid, variant))

    return images.over_batch(one, images_, sizes)

  return jax.jit(batch)


@functools.cache
def _arrays(name: str, edition: str, difficulty: int) -> Mapping:
  tables = spec.module(name, _KIND).tables(spec.edition(edition), difficulty)
  with jax.ensure_compile_time_eval():
    return jax.tree.map(jnp.asarray, tables)


@functools.cache
def _compiled(name: str, variant: spec.Edition) -> Callable[..., jax.Array]:
  module = spec.module(name, _KIND)

  def batch(images_, keys, sizes, table):
    canvas = images_.shape[1:3]

    def one(image, key, size):
      valid = (
        images.Size(*canvas) if size is None else images.Size(size[0], size[1])
      )
      return run(module, variant, image, valid, key, table)

    return images.over_batch(one, images_, keys, sizes)

  return jax.jit(batch)


def run(
  module: types.ModuleType,
  variant: spec.Edition,
  image: jax.Array,
  size: images.Size,
  key: jax.Array,
  table: Mapping[str, jax.Array],
  draws: object = None,
) -> jax.Array:
  """One image through one plugin: uint8 `[T, S, S * 3]`.

  `draws` replaces what the plugin would draw, for tests.
  """
  if not module.on_source(variant):
    image = edition_crop(image, size, variant)
    size = images.Size(*image.shape[:2])
  draw = getattr(module, "draw", None)
  if draws is None and draw:
    draws = draw(key, image, size, table, variant)
  if hasattr(module, "frames"):
    return module.frames(image, draws, size, table, variant)
  rows = [table[k] for k in module.ROWS]
  fixed = {k: v for k, v in table.items() if k not in module.ROWS}

  def one(*row):
    row = {**fixed, **dict(zip(module.ROWS, row))}
    levels = module.frame(image, draws, size, row, variant)
    return images.to_uint8(images.flat(levels))

  return images.over_batch(one, *rows)
