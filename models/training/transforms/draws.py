"""Random numbers of the mixing transforms, from an example's key alone.

Streams of `robust_tfds.corruptions.seeding`: every transform has its own range of
them, far from those of corruptions (below 2**8), so that a chain of transforms
may use one key.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import seeding

_TRIES = 12  # at least 95 % of the tries are accepted: all fail once in 10**15


def coin(key: jax.Array, shape: Sequence[int], stream: int) -> jax.Array:
  """bool of `shape`, True with probability 1/2."""
  return seeding.bits(key, shape, stream) >> 31 == 1


def beta(key: jax.Array, alpha: float, stream: int) -> jax.Array:
  """Beta(alpha, alpha), float32 scalar; uses three streams."""
  one, other = gamma(key, alpha, 2, stream)
  return one / (one + other)


def dirichlet(
  key: jax.Array, alpha: float, count: int, stream: int
) -> jax.Array:
  """Dirichlet of `count` equal `alpha`, float32 `[count]`; uses three streams."""
  parts = gamma(key, alpha, count, stream)
  return parts / parts.sum()


def gamma(key: jax.Array, alpha: float, count: int, stream: int) -> jax.Array:
  """Gamma(alpha, 1), float32 `[count]`, in any number of equal draws.

  Marsaglia & Tsang 2000, "A simple method for generating gamma variables",
  ACM TOMS 26(3); below 1 by their section 6. Tries are drawn side by side, and
  the first that is accepted counts, so no loop depends on other examples.

  Args:
    key: uint32 `[2]`.
    alpha: positive.
    count: how many.
    stream: of this and the two after it.
  """
  shape = (count, _TRIES)
  d = np.float32(max(alpha, alpha + (alpha < 1)) - 1 / 3)
  x = seeding.normal(key, shape, stream)
  u = seeding.uniform(key, shape, stream + 1)
  v = (1 + x / np.sqrt(9 * d)) ** 3
  positive = jnp.where(v > 0, v, 1)
  bound = x * x / 2 + d * (1 - positive + jnp.log(positive))
  accepted = (v > 0) & (jnp.log(u) < bound)
  first = jnp.argmax(accepted, axis=1)
  drawn = d * jnp.take_along_axis(positive, first[:, None], axis=1)[:, 0]
  if alpha < 1:
    power = seeding.uniform(key, (count,), stream + 2)
    drawn = drawn * power ** np.float32(1 / alpha)
  # Of a small alpha both may be too small for float32.
  return jnp.maximum(drawn, np.finfo(np.float32).tiny)
