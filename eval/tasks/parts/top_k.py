"""The five best classes of every example: the columns of classifiers' cells.

`parts/proper_scores` adds what the five best do not tell about the softmax.
"""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np

from eval.cells import cell as cells_lib
from eval.cells import table
from eval.metrics import rates as rates_lib
from eval.metrics import resampling
from eval.pipeline import inputs
from eval.tasks.headlines import headlines as headlines_lib
from eval.tasks.headlines import spread
from eval.tasks.parts import proper_scores
from robust_tfds.conditions import Condition

SIZE = 5
MEAN_CLASS_ACCURACY = "mean_class_accuracy"


def reduce(logits: jax.Array, labels: jax.Array) -> dict[str, jax.Array]:
  """Return all columns of a classifier's cell.

  Args:
    logits: float32 `[B, classes]`.
    labels: int32 `[B]`, the true classes.

  Returns:
    The result of `best`, and `nll` and `brier`, float32 `[B]`.
  """
  return {**best(logits), **proper_scores.from_logits(logits, labels)}


def best(logits: jax.Array) -> dict[str, jax.Array]:
  """Return top-5 ids (int32) and softmax scores (float32), ties by lower class id.

  Args:
    logits: float32 `[..., classes]`.

  Returns:
    `top5` and `score`, `[..., 5]`, -1 and 0 if there are fewer classes, or for
    logits of -inf, which are never an answer.
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
  """Return the columns of `reduce` or `best` for the batch's valid rows."""
  listed = ("top5", "score", *proper_scores.NAMES)
  return {n: outputs[n][batch.mask] for n in listed if n in outputs}


def error_rows(
  cell: cells_lib.Cell, label: np.ndarray, top5: np.ndarray, groups: np.ndarray
) -> list[table.Row]:
  """Return `error` and, if five classes are ranked, `top5_error`, with intervals.

  Args:
    cell: the cell of the rows.
    label: int `[N]`, or `[N, L]`: any of several, -1 pads.
    top5: int `[N, 5]`, class ids best first, -1 pads.
    groups: `[N]`, the group of each example; groups are drawn whole.
  """
  right = hits_by_rank(label, top5)
  wrong = {f"{name}error": ~hits for name, hits in right.items()}
  return rate_rows(cell, wrong, groups)


def hits_by_rank(label: np.ndarray, top5: np.ndarray) -> dict[str, np.ndarray]:
  """Return whether the first class is right and, if five are ranked, any of them.

  Args:
    label: int `[N]`, or `[N, L]`: any of several, -1 pads.
    top5: int `[N, 5]`, class ids best first, -1 pads.

  Returns:
    bool `[N]` under '' and `top5_`, the prefixes of the metrics' names.
  """
  known = label.reshape(len(label), -1)
  known = np.where(known < 0, top5.min() - 1, known)  # pads are no answers
  hits = (top5[:, :, None] == known[:, None]).any(axis=2)
  out = {"": hits[:, 0]}
  if top5.shape[1] >= SIZE and (top5[:, SIZE - 1] >= 0).all():
    out["top5_"] = hits.any(axis=1)
  return out


def class_accuracies(columns: Mapping[str, np.ndarray]) -> np.ndarray:
  """Return the values of a cell's examples whose mean is `mean_class_accuracy`."""
  right = columns["top5"][:, 0] == columns["label"]
  return rates_lib.class_balanced(right, columns["label"])


def class_headlines(
  cells: headlines_lib.Cells,
) -> list[headlines_lib.Headline]:
  """Return the clean mean class accuracy, if cells have one."""
  clean = Condition()
  if MEAN_CLASS_ACCURACY not in cells.get(clean, ()):
    return []
  restating = headlines_lib.Headline.restating
  return [restating(f"clean_{MEAN_CLASS_ACCURACY}", MEAN_CLASS_ACCURACY, clean)]


def rate_rows(
  cell: cells_lib.Cell, rates: Mapping[str, np.ndarray], groups: np.ndarray
) -> list[table.Row]:
  """Return shares of a cell's examples, each with its interval.

  Args:
    cell: the cell of the rows.
    rates: metric -> which examples count, bool `[N]`.
    groups: `[N]`, the group of each example; groups are drawn whole.
  """
  listed = rates_lib.shares(
    [resampling.Totals.from_values(values, groups) for values in rates.values()]
  )
  return [
    spread.rate_row(cell, metric, rate, len(groups))
    for metric, rate in zip(rates, listed)
  ]
