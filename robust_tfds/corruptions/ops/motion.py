"""One-sided motion blur along a line of whole pixels, in integers.

docs/evidence/specs/corruptions.md section 3, motion_blur (ImageMagick's
MotionBlurImage): taps i = 0..2 * ceil(radius), weights exp(-i^2 / (2 sigma^2))
normalised, offset ceil(i * sin - 0.5) rows and ceil(i * cos - 0.5) columns,
edges replicated. Weights are integers whose sum is a power of two, so that no
order of summation can change a bit and flat areas keep their level.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions.ops import layout

ONE = 1 << 20  # fixed point of sines and cosines
STEPS = 1 << 14  # directions a corruption chooses from, evenly spaced
_UNROLL = 4


def kernels(
  radii: Sequence[float], sigmas: Sequence[float], bits: int
) -> dict[str, np.ndarray]:
  """Return the weights of every severity.

  Args:
    radii: radii in px, as given to ImageMagick.
    sigmas: sigmas in px.
    bits: the weights of a severity sum to 2**bits.

  Returns:
    `weights` int32 `[5, T]` (zeros beyond a severity's taps; T is a multiple of
    the unrolling) and `turns` int32 `[5]`, the loop's trip counts.
  """
  widths = [2 * int(np.ceil(r)) + 1 for r in radii]
  length = -(-max(widths) // _UNROLL) * _UNROLL
  rows = [_kernel(w, s, bits, length) for w, s in zip(widths, sigmas)]
  turns = [-(-w // _UNROLL) for w in widths]
  return {"weights": np.stack(rows), "turns": np.array(turns, np.int32)}


def _kernel(width: int, sigma: float, bits: int, length: int) -> np.ndarray:
  i = np.arange(width)
  k = np.exp(-(i**2) / (2 * sigma**2))
  # Rounding the cumulative sum makes the total exact.
  total = np.round(np.cumsum(k / k.sum()) * (1 << bits)).astype(np.int64)
  weights = np.diff(total, prepend=0)
  return np.pad(weights, (0, length - width)).astype(np.int32)


def directions(low: float, high: float) -> np.ndarray:
  """Return (sine, cosine) of angles in (low, high) degrees: int32 `[STEPS, 2]`.

  The table replaces sines on the device: it has the same integers everywhere.
  """
  middle = (np.arange(STEPS) + 0.5) / STEPS
  return direction(low + (high - low) * middle)


def direction(degrees: float | np.ndarray) -> np.ndarray:
  """Return (sine, cosine) in units of 1 / `ONE`: int32 `[..., 2]`, on the host."""
  radians = np.deg2rad(degrees)
  pair = np.stack([np.sin(radians), np.cos(radians)], axis=-1)
  return np.round(pair * ONE).astype(np.int32)


def exact_offsets(degrees: np.ndarray, taps: int) -> np.ndarray:
  """Return offsets (rows, columns) as float64 rounds them: int32 `[..., 2, taps]`.

  They are computed on the host for given angles: at multiples of 30 degrees
  taps lie at half pixels, and the last bit of a float64 decides. They can
  replace a direction.
  """
  radians = np.deg2rad(degrees)[..., None]
  pair = np.stack([np.sin(radians), np.cos(radians)], axis=-2)
  return np.ceil(np.arange(taps) * pair - 0.5).astype(np.int32)


def offsets(direction: jax.Array, taps: int) -> tuple[jax.Array, jax.Array]:
  """Return whole-pixel offsets (rows, columns) of the taps, int32 `[taps]` each."""
  if direction.ndim == 2:  # they are the offsets, from `exact_offsets`
    return direction[0], direction[1]
  i = jnp.arange(taps, dtype=jnp.int32)
  half = ONE >> 1  # ceil(x - 1/2) = -floor(1/2 - x)
  rows, columns = (-((half - i * direction[axis]) // ONE) for axis in range(2))
  return rows, columns


def within(
  weights: jax.Array, direction: jax.Array, size: layout.Size
) -> jax.Array:
  """Clear taps beyond an offset of one image side, as imagecorruptions does."""
  rows, columns = offsets(direction, weights.shape[0])
  inside = (jnp.abs(rows) < size[0]) & (jnp.abs(columns) < size[1])
  return jnp.where(inside, weights, 0)


def blur(
  padded: jax.Array,
  weights: jax.Array,
  turns: jax.Array,
  direction: jax.Array,
  channels: int = 1,
) -> jax.Array:
  """Compute the weighted sum along the direction.

  Args:
    padded: integers `[H + 2 * M, (W + 2 * M) * channels]`, from `border.pad`
      with margin M = `margin(weights)` for both axes.
    weights: int32 `[T]`, from `kernels`.
    turns: number of times that `_UNROLL` taps are added.
    direction: int32 `[2]`, see `direction`; or `exact_offsets`.
    channels: interleaved values a pixel.

  Returns:
    int32 `[H, W * channels]`, in the units of values times weights.
  """
  edge = margin(weights)
  shape = (padded.shape[0] - 2 * edge, padded.shape[1] - 2 * edge * channels)
  rows, columns = offsets(direction, weights.shape[0])

  def add(turn: jax.Array, total: jax.Array) -> jax.Array:
    for k in range(_UNROLL):
      tap = turn * _UNROLL + k
      corner = (edge + rows[tap], (edge + columns[tap]) * channels)
      shifted = jax.lax.dynamic_slice(padded, corner, shape)
      total = total + weights[tap] * shifted.astype(jnp.int32)
    return total

  return jax.lax.fori_loop(0, turns, add, jnp.zeros(shape, jnp.int32))


def margin(weights: jax.Array) -> int:
  """Return the number of pixels that the taps can reach beyond the picture."""
  return weights.shape[-1]
