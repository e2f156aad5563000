"""The result for a traced value out of range: a checker pattern, no picture.

Inside a caller's `jit` a severity or a valid size is unknown when it is
checked, and pixels have no NaN. So a picture whose traced severity is outside
1-5, or whose traced size is outside its canvas, comes back as a checker of
single pixels, magenta (255, 0, 255) and green (0, 255, 0), over its whole
canvas, margins too. No corruption produces that, and it cannot be mistaken for a
picture. `marks` finds it.

Known values are refused in words and compile no such test; in a traced call the
test is one selection per finished pixel, in the loop that writes it.
"""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import conditions
from robust_tfds.corruptions.ops import layout


def checker(height: int, width: int) -> np.ndarray:
  """Return the checker of a canvas: uint8 `[height, width, 3]`.

  >>> checker(1, 2).tolist()
  [[[255, 0, 255], [0, 255, 0]]]
  """
  return _flat(height, 3 * width).reshape(height, width, 3)


def marks(images: jax.typing.ArrayLike) -> np.ndarray:
  """Return which pictures of a batch are refusals: bool `[B]`.

  Args:
    images: uint8 `[B, H, W, 3]`.
  """
  pixels = np.asarray(images)
  return (pixels == checker(*pixels.shape[1:3])).all(axis=(1, 2, 3))


def unless(valid: jax.Array, levels: jax.Array) -> jax.Array:
  """Return the picture if it is valid, else the checker.

  Args:
    valid: bool scalar, traced.
    levels: uint8 `[H, W * 3]`, or `[T, H, W * 3]` of frames.
  """
  return jnp.where(valid, levels, _flat(*levels.shape[-2:]))


def severity_holds(severity: jax.Array) -> jax.Array:
  """Return whether a traced severity is 1-5."""
  first, *_, last = conditions.SEVERITIES
  return (severity >= first) & (severity <= last)


def size_holds(
  size: layout.Size, canvas: tuple[int, int], least: int = 1
) -> jax.Array:
  """Return whether a traced size lies within its canvas.

  Args:
    size: the valid height and width.
    canvas: height and width of the canvas.
    least: least height and width.
  """
  sides, most = jnp.asarray(size), jnp.asarray(canvas)
  return ((sides >= least) & (sides <= most)).all()


def _flat(rows: int, columns: int) -> np.ndarray:
  """Return the checker as uint8 `[rows, columns]`, channels interleaved."""
  y, column = np.ogrid[:rows, :columns]
  green = column % 3 == 1
  # A numpy array: a constant of the compiled program.
  return np.where((y + column // 3 + green) % 2 == 0, 255, 0).astype(np.uint8)
