"""NLL and Brier score of the whole softmax, on the device: `nll` and `brier`.

Both need the probability of the true class, which the five best scores of a
cell may not contain. With p the softmax over K classes and y the true one:

  nll     -log p_y, from 0; infinite for a class without an output
  brier   sum over k of (p_k - [k = y])^2, in [0, 2] (Brier 1950: the sum over all
          classes, twice the score of two classes that is often meant)

A true class below 0, of padding and of examples without one, gives meaningless
numbers.
"""

import jax
import jax.numpy as jnp
import numpy as np

NAMES = ("nll", "brier")


def from_logits(logits: jax.Array, labels: jax.Array) -> dict[str, jax.Array]:
  """Compute both scores of one softmax per example.

  Args:
    logits: float32 `[B, classes]`, -inf for classes without an output.
    labels: int32 `[B]`.

  Returns:
    `nll` and `brier`, float32 `[B]`.
  """
  chance = jax.nn.softmax(logits, axis=-1)
  return {"nll": _nll(logits, labels), "brier": _brier(chance, labels)}


def from_views(logits: jax.Array, labels: jax.Array) -> dict[str, jax.Array]:
  """Compute both scores of the mean of several softmaxes per example.

  Args:
    logits: float32 `[B, views, classes]`.
    labels: int32 `[B]`.

  Returns:
    `nll` and `brier`, float32 `[B]`.
  """
  each = _nll(logits, labels[:, None])
  least = each.min(axis=1)
  # log of a mean of exp(-nll), none of which underflows to no chance at all.
  least_finite = jnp.where(jnp.isinf(least), 0, least)
  gain = jnp.expm1(least_finite[:, None] - each).mean(axis=1)
  nll = jnp.where(jnp.isinf(least), least, least_finite - jnp.log1p(gain))
  chance = jax.nn.softmax(logits, axis=-1).mean(axis=1)
  return {"nll": nll, "brier": _brier(chance, labels)}


def _nll(logits: jax.Array, labels: jax.Array) -> jax.Array:
  """Compute log sum exp(z) - z_y without the rounding of two large numbers.

  With the largest logit m it is (m - z_y) + log(1 + the sum of the others'
  exp(z_k - m)): exact to float32 also where the model is nearly certain.
  """
  largest = logits.max(axis=-1, keepdims=True)
  best = logits == largest
  less = jnp.where(best, 0, jnp.exp(logits - largest)).sum(axis=-1)
  others = less + (best.sum(axis=-1) - 1)  # of equal largest ones all but one
  # Labels below 0 are of padding.
  own = jnp.maximum(labels, 0)[..., None]
  own = jnp.broadcast_to(own, (*logits.shape[:-1], 1))
  behind = largest - jnp.take_along_axis(logits, own, axis=-1)
  return behind[..., 0] + jnp.log1p(others)


def _brier(chance: jax.Array, labels: jax.Array) -> jax.Array:
  """Compute the Brier score of probabilities `[B, classes]`.

  1 - p_y is computed as the sum of the others.
  """
  own = np.arange(chance.shape[-1]) == labels[:, None]
  others = jnp.where(own, 0, chance)
  score = jnp.square(others.sum(axis=-1)) + jnp.square(others).sum(axis=-1)
  return jnp.minimum(score, 2)
