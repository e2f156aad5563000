"""Classification under corruption: ImageNet-C and its like.

Cell metrics: `error` (1 - top-1 accuracy) and, from six classes up,
`top5_error`, each with its 95 % Clopper-Pearson interval. Over the severities of
a corruption: `mean_error` (plain), `ce` and `relative_ce` (normalised by the
baseline). Over the benchmark: `clean_error`, `mean_corruption_error` (plain,
common corruptions), `extra_mean_corruption_error` (plain, the others), `mce` and
`relative_mce` (normalised; only where all 15 common corruptions are there).
Definitions: Hendrycks & Dietterich 2019, section 4.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from eval import papers as published
from eval.metrics import corruption_error
from eval.metrics import intervals
from eval.pipeline import predict
from eval.results import provenance
from eval.results import table
from eval.tasks import Cell
from eval.tasks import Condition
from robust_tfds import conditions as conditions_lib
from robust_tfds import corruptions
from robust_tfds import errors
from robust_tfds.corruptions import spec

COMMON = corruption_error.COMMON
FLY = ("clean", "raw")
_KEPT = 5
_SEVERITIES = 5


def conditions(data: Any) -> list[Condition]:
  """Clean, then every corruption at every severity that `data` names.

  Args:
    data: has `corruptions` (`common`, `extra`, `all`, `none`, names separated by
      commas, or a sequence) and `severities`.

  Raises:
    ValueError: an unknown name (with a suggestion) or a severity outside 1-5.
  """
  severities = data.severities
  listed = [severities] if isinstance(severities, int) else list(severities)
  for severity in listed:
    spec.check_severity(severity)
  return [Condition()] + [
    Condition(name, severity)
    for name in conditions_lib.PICTURES.resolve(data.corruptions)
    for severity in sorted(set(listed))
  ]


def groups(names: Sequence[str]) -> dict[str, str]:
  """`noise`, `blur`, `weather` or `digital` of every name."""
  return {n: corruption_error.GROUPS[n] for n in names}


def frames(condition: Condition, edition: str) -> int:
  """Images an example shows to the model: one."""
  del condition, edition
  return 1


def transform(where: Mesh, edition: str, codec: str) -> predict.Transform:
  """Corrupts batches on their devices."""
  return predict.corruptor(where, edition, codec)


def reducer(condition: Condition) -> predict.Reduce:
  """The same reduction in every condition."""
  del condition
  return reduce


def check_baseline(baseline: str, labels: Sequence[str]) -> None:
  """ValueError unless the baseline is published, in this run, or empty."""
  if baseline.startswith("model:"):
    label = baseline.removeprefix("model:")
    if label not in labels:
      raise errors.unknown("baseline model", label, labels)
  elif baseline and baseline not in corruption_error.baselines():
    raise errors.unknown("baseline", baseline, corruption_error.baselines())


def published_networks(dataset: str) -> dict[str, tuple[float, ...]]:
  """Printed name -> (clean error, mCE)."""
  return published.networks(dataset, "clean_error", "mce")


def samples(
  image: np.ndarray,
  key: Callable[[Condition], jax.Array],
  wanted: Sequence[Condition],
  edition: str,
) -> dict[tuple[str, int], np.ndarray]:
  """One image under every condition, for the gallery."""
  out = {("", 0): image}
  for c in wanted:
    if c.corruption:
      corrupted = corruptions.corrupt(
        image, c.corruption, c.severity, edition=edition, key=key(c)
      )
      out[c.corruption, c.severity] = np.asarray(corrupted)
  return out


def reduce(logits: jax.Array) -> dict[str, jax.Array]:
  """Top-5 ids (int32) and softmax scores (float32), ties by lower class id.

  Args:
    logits: float32 `[..., classes]`.

  Returns:
    `top5` and `score`, `[..., 5]`, -1 and 0 where there are fewer classes.
  """
  kept = min(_KEPT, logits.shape[-1])
  # top_k of the logits, not of the softmax: float32 softmax makes new ties.
  best, ids = jax.lax.top_k(logits, kept)
  score = jnp.exp(best - jax.nn.logsumexp(logits, axis=-1, keepdims=True))
  pad = [(0, 0)] * (logits.ndim - 1) + [(0, _KEPT - kept)]
  return {
    "top5": jnp.pad(ids.astype(jnp.int32), pad, constant_values=-1),
    "score": jnp.pad(score, pad),
  }


def columns(
  batch, outputs: Mapping[str, np.ndarray], condition: Condition
) -> dict[str, np.ndarray]:
  """The batch's valid rows as predictions' columns."""
  del condition
  valid = batch.mask
  return {
    "example_id": np.array(batch.example_id, np.str_)[valid],
    "group_id": np.array(batch.group_id, np.str_)[valid],
    "frame": batch.frame[valid],
    "label": batch.label[valid],
    "top5": outputs["top5"][valid],
    "score": outputs["score"][valid],
  }


def cell_rows(
  cell: Cell, predicted: Mapping[str, np.ndarray]
) -> list[table.Row]:
  """`error` and `top5_error` of one cell."""
  label, top5 = predicted["label"][:, None], predicted["top5"]
  metrics = {"error": (top5[:, :1] != label).all(axis=1)}
  if top5.shape[1] >= _KEPT and (top5[:, _KEPT - 1] >= 0).all():
    metrics["top5_error"] = (top5 != label).all(axis=1)
  rows = []
  for metric, wrong in metrics.items():
    k, n = int(wrong.sum()), len(wrong)
    lo, hi = intervals.clopper_pearson(k, n)
    rows.append(
      table.Row(
        **vars(cell),
        metric=metric,
        value=k / n,
        lo=float(lo),
        hi=float(hi),
        n=n,
      )
    )
  return rows


def keep(predicted: Mapping[str, np.ndarray]) -> None:
  """The summaries need the cells' rows alone."""
  del predicted


