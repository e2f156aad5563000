"""Batches of pictures: checks of their arrays, and how their examples are processed.

Pictures (`image/`) and sequences (`sequence/`) share this code: plugins see a
`Scene`, one picture of the batch with all that they may use.
"""

import dataclasses
import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import errors
from robust_tfds.corruptions import refusal, seeding, spec
from robust_tfds.corruptions.ops import layout, platforms

Image = jax.Array | np.ndarray
# Arrays by name; `prepare` of a plugin may add trees of arrays.
Table = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Scene:
  """A picture of a batch, with all that a plugin may use besides.

  Attributes:
    image: uint8 canvas `[H, W, 3]` of which the top-left `size.h` x `size.w`
      pixels are the picture: operations take their borders from `size`, and
      their result outside it is undefined (the caller clears it).
    size: valid height and width.
    table: the plugin's arrays for the severity or the frame.
    edition: the published variant.
    key: uint32 `[2]`, the example's key.
  """

  image: jax.Array
  size: layout.Size
  table: Table
  edition: spec.Edition
  key: jax.Array


def three_channels(image: jax.typing.ArrayLike, batch: bool = False) -> Image:
  """Check dtype and shape; grey becomes three equal channels.

  Args:
    image: uint8 `[H, W, 3]`, `[H, W, 1]` or `[H, W]`, 0..255.
    batch: whether there is an axis of examples before these; then not `[H, W]`.

  Raises:
    UserError: the dtype or shape is wrong, or there are no pixels.
  """
  if not isinstance(image, (jax.Array, np.ndarray)):
    image = as_array(image)
  if image.dtype != np.uint8:
    raise errors.UserError(
      f"Images must be uint8 with levels 0..255, got {image.dtype}. Convert"
      " floats in [0, 1] with (x * 255).astype('uint8'), 16-bit images with"
      " (x >> 8).astype('uint8')."
    )
  if not batch and image.ndim == 2:
    image = image[..., None]
  axes = 4 if batch else 3
  axes_in_words = "[B, H, W, 3]" if batch else "[H, W, 3] or [H, W]"
  if image.ndim != axes or image.shape[-1] not in (1, 3):
    raise errors.UserError(
      f"Images must be {axes_in_words} (or 1 channel), RGB or grey, got shape"
      f" {list(image.shape)}{_layout(image.shape, batch)}."
    )
  if 0 in image.shape[:-1]:
    raise errors.UserError(f"Empty image: shape {list(image.shape)}.")
  if image.shape[-1] == 3:
    return image
  shape = (*image.shape[:-1], 3)
  if isinstance(image, jax.Array):
    return jnp.broadcast_to(image, shape)
  return np.broadcast_to(image, shape)


def _layout(shape: tuple[int, ...], batch: bool) -> str:
  """Say what arrays of a shape are that are no pictures, and what to do."""
  first, last = shape[-3:-2], shape[-1:]
  plain = last in ((1,), (3,))
  if first in ((1,), (3,)) and not plain and len(shape) in (3, 4):
    axes = "(1, 2, 0)" if len(shape) == 3 else "(0, 2, 3, 1)"
    return f": channels first, as PyTorch has them. Use image.transpose{axes}"
  if len(shape) == 4 and plain:
    return ": a batch. Use corruptions.corrupt_batch (sequence_batch), a key a picture"
  if len(shape) == 3 and batch:
    return ": one picture, or grey ones. Use images[None], or images[..., None]"
  if last in ((2,), (4,)):
    return f": with an alpha channel. Use image[..., :{last[0] - 1}]"
  return ""


def like_input(result: jax.Array, image: object) -> Image:
  """Return a result as NumPy where NumPy, or a list, was given.

  A writable copy; traced results stay, and JAX arrays of JAX arrays.
  """
  if isinstance(image, jax.Array) or isinstance(result, jax.core.Tracer):
    return result
  return np.array(result)


def checked_keys(keys: seeding.Keys, count: int) -> jax.Array:
  """Return the keys of `count` images as uint32 `[count, 2]`.

  Raises:
    UserError: the number of keys is wrong.
  """
  raw = seeding.raw(keys)
  if raw.shape != (count, 2):
    raise errors.UserError(
      f"One key per image expected: {count} images, keys of shape"
      f" {list(raw.shape)}."
    )
  return raw


def as_array(image: object, name: str = "Images") -> np.ndarray:
  """Return a list as an array; UserError for rows of unequal length."""
  try:
    return np.asarray(image)
  except ValueError as e:
    raise errors.UserError(
      f"{name} must be uint8 arrays, got what numpy cannot make one of: {e}"
    ) from e


