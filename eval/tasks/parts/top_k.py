"""The five best classes of every example: what classifiers' cells hold.

And what the five best do not tell of the softmax: `parts/proper_scores`.
"""

from __future__ import annotations

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.eval.pipeline import inputs
from robust_tfds.eval.tasks.parts import proper_scores

SIZE = 5


def reduce(logits: jax.Array, labels: jax.Array) -> dict[str, jax.Array]:
  """All columns of a classifier's cell.

  Args:
    logits: float32 `[B, classes]`.
    labels: int32 `[B]`, the true classes.

  Returns:
    What `best` gives, and `nll` and `brier`, float32 `[B]`.
  """
  return {**best(logits), **proper_scores.of_logits(logits, labels)}


def best(logits: jax.Array) -> dict[str, jax.Array]:
  """Top-5 ids (int32) and softmax scores (float32), ties by lower class id.

  Args:
    logits: float32 `[..., classes]`.

  Returns:
    `top5` and `score`, `[..., 5]`, -1 and 0 where there are fewer classes, or
    logits of -inf: those are never an answer.
  """
  ranks = min(SIZE, logits.shape[-1])
  # top_k of the logits, not of the softmax: float32 softmax makes new ties.
  top, ids = jax.lax.top_k(logits, ranks)
  ids = jnp.where(jnp.isneginf(top), -1, ids)
  score = jnp.exp(top - jax.nn.logsumexp(logits, axis=-1, keepdims=True))
  pad = [(0, 0)] * (logits.ndim - 1) + [(0, SIZE - ranks)]
  return {
    "top5": jnp.pad(ids.astype(jnp.int32), pad, constant_values=-1),
    "score": jnp.pad(score, pad),
  }


def columns(
  batch: inputs.Batch, outputs: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
  """What `reduce` or `best` gave of the batch's valid rows."""
  listed = ("top5", "score", *proper_scores.NAMES)
  return {n: outputs[n][batch.mask] for n in listed if n in outputs}
