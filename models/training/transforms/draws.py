"""Random numbers of the mixing transforms, from an example's key alone.

They use streams of `robust_tfds.corruptions.seeding`: every transform has its
own range, far from those of corruptions (below 2**8), so that a chain of
transforms may use one key.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import seeding

_TRIES = 12  # at least 95 % of the tries are accepted: all fail once in 10**15


def coin(key: jax.Array, shape: Sequence[int], stream: int) -> jax.Array:
  """Draw bool of `shape`, True with probability 1/2."""
  return seeding.bits(key, shape, stream) >> 31 == 1


def beta(key: jax.Array, alpha: float, stream: int) -> jax.Array:
  """Draw from Beta(alpha, alpha), a float32 scalar; uses three streams."""
  return dirichlet(key, alpha, 2, stream)[0]


def dirichlet(
  key: jax.Array, alpha: float, count: int, stream: int
) -> jax.Array:
  """Draw from a Dirichlet of `count` equal `alpha`, float32 `[count]`.

  It uses three streams.


  With a small alpha, gammas may all be too small for float32, but their ratios
  are not: there the largest is set to 1.
  """
  if alpha >= 1:
    parts = gamma(key, alpha, count, stream)
  else:
    logs = _log_gamma(key, alpha, count, stream)
    parts = jnp.exp(logs - logs.max())
  return parts / parts.sum()


def gamma(key: jax.Array, alpha: float, count: int, stream: int) -> jax.Array:
  """Draw from Gamma(alpha, 1), float32 `[count]`, for any number of equal draws.

  Marsaglia & Tsang 2000, "A simple method for generating gamma variables", ACM
  TOMS 26(3). All tries are drawn at once, and the first accepted one counts, so
  no loop depends on other examples.

  Args:
    key: uint32 `[2]`.
    alpha: from 1.
    count: number of draws.
    stream: the first of two streams.
  """
  shape = (count, _TRIES)
  d = np.float32(alpha - 1 / 3)
  x = seeding.normal(key, shape, stream)
  u = seeding.uniform(key, shape, stream + 1)
  v = (1 + x / np.sqrt(9 * d)) ** 3
  positive = jnp.where(v > 0, v, 1)
  bound = x * x / 2 + d * (1 - positive + jnp.log(positive))
  accepted = (v > 0) & (jnp.log(u) < bound)
  first = jnp.argmax(accepted, axis=1)
  return d * jnp.take_along_axis(positive, first[:, None], axis=1)[:, 0]


def _log_gamma(
  key: jax.Array, alpha: float, count: int, stream: int
) -> jax.Array:
  """Draw logarithms of gammas, alpha < 1: Marsaglia & Tsang 2000, 6."""
  power = jnp.log(seeding.uniform(key, (count,), stream + 2))
  return jnp.log(gamma(key, alpha + 1, count, stream)) + power / alpha