def checked_sizes(
  sizes: jax.typing.ArrayLike | None,
  canvases: tuple[int, ...],
  least: int = 1,
) -> Image | None:
  """Return the (height, width) of every image as int32 `[B, 2]`, or None.

  Args:
    sizes: integers; traced ones cannot be checked here: see `refusal.py`.
    canvases: shape of the images, `[B, H, W, 3]`.
    least: least height and width.

  Raises:
    UserError: the shape or dtype is wrong, or a size is outside the canvas.
  """
  if sizes is None:
    return None
  if not isinstance(sizes, (jax.Array, np.ndarray)):
    sizes = as_array(sizes)
  count, height, width = canvases[:3]
  if sizes.shape != (count, 2) or not jnp.issubdtype(sizes.dtype, jnp.integer):
    raise errors.UserError(
      f"sizes must be integers [{count}, 2] (height, width), got {sizes.dtype}"
      f"{list(sizes.shape)}."
    )
  if isinstance(sizes, jax.core.Tracer):
    return sizes.astype(jnp.int32)
  pairs = np.asarray(sizes)
  outside = (pairs < least) | (pairs > (height, width))
  if outside.any():
    row = int(np.flatnonzero(outside.any(axis=1))[0])
    raise errors.UserError(
      f"sizes, row {row}: (height, width) must lie between ({least}, {least})"
      f" and the canvas, ({height}, {width}); got {tuple(pairs[row].tolist())}."
    )
  return pairs.astype(np.int32)


def to_device(arrays: Any) -> Any:
  """Put a tree of numpy arrays on the device, also inside a caller's `jit`."""
  with jax.ensure_compile_time_eval():
    return jax.tree.map(jnp.asarray, arrays)


def over_scenes(
  function: Callable[[Scene], jax.Array],
  images: Image,
  sizes: jax.Array | None,
  keys: jax.Array,
  *,
  table: Table,
  edition: spec.Edition,
  traced: bool,
  severity: jax.Array | None = None,
  least: int = 1,
) -> jax.Array:
  """Apply `function(scene)` to every picture, by `over_batch`.

  Args:
    function: returns uint8 `[..., H, W * 3]`.
    images: uint8 `[B, H, W, 3]`.
    sizes: int32 `[B, 2]`; None if the pictures fill their canvases.
    keys: uint32 `[B, 2]`.
    table: table of all scenes.
    edition: edition of all scenes.
    traced: whether severity or sizes may be out of range: then the result is
      the checker of `refusal.py`.
    severity: the traced severity; None if there is none.
    least: least height and width of a picture.
  """

  def process(image: jax.Array, size: layout.Size, key: jax.Array) -> jax.Array:
    levels = function(Scene(image, size, table, edition, key))
    if not traced:
      return levels
    checks = []
    if severity is not None:
      checks.append(refusal.severity_holds(severity))
    if sizes is not None:
      canvas = images.shape[1], images.shape[2]
      checks.append(refusal.size_holds(size, canvas, least))
    return refusal.unless(functools.reduce(operator.and_, checks), levels)

  return over_pictures(process, images, sizes, keys)


def over_pictures(
  function: Callable[..., jax.Array],
  images: Image,
  sizes: jax.Array | None,
  *arrays: Image,
) -> jax.Array:
  """Apply `function(image, size, *rows)` to every picture, by `over_batch`.

  Args:
    function: takes a canvas `[H, W, 3]`, its `layout.Size` and a row of each of
      the other arrays.
    images: uint8 `[B, H, W, 3]`.
    sizes: int32 `[B, 2]`; None if the pictures fill their canvases.
    *arrays: arrays `[B, ...]`.
  """

  def process(
    image: jax.Array, size: jax.Array | None, *rows: jax.Array
  ) -> jax.Array:
    return function(image, layout.valid_size(image.shape, size), *rows)

  return over_batch(process, images, sizes, *arrays)


def over_batch(
  function: Callable[..., jax.Array],
  *arrays: Image | None,
  at_once: int | None = None,
) -> jax.Array:
  """Apply `function` to every example: together on accelerators, in turn on the CPU.

  An image's intermediates fit a core's cache, a batch's do not: processing in
  turn is two to five times as fast for anything with more than one pass.

  Args:
    function: takes a row of each array, or None for an array that is None.
    *arrays: arrays of one length, or None.
    at_once: number of examples that an accelerator processes together, to bound
      its memory; None: all.
  """
  present = [a is not None for a in arrays]

  def call(rows: Any) -> jax.Array:
    remaining = iter(rows)
    return function(*(next(remaining) if p else None for p in present))

  def together(xs: list[jax.Array]) -> jax.Array:
    if at_once is None or len(xs[0]) <= at_once:
      return jax.vmap(call)(xs)
    return jax.lax.map(call, xs, batch_size=at_once)

  return platforms.dependent(
    [a for a in arrays if a is not None],
    cpu=lambda xs: jax.lax.map(call, xs),
    default=together,
  )
