"""Checks of the transforms' pixels, keys and numbers."""

import numbers
from collections.abc import Callable, Iterable
from typing import TypeGuard

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import conditions, errors
from robust_tfds.corruptions import batching, seeding

# Sums over a picture stay below 2**32, coordinates below 2**15 px.
LARGEST_PX = 2048
MOST = 1 << 16  # most pictures to draw from


def pictures(
  images: jax.typing.ArrayLike, keys: seeding.Keys
) -> tuple[batching.Image, jax.Array]:
  """Return a batch and its keys, after checks.

  Args:
    images: uint8 `[B, H, W, 3]`; grey ones, of one channel, become RGB.
    keys: uint32 `[B, 2]`, or typed keys `[B]`.

  Returns:
    uint8 `[B, H, W, 3]` and uint32 `[B, 2]`.

  Raises:
    UserError: a dtype or shape is wrong, there are no pixels, a side is above
      `LARGEST_PX`, or the number of keys is wrong.
  """
  batch = batching.three_channels(images, batch=True)
  height, width = batch.shape[1:3]
  if max(height, width) > LARGEST_PX:
    raise errors.UserError(
      f"Training pictures have sides of up to {LARGEST_PX} px, got"
      f" {height}x{width}. Resize or crop them first."
    )
  return batch, batching.checked_keys(keys, len(batch))


def pictures_or_clips(
  images: batching.Image, keys: seeding.Keys
) -> tuple[batching.Image, jax.Array]:
  """Return pictures, or all frames of clips with a key each, after checks.

  Clips are `[B, T, H, W, 3]`; see `pictures`.
  """
  if images.ndim != 5:
    return pictures(images, keys)
  videos = clips(images)
  count, length = videos.shape[:2]
  raw = batching.checked_keys(keys, count)
  frame_keys = seeding.keys_of_frames(raw, length).reshape(-1, 2)
  return pictures(videos.reshape(-1, *videos.shape[2:]), frame_keys)


def array(images: jax.typing.ArrayLike) -> batching.Image:
  """Return images as an array; UserError if they cannot be one."""
  if isinstance(images, (jax.Array, np.ndarray)):
    return images
  return batching.as_array(images)


def clips(images: batching.Image) -> batching.Image:
  """Return clips `[B, T, H, W, 3]` with at least one frame.

  Grey ones become RGB.

  Raises:
    UserError: an axis is empty.
  """
  if 0 in images.shape:
    raise errors.UserError(
      f"Clips must have frames and pixels, got shape {list(images.shape)}."
    )
  if images.shape[-1] == 1:
    return jnp.broadcast_to(images, (*images.shape[:-1], 3))
  return images


def user_pictures(
  name: str,
  value: jax.typing.ArrayLike,
  side: tuple[int, ...] | None = None,
  rows: int = 0,
) -> jax.Array:
  """Return the user's further pictures, on the devices.

  Args:
    name: name of the argument.
    value: uint8 `[N, H, W, 3]`, N from 1 to 65536.
    side: required height and width; None: any.
    rows: required number of pictures; 0: any.

  Raises:
    UserError: there are none, or dtype, shape, size or number is wrong.
  """
  array = batching.as_array(value, name) if isinstance(value, list) else value
  shape, kind = np.shape(array), getattr(array, "dtype", type(array).__name__)
  if kind != np.uint8 or len(shape) != 4 or shape[-1] != 3 or 0 in shape:
    raise errors.UserError(
      f"{name} must be uint8 [N, H, W, 3] of at least one picture, got"
      f" {kind} {list(shape)}."
    )
  if shape[0] > MOST:
    raise errors.UserError(
      f"{name} may be {MOST} pictures at most, got {shape[0]}."
    )
  if rows and shape[0] != rows:
    raise errors.UserError(
      f"{name} are {shape[0]} for {rows} images: one for each, where they are"
      " paired."
    )
  if side is not None and shape[1:3] != side:
    raise errors.UserError(
      f"{name} are {shape[1]}x{shape[2]} px, the images {side[0]}x{side[1]}:"
      " resize and crop them to the images' size first."
    )
  return jnp.asarray(array)


def drawn(
  kind: str,
  count: int,
  side: int,
  seed: int,
  draw: Callable[[np.random.Generator, int], np.ndarray],
) -> np.ndarray:
  """Return procedural pictures, which depend on (seed, side, their number) alone.

  Args:
    kind: kind of the pictures, part of every key.
    count: number of pictures, from 1.
    side: side in px, from 8 to 2048.
    seed: a whole number from 0.
    draw: draws one picture, uint8 `[side, side, 3]`.

  Returns:
    uint8 `[count, side, side, 3]`; the first n are those of `count=n`.

  Raises:
    UserError: a number is out of range.
  """
  whole_number("count", count, range(1, MOST + 1))
  whole_number("side", side, range(8, LARGEST_PX + 1))
  ids = [str(i) for i in range(count)]
  keys = conditions.raw_keys(seed, kind, "drawn", 1, ids)
  return np.stack([draw(np.random.default_rng(key), side) for key in keys])


def number(
  name: str, value: object, least: float, most: float = float("inf")
) -> float:
  """Return a finite number above `least` and up to `most`, Python's or numpy's.

  Raises:
    UserError: it is out of range; the message names the argument.
  """
  if (
    not _is_number(value) or not least < value <= most or value == float("inf")
  ):
    bound = "" if most == float("inf") else f" and up to {most:g}"
    raise errors.UserError(
      f"{name} must be a number above {least:g}{bound}, got {value!r}."
    )
  return float(value)


def share(name: str, value: object) -> float:
  """Return a number from 0 to 1.

  Raises:
    UserError: it is out of range; the message names the argument.
  """
  if not _is_number(value) or not 0 <= value <= 1:
    raise errors.UserError(
      f"{name} must be a number from 0 to 1, got {value!r}."
    )
  return float(value)


def _is_number(value: object) -> TypeGuard[float]:
  return isinstance(value, numbers.Real) and not isinstance(value, bool)


def switch(name: str, value: object) -> bool:
  """Return True or False.

  Raises:
    UserError: `value` is anything else, such as the text "False", which is truthy.
  """
  if not isinstance(value, (bool, np.bool_)):
    raise errors.UserError(f"{name} must be True or False, got {value!r}.")
  return bool(value)


def whole_number(name: str, value: object, allowed: Iterable[int]) -> int:
  """Return a whole number within a range.

  Raises:
    UserError: it is out of range; the message names the argument.
  """
  got, known = conditions.whole_number(value), list(allowed)
  if got not in known:
    # -1 means a drawn number, 0 means none.
    first = "-1 or 1" if known[:2] == [-1, 1] else str(known[0])
    raise errors.UserError(
      f"{name} must be a whole number, {first} to {known[-1]}, got {value!r}."
    )
  return got
