"""Separable Gaussian blur of planes, with the picture's own borders.

Planes are float32 `[..., H, W]` canvases whose top-left `size.h` x `size.w` is
the picture; borders are those of the picture, not of the canvas. Values outside
it must be finite, are never read, and are undefined in the result.

A blur along an axis is one product with a banded `[n, n]` matrix into which the
border rule is folded, so that any radius costs the same, including a radius of
several image sides (elastic_transform severity 1: 512 taps on 224 px).

Border rules, of a row `a b c d`:
  nearest     a a | a b c d | d d    scipy 'nearest': gaussian_blur, spatter
  reflect     b a | a b c d | d c    scipy 'reflect': elastic_transform
  reflect101  c b | a b c d | c b    OpenCV's default: Canny, box means
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import errors

BORDERS = ("nearest", "reflect", "reflect101")


def kernel(sigma: float, truncate: float = 4.0) -> np.ndarray:
  """Return scipy's 1-D Gaussian on the host, float64 `[2 * radius + 1]`, sum 1.

  Args:
    sigma: standard deviation in px; 0 gives the identity.
    truncate: radius is int(truncate * sigma + 0.5), as in scipy.ndimage.
  """
  radius = int(truncate * sigma + 0.5)
  i = np.arange(-radius, radius + 1, dtype=np.float64)
  weights = np.exp(-0.5 / max(sigma, 1e-12) ** 2 * i**2)
  return weights / weights.sum()


def kernels(
  sigmas: Sequence[float] | np.ndarray, truncate: float = 4.0
) -> np.ndarray:
  """Return one kernel per severity, centred in the longest: float32 `[5, 2 * R
  + 1]`.
  """
  rows = [kernel(s, truncate) for s in sigmas]
  longest = max(len(r) for r in rows)
  padded = [np.pad(r, (longest - len(r)) // 2) for r in rows]
  return np.stack(padded).astype(np.float32)


def integer_kernels(
  sigmas: Sequence[float], total: int, truncate: float = 4.0
) -> np.ndarray:
  """Return `kernels` in integers that sum to `total`, as float32 `[5, 2 * R + 1]`.

  The running sum is rounded, so that an edge of any height keeps its shape to
  half a unit; the kernels are symmetric, as the blur requires. Sums of products
  with integers stay exact in float32 below 2**24, in any order.
  """
  rows = kernels(sigmas, truncate).astype(np.float64) * total
  middle = rows.shape[1] // 2
  outer = np.diff(np.round(np.cumsum(rows[:, :middle], axis=1)), prepend=0.0)
  centre = total - 2 * outer.sum(axis=1, keepdims=True)
  whole = np.concatenate([outer, centre, outer[:, ::-1]], axis=1)
  return whole.astype(np.float32)


def blur(
  planes: jax.Array,
  weights: jax.Array | tuple[jax.Array, jax.Array],
  size: tuple[int | jax.Array, int | jax.Array],
  border: str = "nearest",
) -> jax.Array:
  """Blur the last two axes, rows (axis 0) first like scipy.

  Args:
    planes: `[..., H, W]`, float32 (others are cast).
    weights: a symmetric kernel `[2 * R + 1]`, host or traced, as from
      `kernels`; or one for the vertical and one for the horizontal direction.
    size: valid (height, width), as `layout.Size`.
    border: one of `BORDERS`.

  Returns:
    float32, of the shape of `planes`.
  """
  if border not in BORDERS:
    raise errors.UserError(f"Border must be one of {BORDERS}, got {border!r}.")
  down, across = weights if isinstance(weights, tuple) else (weights, weights)
  planes = planes.astype(jnp.float32)
  vertical = matrix(down, size[0], planes.shape[-2], border)
  horizontal = matrix(across, size[1], planes.shape[-1], border)
  highest = jax.lax.Precision.HIGHEST  # no TF32 or bfloat16 on accelerators
  planes = jnp.matmul(vertical, planes, precision=highest)
  return jnp.matmul(planes, horizontal.T, precision=highest)


def matrix(
  weights: jax.typing.ArrayLike,
  valid: int | jax.Array,
  canvas: int,
  border: str,
) -> jax.Array:
  """Return the blur of one axis as a matrix: float32 `[canvas, canvas]`.

  Row i holds the weight of every input position in output i; weights that
  reach beyond `valid` are folded back by the border rule.
  """
  weights = jnp.asarray(weights, jnp.float32)
  i = jnp.arange(canvas)[:, None]
  j = jnp.arange(canvas)[None, :]
  if border == "nearest":
    folded = _nearest(weights, i, j, valid)
  else:
    folded = _reflected(weights, i, j, valid, canvas, border)
  return jnp.where((j < valid) & (i < valid), folded, 0.0)


def _nearest(
  weights: jax.Array, i: jax.Array, j: jax.Array, valid: int | jax.Array
) -> jax.Array:
  radius = weights.shape[0] // 2
  inner = _lookup(weights, j - i + radius)
  # Everything at or left of the first pixel reads it; the kernel is symmetric,
  # so the right end is the same sum from the other side.
  tail = jnp.cumsum(weights)
  left = _lookup(tail, jnp.minimum(radius - i, 2 * radius))
  right = _lookup(tail, jnp.minimum(radius - (valid - 1 - i), 2 * radius))
  folded = jnp.where(j == 0, left, jnp.where(j == valid - 1, right, inner))
  return jnp.where(jnp.asarray(valid) == 1, tail[-1], folded)


def _reflected(
  weights: jax.Array,
  i: jax.Array,
  j: jax.Array,
  valid: int | jax.Array,
  canvas: int,
  border: str,
) -> jax.Array:
  length = weights.shape[0]
  radius = length // 2
  valid = jnp.asarray(valid)
  half = border == "reflect"
  period = jnp.maximum(2 * valid - (0 if half else 2), 1)
  # Reflection makes the row periodic: wrap the kernel once around the period.
  distance = jnp.arange(2 * canvas)

  def wrap(m: jax.Array, total: jax.Array) -> jax.Array:
    return total + _lookup(weights, distance + m * period)

  turns = (length + period - 1) // period
  wrapped = jax.lax.fori_loop(
    0, turns, wrap, jnp.zeros(2 * canvas, jnp.float32)
  )
  direct = wrapped[(j - i + radius) % period]
  mirrored = wrapped[((-1 if half else 0) - j - i + radius) % period]
  if half:
    return direct + mirrored
  ends = (j == 0) | (j == valid - 1)  # these two are their own mirror images
  return jnp.where(ends, direct, direct + mirrored)


def _lookup(table: jax.Array, index: jax.Array) -> jax.Array:
  """Return table[index], 0 outside the table."""
  inside = (index >= 0) & (index < table.shape[0])
  return jnp.where(inside, table[jnp.clip(index, 0, table.shape[0] - 1)], 0.0)
