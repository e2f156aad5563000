"""What `models.get(...)`, `init` and `apply` are given, refused in words."""

import numbers
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import errors

_MOST_CLASSES = (
  1_000_000  # the largest public label spaces have some ten thousand
)


def key(name: str, value: Any, door: str = "init") -> jax.Array:
  """A typed JAX key.

  Args:
    name: of the model, for the error.
    value: `jax.random.key(n)`, a raw key (`PRNGKey(n)`), or a whole number.
    door: what was called, for the error.

  Raises:
    UserError: something else.
  """
  wanted = "expected one key: jax.random.key(0)."
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
    raise errors.UserError(f"{name}.{door} got {what}, {wanted}")
  raise errors.UserError(f"{name}.{door} got {str(value)[:60]!r}, {wanted}")


def batch(name: str, value: Any) -> jax.Array:
  """An array of numbers with at least one row.

  Args:
    name: of the model, for the error.
    value: the batch.

  Raises:
    UserError: no array of numbers, or an empty one.
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
  """A batch of uint8 pictures or clips on the host; as `batch`."""
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
  """Refuses pixels that are neither uint8 nor preprocessed floats.

  Raises:
    UserError: says what was got.
  """
  if dtype != np.uint8 and not jnp.issubdtype(dtype, jnp.floating):
    raise errors.UserError(
      f"{name} got {dtype} pixels, expected uint8 (RGB 0..255) or preprocessed"
      " floats."
    )


def canvases(
  name: str, batch_: Any, sizes_: Any
) -> tuple[jax.Array, jax.Array]:
  """A detector's batch: uint8 `[B, H, W, 3]`, and int32 sizes `[B, 2]`.

  Args:
    name: of the model, for the error.
    batch_: canvases.
    sizes_: valid (height, width) of each.

  Raises:
    UserError: other dtypes or shapes.
  """
  images = batch(name, batch_)
  if images.ndim != 4 or images.shape[-1] != 3 or images.dtype != jnp.uint8:
    raise errors.UserError(
      f"{name} got {images.dtype} {images.shape}, expected uint8 [B, H, W, 3]."
    )
  return images, sizes(name, sizes_, len(images))


def sizes(name: str, value: Any, rows: int) -> jax.Array:
  """The valid (height, width) of each canvas: integers `[B, 2]`.

  Raises:
    UserError: another shape, or no whole numbers.
  """
  array = batch(f"{name} (its sizes)", value)
  if array.shape != (rows, 2) or not jnp.issubdtype(array.dtype, jnp.integer):
    raise errors.UserError(
      f"{name} got sizes {array.dtype} {list(array.shape)}, expected int32"
      f" {[rows, 2]}: the (height, width) of each picture in px."
    )
  return array


def num_classes(value: Any, least: int) -> int:
  """A number of classes.

  Args:
    value: what was asked for.
    least: a head of fewer makes no sense.

  Raises:
    UserError: no whole number, or one that no label space has.
  """
  whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
  if not whole or not least <= value <= _MOST_CLASSES:
    raise errors.UserError(
      f"Got num_classes={value!r}, expected a whole number of {least} or more"
      f" (at most {_MOST_CLASSES:,})."
    )
  return int(value)