def summary_rows(
  rows: Sequence[table.Row],
  baseline: str,
  order: Sequence[str],
  kept: object = None,
) -> list[table.Row]:
  """Rows over cells, for every model in `rows`.

  Args:
    rows: the cells' rows.
    baseline: a name in `eval/papers/baselines/`, `model:<label>` for a model of the
      same run, or empty for plain means alone.
    order: all names of the run, in the order of the table.
    kept: not needed.
  """
  del kept
  labels = list(dict.fromkeys(r.model for r in rows))
  errors = {m: _errors(rows, m, order) for m in labels}
  clean = {m: _clean(rows, m) for m in labels}
  reference: object = baseline
  if baseline.startswith("model:"):
    label = baseline.removeprefix("model:")
    reference = {"errors": errors[label], "clean_error": clean[label]}
  out = []
  for label in labels:
    out += _of_model(
      [r for r in rows if r.model == label],
      errors[label],
      clean[label],
      reference,
      baseline,
    )
  return out


def _of_model(rows, errors, clean, reference, baseline):
  common = corruption_error.COMMON
  first = rows[0]
  mark = provenance.fingerprint(
    {
      "cells": sorted({r.fingerprint for r in rows}),
      "baseline": baseline,
    }
  )

  def row(corruption: str, metric: str, value: float) -> list[table.Row]:
    if value is None or math.isnan(value):
      return []
    return [
      table.Row(
        model=first.model,
        dataset=first.dataset,
        config="",
        corruption=corruption,
        severity=None,
        metric=metric,
        value=float(value),
        seed=first.seed,
        fingerprint=mark,
      )
    ]

  out = []
  means = {name: float(np.mean(e)) for name, e in errors.items() if e}
  whole = {n: e for n, e in errors.items() if len(e) == _SEVERITIES}
  summary: dict = {"ce": {}, "relative_ce": {}}
  if reference and whole and clean is not None:
    summary = corruption_error.summarize(whole, clean, reference)
  for name, mean in means.items():
    out += row(name, "mean_error", mean)
    out += row(name, "ce", summary["ce"].get(name))
    out += row(name, "relative_ce", summary["relative_ce"].get(name))
  inside = [means[n] for n in means if n in common]
  outside = [means[n] for n in means if n not in common]
  out += row("", "clean_error", clean)
  if inside and len(inside) == len(common):
    out += row("", "mean_corruption_error", float(np.mean(inside)))
  if outside:
    out += row("", "extra_mean_corruption_error", float(np.mean(outside)))
  out += row("", "mce", summary.get("mce"))
  out += row("", "relative_mce", summary.get("relative_mce"))
  return out


def _errors(rows, model, order) -> dict[str, list[float]]:
  cells = {
    (r.corruption, r.severity): r.value
    for r in rows
    if r.model == model and r.metric == "error"
  }
  return {
    name: [cells[name, s] for s in range(1, 6) if (name, s) in cells]
    for name in order
    if any((name, s) in cells for s in range(1, 6))
  }


def _clean(rows, model) -> float | None:
  for r in rows:
    if r.model == model and r.metric == "error" and not r.corruption:
      return r.value
  return None
