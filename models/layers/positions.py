"""Learned position embeddings of a transformer's patches, resized to another grid.

Positions lie in rows of a square grid, after those of tokens that are not
patches. They are interpolated with cubic kernels, as torch does it: with
`antialias` Keys' kernel of a = -0.5, stretched where the grid shrinks; without
it a = -0.75, and what lies outside is the nearest edge.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np

from models.variables import Path
from robust_tfds import errors

_PLAIN, _ANTIALIAS = -0.75, -0.5  # torch: UpSampleKernel.cpp, get_cubic_...


def grid(side: int, patch: int) -> int:
  """Return the number of patches along a side.

  Args:
    side: side of a picture, in px.
    patch: side of a patch, in px.

  Raises:
    UserError: `side` is no multiple of `patch`.
  """
  if side % patch:
    raise errors.UserError(
      f"Got pictures of {side} px, expected a multiple of {patch} px: the"
      " network cuts them into patches of that side."
    )
  return side // patch


def fit(
  path: Path, array: np.ndarray, shape: tuple[int, ...]
) -> tuple[np.ndarray, str] | None:
  """Resize a checkpoint's `pos_embed` to the model's grid, as timm does.

  It is a `Family.fit`.

  Args:
    path: path of the variable.
    array: the file's `[1, tokens, width]`.
    shape: shape of the model's variable.

  Returns:
    The model's array and a note of what was done; None if the array belongs to
    another network.
  """
  if path != ("pos_embed",) or array.ndim not in (2, 3):
    return None
  array = array.reshape(1, *array.shape[-2:])  # CLIP's are [tokens, width]
  tokens, theirs, ours = _tokens(shape[1]), array.shape[1], shape[1]
  before, after = math.isqrt(theirs), math.isqrt(ours)
  if theirs != before**2 + tokens or array.shape[2] != shape[2]:
    return None
  matrix = weights(before, after, antialias=True)
  resized = np.asarray(interpolate(array[:, tokens:], matrix, matrix))
  note = (
    f"its positions of {before} x {before} patches were interpolated to"
    f" {after} x {after}"
  )
  return np.concatenate([array[:, :tokens], resized], axis=1), note


def interpolate(
  array: jax.typing.ArrayLike, rows: np.ndarray, columns: np.ndarray
) -> jax.Array:
  """Multiply positions `[1, n, width]` by a matrix along each side of their grid."""
  array = jnp.asarray(array)
  side = math.isqrt(array.shape[1])
  square = array.reshape(side, side, -1)
  with jax.default_matmul_precision("highest"):
    square = jnp.einsum("ih,hwc->iwc", rows, square)
    square = jnp.einsum("jw,iwc->ijc", columns, square)
  return square.reshape(1, -1, array.shape[2])


def weights(
  inputs: int, outputs: int, *, antialias: bool, offset: float = 0.0
) -> np.ndarray:
  """Build the float32 matrix `[outputs, inputs]` that interpolates one axis.

  Args:
    inputs: number of positions in the file.
    outputs: number of positions of the model.
    antialias: see the header.
    offset: added to `outputs` where the distance of two outputs is computed
      (DINOv2's published networks add 0.1; without `antialias`).
  """
  step = inputs / (outputs + offset)
  places = (np.arange(outputs) + 0.5) * step - 0.5
  if antialias:
    stretch = max(step, 1.0)
    distance = np.abs(places[:, None] - np.arange(inputs)) / stretch
    kernel = _cubic(distance, _ANTIALIAS)
    return (kernel / kernel.sum(1, keepdims=True)).astype(np.float32)
  matrix = np.zeros((outputs, inputs))
  first = np.floor(places).astype(int) - 1
  for tap in range(4):
    value = _cubic(np.abs(places - first - tap), _PLAIN)
    column = np.clip(first + tap, 0, inputs - 1)
    np.add.at(matrix, (np.arange(outputs), column), value)
  return matrix.astype(np.float32)


def _tokens(count: int) -> int:
  """Return the number of positions before the square of the patches' positions."""
  return count - math.isqrt(count) ** 2


def _cubic(x: np.ndarray, a: float) -> np.ndarray:
  """Evaluate Keys' cubic kernel (1981, equation 15) at distances `x` >= 0."""
  near = ((a + 2) * x - (a + 3)) * x**2 + 1
  far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
  return np.where(x <= 1, near, np.where(x < 2, far, 0.0))
