"""OpenCV's resize of the frost pictures: linear in advance, cubic on the device.

Both follow OpenCV's 8-bit arithmetic: sample (i + 1/2) * n_in / n_out - 1/2,
edges replicated, no antialiasing. Hendrycks' small editions shrink the pictures
by a constant, once, on the host (`linear`); imagecorruptions enlarges them by a
factor that depends on the image, so only the crop that is needed is computed
(`cubic_crop`), in integers.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions.ops import packed

_BITS = 11  # OpenCV's INTER_RESIZE_COEF_BITS
_FINE = 14  # OpenCV's cubic is in floats where it is vectorised
_DROP = 6  # 255 * 1.27**2 << (2 * _FINE - _DROP) fits int32
_PHASES = 4096  # positions between two pixels
_A = -0.75  # OpenCV's cubic


def linear(picture: np.ndarray, scale: float) -> np.ndarray:
  """Resize like cv2.resize(picture, (0, 0), fx=scale, fy=scale), on the host."""
  height, width = (int(np.rint(n * scale)) for n in picture.shape[:2])
  top, bottom, down = _linear_taps(picture.shape[0], height, scale)
  left, right, across = _linear_taps(picture.shape[1], width, scale)
  one = 1 << _BITS
  across = across[:, None]
  wide = picture.astype(np.int64)
  rows = wide[:, left] * (one - across) + wide[:, right] * across
  rows = rows >> 4  # as OpenCV's vertical pass does, then two roundings
  down = down[:, None, None]
  upper = (rows[top] * (one - down)) >> 16
  lower = (rows[bottom] * down) >> 16
  return ((upper + lower + 2) >> 2).astype(np.uint8)


def _linear_taps(
  n_in: int, n_out: int, scale: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
  """Return lower and upper neighbour, and the upper one's weight, of every output."""
  at = ((np.arange(n_out) + 0.5) / scale - 0.5).astype(np.float32)
  lower = np.floor(at).astype(np.int64)
  weight = np.rint((at - lower.astype(np.float32)) * (1 << _BITS))
  outside = (lower < 0) | (lower >= n_in - 1)
  weight = np.where(outside, 0, weight).astype(np.int64)
  lower = np.clip(lower, 0, n_in - 1)
  return lower, np.minimum(lower + 1, n_in - 1), weight


def cubic_weights() -> np.ndarray:
  """Return OpenCV's four cubic taps of every phase: int32 `[phases, 4]`."""
  x = np.arange(_PHASES, dtype=np.float64) / _PHASES
  outer = ((_A * (x + 1) - 5 * _A) * (x + 1) + 8 * _A) * (x + 1) - 4 * _A
  inner = ((_A + 2) * x - (_A + 3)) * x * x + 1
  y = 1 - x
  other = ((_A + 2) * y - (_A + 3)) * y * y + 1
  taps = np.stack([outer, inner, other, 1 - outer - inner - other], axis=1)
  return np.rint(taps * (1 << _FINE)).astype(np.int32)


def cubic_crop(
  picture: jax.Array,
  shape: jax.Array,
  resized: jax.Array,
  corner: Sequence[jax.Array],
  count: tuple[int, int],
  weights: jax.Array,
) -> jax.Array:
  """Compute a crop of an enlarged picture.

  Args:
    picture: uint8 `[H, W * 3]`, the picture in its top-left corner.
    shape: the picture's height and width, int32.
    resized: height and width after enlarging, at least 1.1 times.
    corner: the crop's first row and column within the enlarged picture.
    count: rows and columns of the crop, static.
    weights: `cubic_weights()`.

  Returns:
    int32 `[rows, columns * 3]`, 0..255.
  """
  have = (picture.shape[0], picture.shape[1] // 3)
  axes = [
    _cubic_taps(*axis, weights) for axis in zip(shape, resized, corner, count)
  ]
  # The crop reads at most count / 1.1 pixels of the picture, and 4.
  band = [min(int(n / 1.1) + 5, m) for n, m in zip(count, have)]
  first = [
    jnp.clip(near[0, 0], 0, m - n) for (near, _), m, n in zip(axes, have, band)
  ]
  source = jax.lax.dynamic_slice(
    picture, (first[0], first[1] * 3), (band[0], band[1] * 3)
  ).astype(jnp.int32)
  (y, down), (x, across) = (
    (jnp.clip(near - start, 0, n - 1), taps)
    for (near, taps), start, n in zip(axes, first, band)
  )
  x = (x[:, None, :] * 3 + jnp.arange(3)[None, :, None]).reshape(-1, 4)
  across = jnp.repeat(across, 3, axis=0)

  # Loops, not sums: fused into one expression, XLA would recompute the rows
  # for every column that reads them.
  def add_rows(k: jax.Array, total: jax.Array) -> jax.Array:
    return total + packed.rows(source, y[:, k]) * down[:, k, None]

  def add_columns(k: jax.Array, total: jax.Array) -> jax.Array:
    return total + packed.columns(rows, x[:, k]) * across[:, k]

  zeros = jnp.zeros((count[0], source.shape[1]), jnp.int32)
  rows = jax.lax.fori_loop(0, 4, add_rows, zeros)
  rows = (rows + (1 << (_DROP - 1))) >> _DROP
  zeros = jnp.zeros((count[0], 3 * count[1]), jnp.int32)
  total = jax.lax.fori_loop(0, 4, add_columns, zeros)
  bits = 2 * _FINE - _DROP
  return jnp.clip((total + (1 << (bits - 1))) >> bits, 0, 255)


def _cubic_taps(
  n_in: jax.Array,
  n_out: jax.Array,
  start: jax.Array,
  count: int,
  weights: jax.Array,
) -> tuple[jax.Array, jax.Array]:
  """Return neighbours and weights of resized positions, int32 `[count, 4]` each."""
  i = start + jnp.arange(count, dtype=jnp.int32)
  above = (2 * i + 1) * n_in - n_out  # over 2 * n_out: ratios of integers
  below = 2 * n_out
  lower = above // below
  phase = (above - lower * below) * _PHASES // below
  near = lower[:, None] + jnp.arange(-1, 3)
  return jnp.clip(near, 0, n_in - 1), weights[phase]
