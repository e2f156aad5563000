"""What transforms refuse: pixels, keys and numbers that make no sense."""

from collections.abc import Iterable

import jax

from robust_tfds import conditions, errors
from robust_tfds.corruptions import batching, seeding

# Sums over a picture stay below 2**32, coordinates below 2**15 px.
LARGEST_PX = 2048


def pictures(
  images: jax.typing.ArrayLike, keys: seeding.Keys
) -> tuple[batching.Image, jax.Array]:
  """A batch and its keys.

  Args:
    images: uint8 `[B, H, W, 3]`; grey ones, of one channel, become RGB.
    keys: uint32 `[B, 2]`, or typed keys `[B]`.

  Returns:
    uint8 `[B, H, W, 3]` and uint32 `[B, 2]`.

  Raises:
    UserError: another dtype or shape, no pixels, a side above `LARGEST_PX`, or
      another number of keys.
  """
  batch = batching.three_channels(images, batch=True)
  height, width = batch.shape[1:3]
  if max(height, width) > LARGEST_PX:
    raise errors.UserError(
      f"Training pictures have sides of up to {LARGEST_PX} px, got"
      f" {height}x{width}. Resize or crop them first."
    )
  return batch, batching.checked_keys(keys, len(batch))


def number(
  name: str, value: object, least: float, most: float = float("inf")
) -> float:
  """A number above `least` and up to `most`.

  Raises:
    UserError: names the argument.
  """
  good = isinstance(value, (int, float)) and not isinstance(value, bool)
  if not good or not least < value <= most:  # type: ignore[operator]
    bound = "" if most == float("inf") else f" and up to {most:g}"
    raise errors.UserError(
      f"{name} must be a number above {least:g}{bound}, got {value!r}."
    )
  return float(value)  # type: ignore[arg-type]


def whole(name: str, value: object, allowed: Iterable[int]) -> int:
  """A whole number of a range.

  Raises:
    UserError: names the argument.
  """
  got, known = conditions.whole(value), list(allowed)
  if got not in known:
    raise errors.UserError(
      f"{name} must be a whole number, {known[0]} to {known[-1]}, got {value!r}."
    )
  return got
