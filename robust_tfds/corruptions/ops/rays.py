"""Light of a star with rays of random lengths, as the two sparkles use it."""

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import seeding

FEWEST, MOST = 50, 199  # rays of a star
SPREAD = 0.25  # standard deviation of a ray's length, in radii


def draw(
  key: jax.Array, stars: int, stream: int
) -> tuple[jax.Array, jax.Array]:
  """Draw the rays of some stars.

  Args:
    key: the example's key.
    stars: number of stars.
    stream: the first of two streams that are used.

  Returns:
    The number of rays, int32 `[stars]`, and standard normals, float32
    `[stars, MOST]`, of which a star uses as many as it has rays.
  """
  count = FEWEST + seeding.integers(key, (stars,), MOST - FEWEST + 1, stream)
  return count, seeding.normal(key, (stars, MOST), stream + 1)


def light(
  shape: tuple[int, ...],
  centre: jax.Array,
  lengths: jax.Array,
  count: jax.Array,
  exponent: jax.typing.ArrayLike,
) -> jax.Array:
  """Return how much of its colour a star gives to each pixel, 0..1.

  Args:
    shape: `(H, W, ...)` of the picture.
    centre: (row, column), float32 `[2]`.
    lengths: lengths of the rays in px, float32 `[MOST]`.
    count: number of rays.
    exponent: exponent of the falloff.
  """
  y = jnp.arange(shape[0], dtype=jnp.float32)[:, None] - centre[0]
  x = jnp.arange(shape[1], dtype=jnp.float32)[None, :] - centre[1]
  rays = count.astype(jnp.float32)
  angle = jnp.arctan2(x, y)
  turn = (angle + np.float32(np.pi)) * (rays / np.float32(2 * np.pi))
  whole = jnp.floor(turn)
  part = turn - whole
  first = whole.astype(jnp.int32)
  first = jnp.where(first >= count, first - count, first)
  second = jnp.where(first + 1 >= count, 0, first + 1)
  near = jnp.take(lengths, first, mode="clip")
  length = near + part * (jnp.take(lengths, second, mode="clip") - near)
  falloff = length * length / (y * y + x * x + np.float32(1e-4))
  middle = part - 0.5
  return jnp.clip((1 - middle * middle) * falloff**exponent, 0, 1)


def padded(lengths: np.ndarray, counts: np.ndarray) -> np.ndarray:
  """Return given lengths of one star after the other as float32 `[stars, MOST]`."""
  out = np.zeros((len(counts), MOST), np.float32)
  ends = np.cumsum(counts)
  for row, end, count in zip(out, ends, counts, strict=True):
    row[:count] = lengths[end - count : end]
  return out
