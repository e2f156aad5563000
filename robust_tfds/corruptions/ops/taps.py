"""Separable symmetric blur with few taps: sums of shifted copies.

For small radii this is several times faster than a product with a banded matrix
(`ops/gaussian.py`), and each element is summed in the same order whatever the
canvas, so floats give the same bits in any of them. The kernel sums to 1 and is
applied as x + sum w_k (x_-k + x_k - 2 x), which leaves flat areas exactly flat:
their level must not be truncated to the one below.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions.ops import gaussian

_UNROLL = 2


def half_kernels(
  sigmas: Sequence[float] | np.ndarray, truncate: float = 4.0
) -> dict[str, np.ndarray]:
  """Return half Gaussians of every severity, centre first.

  Returns:
    `half` float32 `[5, R + 1]`, zeros beyond a severity's radius (R even), and
    `turns` int32 `[5]`, trip counts of the loop over pairs of distances.
  """
  kernels = [gaussian.kernel(s, truncate) for s in sigmas]
  radii = [len(k) // 2 for k in kernels]
  turns = [-(-r // _UNROLL) for r in radii]
  longest = max(turns) * _UNROLL
  rows = [
    np.pad(k[r:], (0, longest - r)) for k, r in zip(kernels, radii, strict=True)
  ]
  return {
    "half": np.stack(rows).astype(np.float32),
    "turns": np.array(turns, np.int32),
  }


def margin(half: jax.Array) -> int:
  """Return the number of elements to pad on either side."""
  return half.shape[-1] - 1


def blur(
  padded: jax.Array,
  half: jax.Array,
  turns: jax.Array,
  axis: int,
  stride: int = 1,
) -> jax.Array:
  """Compute the weighted sum along one axis.

  Args:
    padded: 2-D, with `margin(half) * stride` more elements on either side of
      `axis`.
    half: float32 `[R + 1]`, the right half of the kernel.
    turns: trip count, as from `half_kernels`.
    axis: 0 or 1.
    stride: distance of neighbours: the channels of an interleaved row.

  Returns:
    float32, 2-D, shorter by the margins.
  """
  centre = inner(padded, half, axis, stride).astype(jnp.float32)
  return _add(centre, padded, half, turns, axis, stride)


def change(
  padded: jax.Array,
  half: jax.Array,
  turns: jax.Array,
  axis: int,
  stride: int = 1,
) -> jax.Array:
  """Compute the change that `blur` makes: exactly 0 in flat areas, and precise
  near 0.
  """
  centre = inner(padded, half, axis, stride)
  nothing = jnp.zeros(centre.shape, jnp.float32)
  return _add(nothing, padded, half, turns, axis, stride)


def exact(
  padded: jax.Array,
  half: jax.Array,
  turns: jax.Array,
  axis: int,
  stride: int = 1,
) -> jax.Array:
  """Compute `blur` with whole weights of whole numbers, whatever their sum.

  Args:
    padded: as in `blur`, whole numbers of any kind.
    half: float32 `[R + 1]`, whole numbers; R even. The weighted sum must stay
      below 2**24, where float32 is exact.
    turns: as in `blur`.
    axis: as in `blur`.
    stride: as in `blur`.
  """
  edge = margin(half) * stride
  shape = inner(padded, half, axis, stride).shape

  def shifted(distance: int | jax.Array) -> jax.Array:
    start: list[int | jax.Array] = [0, 0]
    start[axis] = edge + distance * stride
    return jax.lax.dynamic_slice(padded, start, shape).astype(jnp.float32)

  def add(turn: jax.Array, total: jax.Array) -> jax.Array:
    for k in range(_UNROLL):
      distance = turn * _UNROLL + 1 + k
      total = total + half[distance] * (shifted(-distance) + shifted(distance))
    return total

  return jax.lax.fori_loop(0, turns, add, half[0] * shifted(0))


def inner(
  padded: jax.Array, half: jax.Array, axis: int, stride: int = 1
) -> jax.Array:
  """Return `padded` without the margins of one axis."""
  edge = margin(half) * stride
  length = padded.shape[axis] - 2 * edge
  return jax.lax.dynamic_slice_in_dim(padded, edge, length, axis)


def _add(
  total: jax.Array,
  padded: jax.Array,
  half: jax.Array,
  turns: jax.Array,
  axis: int,
  stride: int,
) -> jax.Array:
  half = jnp.asarray(half)
  edge = margin(half) * stride
  exact = jnp.issubdtype(padded.dtype, jnp.integer)
  wide = jnp.int32 if exact else jnp.float32

  def shifted(distance: int | jax.Array) -> jax.Array:
    start: list[int | jax.Array] = [0, 0]
    start[axis] = edge + distance * stride
    return jax.lax.dynamic_slice(padded, start, total.shape).astype(wide)

  centre = shifted(0)

  def add(turn: jax.Array, total: jax.Array) -> jax.Array:
    for k in range(_UNROLL):
      distance = turn * _UNROLL + 1 + k
      bend = (shifted(-distance) - centre) + (shifted(distance) - centre)
      total = total + half[distance] * bend.astype(jnp.float32)
    return total

  return jax.lax.fori_loop(0, turns, add, total)
