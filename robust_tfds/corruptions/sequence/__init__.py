"""`sequence`: ImageNet-P's perturbation sequences, around the plugins.

Every file of this folder holds one perturbation, a `plugins.FrameByFrame`:

  PLUGIN = plugins.FrameByFrame(
    tables=tables,          # edition, difficulty -> arrays, on the host
    rows=("index",),        # the tables with one row per frame
    draw=draw,              # scene -> all its randomness; omitted without any
    frame=frame,            # scene of one frame, draws -> the frame
  )

or a `plugins.Successive`, if a frame depends on the previous one. These classes
describe the arguments and results. A frame with the same key is the same in any
batch. The code around a plugin is shared with pictures: `batching.py`.

Sources: docs/evidence/specs/imagenet_p.md sections 1, 2 and 4 (create_p/*.py). An
edition's input is what its script starts from:

  imagenet       the image with its shorter side resized to 256 px
  inception      the image as it is: cropped by 0.875 and resized here
  imagenet64     the image as it is, or already 64x64: squashed to 64x64 here
  tiny_imagenet  the same, but resized by its shorter side and cropped
  cifar10        the 32x32 image
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from robust_tfds import conditions, errors
from robust_tfds.corruptions import batching, plugins, seeding, spec
from robust_tfds.corruptions.ops import edition_crop, layout

EDITIONS = ("imagenet", "inception", "imagenet64", "tiny_imagenet", "cifar10")
_CROPPED = ("imagenet", "tiny_imagenet", "cifar10")


def sequence_names(benchmark: str = "common") -> tuple[str, ...]:
  """Return names of the perturbations (`common`, `extra` or `all`), in paper order.

  `common` are the 10 of mFR and mT5D, `extra` the 4 of the validation set. Noise
  has harder variants beside these: `gaussian_noise_2`, `gaussian_noise_3`, ...
  """
  return conditions.SEQUENCES.names(benchmark)


@errors.without_traceback
def sequence(
  image: jax.typing.ArrayLike,
  name: str,
  *,
  edition: str = "imagenet",
  key: jax.Array,
) -> batching.Image:
  """Return all frames of one perturbation of one image.

  Args:
    image: uint8 `[H, W, 3]` (or grey), 0..255; the module's header describes
      each edition's input.
    name: see `sequence_names("all")`, or a harder noise such as `shot_noise_3`.
    edition: one of `EDITIONS`.
    key: JAX key, from `corruptions.example_key`; unused by deterministic
      perturbations.

  Returns:
    uint8 `[T, S, S, 3]`, frame 0 first, S the edition's size; a JAX array where
    `image` is one, else NumPy.

  Raises:
    ValueError: the name or edition is unknown, or the image has a wrong dtype
      or shape or is too small.
  """
  given, image = image, batching.three_channels(image)
  keys = seeding.single(key)[None]
  flat = sequence_flat(image[None], name, edition=edition, keys=keys)
  return batching.like_input(_reshaped(flat)[0], given)


@errors.without_traceback
def sequence_batch(
  batch: jax.typing.ArrayLike,
  name: str,
  *,
  edition: str = "imagenet",
  keys: jax.Array,
  sizes: jax.typing.ArrayLike | None = None,
) -> batching.Image:
  """Return `sequence` of every image of a batch: uint8 `[B, T, S, S, 3]`.

  Args:
    batch: uint8 `[B, H, W, 3]`.
    name: as in `sequence`.
    edition: as in `sequence`.
    keys: JAX keys `[B]` or raw uint32 `[B, 2]`.
    sizes: int `[B, 2]`, the valid (height, width) of each image in the top-left
      corner of its canvas; None if the images fill their canvases. A traced one
      that does not fit gives frames of the checker of `refusal.py`.

  Raises:
    ValueError: as for `sequence`, or a size does not fit.
  """
  flat = sequence_flat(batch, name, edition=edition, keys=keys, sizes=sizes)
  return batching.like_input(_reshaped(flat), batch)


def _reshaped(flat: jax.Array) -> jax.Array:
  """Return flat frames as `[B, T, S, S, 3]`."""
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
  """Return `sequence_batch` as uint8 `[B, T, S, S * 3]`: see `image.corrupt_flat`."""
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
  """Return the clean images that an edition's frames are compared with.

  Args:
    batch: uint8 `[B, H, W, 3]`, inputs of the edition (see the header).
    edition: one of `EDITIONS`.
    sizes: int `[B, 2]`, as in `sequence_batch`.

  Returns:
    uint8 `[B, S, S, 3]`, S the edition's size.

  Raises:
    ValueError: the edition is unknown, or the images have a wrong dtype or
      shape or are too small.
  """
  batch = _checked(batch, edition)
  sizes = batching.checked_sizes(sizes, batch.shape, _least(edition))
  variant = spec.edition(edition)
  traced = isinstance(sizes, jax.core.Tracer)
  flat = _crop(variant, traced)(batch, sizes)
  return flat.reshape(*flat.shape[:2], variant.side_px, 3)


def frame_count(name: str, edition: str = "imagenet") -> int:
  """Return the number of frames of a perturbation's sequences in an edition."""
  condition = _condition(name)
  plugin = plugins.sequence(condition.name)
  table = plugin.tables(spec.edition(edition), condition.level)
  return len(table[plugin.rows[0]])


