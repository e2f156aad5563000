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
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np
from jax.sharding import Mesh

from robust_tfds import conditions
from robust_tfds.conditions import Condition
from robust_tfds.eval import papers
from robust_tfds.eval.metrics import corruption_error
from robust_tfds.eval.metrics import intervals
from robust_tfds.eval.pipeline import inputs
from robust_tfds.eval.pipeline import predict
from robust_tfds.eval.results import cell as cells_lib
from robust_tfds.eval.results import facts as facts_lib
from robust_tfds.eval.results import table
from robust_tfds.eval.tasks import base
from robust_tfds.eval.tasks.parts import baselines
from robust_tfds.eval.tasks.parts import normalised_task
from robust_tfds.eval.tasks.parts import top_k

Metric = facts_lib.Metric


class Classification(normalised_task.NormalisedTask):
  """Top-1 error of every cell; CE and mCE over them."""

  facts = facts_lib.TaskFacts(
    task="classification",
    noun="corruption",
    headlines=(
      Metric("clean_error", "Clean error"),
      Metric("mean_corruption_error", "Mean error (15)"),
      Metric("mce", "mCE", normalises="mean_corruption_error"),
      Metric("relative_mce", "Relative mCE"),
      Metric("extra_mean_corruption_error", "Mean error (extra 4)"),
    ),
    details=(
      Metric("mean_error", "error"),
      Metric("ce", "CE", normalises="mean_error"),
    ),
    normalised="CE and mCE",
    mean="mCE",
  )
  fly_codecs = ("raw", "jpeg85")

  def transform(self, mesh: Mesh) -> predict.Transform:
    """Corrupts batches on their devices."""
    return predict.corruptor(mesh, self.setting.edition, self.setting.codec)

  def reducer(self, condition: Condition) -> predict.Reduce:
    """The same reduction in every condition."""
    return top_k.reduce

  def columns(
    self,
    batch: inputs.Batch,
    outputs: Mapping[str, np.ndarray],
    condition: Condition,
  ) -> dict[str, np.ndarray]:
    """The batch's valid rows as predictions' columns."""
    return top_k.columns(batch, outputs)

  def cell_rows(
    self,
    cell: cells_lib.Cell,
    columns: base.Columns,
    truth: Mapping[str, Any] | None = None,
  ) -> list[table.Row]:
    """`error` and `top5_error` of one cell."""
    return error_rows(cell, columns["label"], columns["top5"])

  def summary_rows(
    self, rows: Sequence[table.Row], summary_inputs: base.SummaryInputs
  ) -> list[table.Row]:
    """CE, mCE and plain means of every model in `rows`."""
    by_model = {
      label: [r for r in rows if r.model == label]
      for label in dict.fromkeys(r.model for r in rows)
    }
    reference = self._reference(by_model)
    out = []
    for model_rows in by_model.values():
      out += _of_model(model_rows, reference, self.setting.baseline)
    return out

  def published_networks(self) -> Mapping[str, Sequence[float]]:
    """Printed name -> (clean error, mCE)."""
    return papers.networks(self.setting.dataset, "clean_error", "mce")

  def _reference(
    self, by_model: Mapping[str, Sequence[table.Row]]
  ) -> str | Mapping[str, object]:
    """The baseline as `corruption_error.summarize` takes it."""
    label = baselines.model_label(self.setting.baseline)
    if not label:
      return self.setting.baseline
    rows = by_model[label]
    return {"errors": _errors(rows), "clean_error": _clean_error(rows)}


def error_rows(
  cell: cells_lib.Cell, label: np.ndarray, top5: np.ndarray
) -> list[table.Row]:
  """`error` and, where five classes are ranked, `top5_error`, with intervals.

  Args:
    cell: whose rows.
    label: int `[N]`.
    top5: int `[N, 5]`, class ids best first, -1 pads.
  """
  label = label[:, None]
  wrong = {"error": (top5[:, :1] != label).all(axis=1)}
  if top5.shape[1] >= top_k.SIZE and (top5[:, top_k.SIZE - 1] >= 0).all():
    wrong["top5_error"] = (top5 != label).all(axis=1)
  rows = []
  for metric, misses in wrong.items():
    k, n = int(misses.sum()), len(misses)
    rows.append(cell.row(metric, k / n, intervals.clopper_pearson(k, n), n))
  return rows


def _of_model(
  rows: Sequence[table.Row],
  reference: str | Mapping[str, object],
  baseline: str,
) -> list[table.Row]:
  summary = cells_lib.Summary.of(rows, baseline)
  errors, clean = _errors(rows), _clean_error(rows)
  means = {name: float(np.mean(e)) for name, e in errors.items()}
  numbers: list[tuple[str, str, float | None]] = []
  normalised = _normalised(errors, clean, reference)
  for name, mean in means.items():
    numbers += [
      (name, "mean_error", mean),
      (name, "ce", normalised["ce"].get(name)),
      (name, "relative_ce", normalised["relative_ce"].get(name)),
    ]
  numbers += [("", "clean_error", clean), *_plain_means(means)]
  numbers += [
    ("", metric, normalised.get(metric)) for metric in ("mce", "relative_mce")
  ]
  return [
    summary.row(name, metric, value)
    for name, metric, value in numbers
    if value is not None and not math.isnan(value)
  ]


def _normalised(
  errors: Mapping[str, Sequence[float]],
  clean: float | None,
  reference: str | Mapping[str, object],
) -> dict[str, Any]:
  """Of the corruptions that have all their severities."""
  whole = {
    name: list(e)
    for name, e in errors.items()
    if len(e) == len(conditions.SEVERITIES)
  }
  if not reference or not whole or clean is None:
    return {"ce": {}, "relative_ce": {}}
  return corruption_error.summarize(whole, clean, reference)


def _plain_means(means: Mapping[str, float]) -> list[tuple[str, str, float]]:
  """Over the common corruptions if all are there, and over the extra ones."""
  out = []
  family = conditions.PICTURES
  common = [means[n] for n in family.names("common") if n in means]
  if len(common) == len(family.names("common")):
    out.append(("", "mean_corruption_error", float(np.mean(common))))
  extra = [means[n] for n in family.names("extra") if n in means]
  if extra:
    out.append(("", "extra_mean_corruption_error", float(np.mean(extra))))
  return out


def _errors(rows: Sequence[table.Row]) -> dict[str, list[float]]:
  """Corruption -> errors by ascending severity, in the order of the rows."""
  out: dict[str, dict[int, float]] = {}
  for r in rows:
    if r.metric == "error" and r.corruption:
      out.setdefault(r.corruption, {})[r.severity or 0] = r.value
  return {name: [e[s] for s in sorted(e)] for name, e in out.items()}


def _clean_error(rows: Sequence[table.Row]) -> float | None:
  for r in rows:
    if r.metric == "error" and not r.corruption:
      return r.value
  return None
