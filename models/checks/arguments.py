"""Checks of the arguments of `models.get(...)`, `init` and `apply`."""

import numbers
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import errors

_MAX_CLASSES = (
  1_000_000  # the largest public label spaces have some ten thousand
)


def key(name: str, value: Any, door: str = "init") -> jax.Array:
  """Return a typed JAX key.

  Args:
    name: name of the model, for the error.
    value: `jax.random.key(n)`, a raw key (`PRNGKey(n)`), or a whole number.
    door: name of the called method, for the error.

  Raises:
    UserError: `value` is none of these.
  """
  expected = "expected one key: jax.random.key(0)."
  if isinstance(value, numbers.Integral) and not isinstance(value, bool):
    seed = int(value)
    if -(1 << 63) <= seed < 1 << 63:
      return jax.random.key(seed)
  elif isinstance(value, (jax.Array, np.ndarray)):
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key) and value.shape == ():
      return jnp.asarray(value)
    if value.dtype == np.uint32 and value.shape == (2,):
      return jax.random.wrap_key_data(jnp.asarray(value))
    what = f"{value.dtype} {list(value.shape)}"
    raise errors.UserError(f"{name}.{door} got {what}, {expected}")
  raise errors.UserError(f"{name}.{door} got {str(value)[:60]!r}, {expected}")


def batch(name: str, value: Any) -> jax.Array:
  """Return an array of numbers with at least one row.

  Args:
    name: name of the model, for the error.
    value: the batch.

  Raises:
    UserError: the batch is empty or not an array of numbers.
  """
  try:
    array = jnp.asarray(value)
  except (TypeError, ValueError) as e:
    raise errors.UserError(
      f"{name} got a {type(value).__name__} as a batch, expected an array of"
      " pixels [B, ..., 3]."
    ) from e
  if not array.size:
    raise errors.UserError(
      f"{name} got an empty batch of shape {array.shape}, expected one input or"
      " more."
    )
  return array


def numpy_batch(name: str, value: Any) -> np.ndarray:
  """Return a host batch of uint8 pictures or clips, after checks like those of
  `batch`.
  """
  try:
    array = np.asarray(value)
  except ValueError as e:  # lists of unequal length
    raise errors.UserError(
      f"{name} got a {type(value).__name__} as a batch, expected an array of"
      " uint8 pixels [B, ..., 3]."
    ) from e
  if array.dtype != np.uint8 or not array.size:
    raise errors.UserError(
      f"{name} got {array.dtype} {list(array.shape)}, expected uint8 RGB pixels"
      " [B, ..., 3] in 0..255: it runs on the host, and prepares its pixels"
      " itself."
    )
  return array


def check_pixels(name: str, dtype: Any) -> None:
  """Refuse pixels that are neither uint8 nor preprocessed floats.

  Raises:
    UserError: the dtype is neither; the message names it.
  """
  if dtype != np.uint8 and not jnp.issubdtype(dtype, jnp.floating):
    raise errors.UserError(
      f"{name} got {dtype} pixels, expected uint8 (RGB 0..255) or preprocessed"
      " floats."
    )


def canvases(
  name: str, batch_: Any, sizes_: Any
) -> tuple[jax.Array, jax.Array]:
  """Return a batch of canvases: uint8 `[B, H, W, 3]`, and int32 sizes `[B, 2]`.

  Args:
    name: name of the model, for the error.
    batch_: the canvases.
    sizes_: the valid (height, width) of each canvas; None: the whole canvas.

  Raises:
    UserError: a dtype or shape is wrong.
  """
  images = batch(name, batch_)
  if images.ndim != 4 or images.shape[-1] != 3 or images.dtype != jnp.uint8:
    raise errors.UserError(
      f"{name} got {images.dtype} {images.shape}, expected uint8 [B, H, W, 3]."
    )
  return images, sizes(name, sizes_, images)


def whole_sizes(images: np.ndarray | jax.Array) -> np.ndarray:
  """Return the sizes of pictures that fill their canvases: int32 `[B, 2]`."""
  return np.tile(np.array(images.shape[1:3], np.int32), (len(images), 1))


def sizes(name: str, value: Any, images: np.ndarray | jax.Array) -> jax.Array:
  """Return the valid (height, width) of each canvas: integers `[B, 2]`.

  Args:
    name: name of the model, for the error.
    value: the sizes; None: the whole canvases.
    images: the canvases, `[B, H, W, 3]`.

  Raises:
    UserError: the shape is wrong, or the numbers are not whole.
  """
  rows = len(images)
  given = whole_sizes(images) if value is None else value
  array = batch(f"{name} (its sizes)", given)
  if array.shape != (rows, 2) or not jnp.issubdtype(array.dtype, jnp.integer):
    raise errors.UserError(
      f"{name} got sizes {array.dtype} {list(array.shape)}, expected int32"
      f" {[rows, 2]}: the (height, width) of each picture in px."
    )
  return array


def num_classes(value: Any, least: int) -> int:
  """Return a checked number of classes.

  Args:
    value: the requested number.
    least: the smallest number that makes sense for the head.

  Raises:
    UserError: `value` is not a whole number, or out of range.
  """
  whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
  if not whole or not least <= value <= _MAX_CLASSES:
    raise errors.UserError(
      f"Got num_classes={value!r}, expected a whole number of {least} or more"
      f" (at most {_MAX_CLASSES:,})."
    )
  return int(value)