def _condition(name: str) -> conditions.Condition:
  """Return perturbation and difficulty of a name such as `shot_noise_2`."""
  condition = conditions.SEQUENCES.parse(name)
  if condition.clean:
    known = conditions.SEQUENCES.known_names
    raise errors.unknown_error("perturbation", name, known)
  return condition


def _least(edition: str) -> int:
  """Return the least side of an edition's sources, px."""
  return spec.edition(edition).side_px if edition in _CROPPED else 1


def _checked(batch: jax.typing.ArrayLike, edition: str) -> batching.Image:
  if not isinstance(edition, str) or edition not in EDITIONS:
    raise errors.unknown_error("edition of the sequences", edition, EDITIONS)
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
  def cropped(scene: batching.Scene) -> jax.Array:
    crop = edition_crop.crop(scene.image, scene.size, variant)
    return layout.flat(layout.to_uint8(crop))

  def batch(images: jax.Array, sizes: jax.Array | None) -> jax.Array:
    keys = jnp.zeros((images.shape[0], 2), jnp.uint32)  # nothing is drawn
    return _over_scenes(cropped, images, sizes, keys, {}, variant, traced)

  return jax.jit(batch)


@functools.cache
def _arrays(name: str, edition: str, difficulty: int) -> dict[str, jax.Array]:
  tables = plugins.sequence(name).tables(spec.edition(edition), difficulty)
  return batching.to_device(tables)


def _over_scenes(
  function: Callable[[batching.Scene], jax.Array],
  images: jax.Array,
  sizes: jax.Array | None,
  keys: jax.Array,
  table: plugins.Table,
  variant: spec.Edition,
  traced: bool,
) -> jax.Array:
  """Apply `batching.over_scenes` to sources, which may be too small for an edition."""
  return batching.over_scenes(
    function,
    images,
    sizes,
    keys,
    table=table,
    edition=variant,
    traced=traced,
    least=_least(variant.name),
  )


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
    frames = functools.partial(run, plugin)
    return _over_scenes(frames, images, sizes, keys, table, variant, traced)

  return jax.jit(batch)


def run(
  plugin: plugins.Perturbation, scene: plugins.Scene, draws: Any = None
) -> jax.Array:
  """Run one picture through one plugin: uint8 `[T, S, S * 3]`.

  `draws` replaces the plugin's own draws, for tests.
  """
  if scene.edition.name not in plugin.on_source:
    crop = edition_crop.crop(scene.image, scene.size, scene.edition)
    size = layout.valid_size(crop.shape, None)
    scene = dataclasses.replace(scene, image=crop, size=size)
  if draws is None:
    draws = plugin.draw(scene)
  return plugin.frames(scene, draws)
