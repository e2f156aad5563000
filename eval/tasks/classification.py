"""Classification under corruption: ImageNet-C and its like.

Cell metrics: `error` (1 - top-1 accuracy) and, from six classes up,
`top5_error`, each with its 95 % interval (`eval/metrics/rates`: Clopper-Pearson,
where pictures stand alone). Over the severities of a corruption: `mean_error`
(plain), `ce` and `relative_ce` (normalised by the baseline). Over the benchmark:
`clean_error`, `mean_corruption_error` (plain, common corruptions),
`extra_mean_corruption_error` (plain, the others), `mce` and `relative_mce`
(normalised); their intervals are of draws of the same pictures in all cells
(`eval/metrics/resampling`), a published baseline being a constant and a model of the
run drawn together. Calibration beside them: `parts/reliability`. A number some of
whose cells are not there is empty, with a note (`parts/missing_cells`).
Definitions: Hendrycks & Dietterich 2019, section 4.1.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from jax.sharding import Mesh

from robust_tfds import conditions
from robust_tfds.conditions import Condition
from robust_tfds.eval import papers
from robust_tfds.eval.cells import cell as cells_lib
from robust_tfds.eval.cells import facts as facts_lib
from robust_tfds.eval.cells import table
from robust_tfds.eval.metrics import (
  corruption_error,
  definitions,
  rates,
  resampling,
)
from robust_tfds.eval.pipeline import inputs, predict
from robust_tfds.eval.tasks import base
from robust_tfds.eval.tasks.parts import (
  baselines,
  error_headlines,
  missing_cells,
  normalised_task,
  reliability,
  top_k,
)

Errors = Mapping[Condition, float]


class Classification(normalised_task.NormalisedTask):
  """Top-1 error of every cell; CE and mCE over them."""

  facts = facts_lib.TaskFacts(
    task="classification",
    noun="corruption",
    headlines=definitions.metrics(
      "classification",
      "clean_error",
      "mean_corruption_error",
      "mce",
      "relative_mce",
      "extra_mean_corruption_error",
    ),
    details=definitions.metrics("classification", "mean_error", "ce"),
    others=(*reliability.METRICS, *reliability.MEANS),
    normalised="CE and mCE",
    mean="mCE",
    ranked=("mce", "mean_corruption_error"),
  )
  fly_codecs = predict.PICTURE_CODECS

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
    """`error` and `top5_error` of one cell, and its calibration."""
    errors = error_rows(
      cell, columns["label"], columns["top5"], self.group_ids(columns)
    )
    return [*errors, *reliability.rows(cell, columns)]

  def totals(self, columns: base.Columns) -> dict[str, resampling.Totals]:
    """`error`."""
    wrong = columns["top5"][:, 0] != columns["label"]
    return {"error": resampling.Totals.of(wrong, self.group_ids(columns))}

  def headlines(
    self, cells: base.Numbers, reference: base.Numbers | None = None
  ) -> dict[base.Key, np.ndarray]:
    """CE, mCE and plain means, see `parts/error_headlines`."""
    baseline = self.setting.baseline
    by: Mapping[Condition, Any] = {}
    if reference is not None:
      by = {c: of["error"] for c, of in reference.items()}
    elif baseline and not baselines.model_label(baseline):
      by = _published(baseline)
    return error_headlines.of({c: of["error"] for c, of in cells.items()}, by)

  def summary_inputs(self, columns: base.Columns) -> reliability.Spread:
    """What the intervals of the means of calibration need."""
    return reliability.spread(columns)

  def summary_rows(
    self, rows: Sequence[table.Row], summary_inputs: base.SummaryInputs
  ) -> list[table.Row]:
    """CE, mCE, plain means and those of calibration of every model."""
    by_model = {
      label: [r for r in rows if r.model == label]
      for label in dict.fromkeys(r.model for r in rows)
    }
    baseline = self.setting.baseline
    reference = _reference(by_model, baseline)
    out = []
    for label, model_rows in by_model.items():
      summary = cells_lib.Summary.of(model_rows, baseline)
      clean = table.select(model_rows, metric="error", config="clean")
      out += _Model(
        summary, _errors(model_rows), reference, clean[0] if clean else None
      ).rows()
      spreads = {c: s for (m, c), s in summary_inputs.items() if m == label}
      out += reliability.summary_rows(
        model_rows, self.family, spreads, baseline
      )
    return out

  def published_networks(self) -> Mapping[str, Sequence[float]]:
    """Printed name -> (clean error, mCE)."""
    return papers.networks(self.setting.dataset, "clean_error", "mce")


def error_rows(
  cell: cells_lib.Cell,
  label: np.ndarray,
  top5: np.ndarray,
  groups: np.ndarray,
) -> list[table.Row]:
  """`error` and, where five classes are ranked, `top5_error`, with intervals.

  Args:
    cell: whose rows.
    label: int `[N]`.
    top5: int `[N, 5]`, class ids best first, -1 pads.
    groups: `[N]`, what is drawn together.
  """
  label = label[:, None]
  wrong = {"error": (top5[:, :1] != label).all(axis=1)}
  if top5.shape[1] >= top_k.SIZE and (top5[:, top_k.SIZE - 1] >= 0).all():
    wrong["top5_error"] = (top5 != label).all(axis=1)
  rows = []
  for metric, misses in wrong.items():
    k, n = int(misses.sum()), len(misses)
    rows.append(cell.row(metric, k / n, rates.interval(misses, groups), n))
  return rows


@dataclasses.dataclass(frozen=True)
class _Model:
  """The numbers over one model's cells.

  Attributes:
    summary: what their rows have in common.
    errors: of its cells.
    reference: the baseline's errors; empty where there is no baseline.
    clean: the row of the clean cell's error, if it is there.
  """

  summary: cells_lib.Summary
  errors: Errors
  reference: Errors
  clean: table.Row | None

  def rows(self) -> list[table.Row]:
    """Of every corruption, then of the whole benchmark."""
    out: list[table.Row] = []
    for name in dict.fromkeys(c.name for c in self.errors if c.name):
      cells = _cells([name])
      out += self._plain(name, "mean_error", [name])
      out += self._normalised(name, "ce", cells)
      out += self._normalised(name, "relative_ce", [Condition(), *cells])
    if self.clean:
      row = self.clean
      ends = row.lo, row.hi
      out.append(self.summary.row("", "clean_error", row.value, ends, row.n))
    family = conditions.PICTURES
    common, extra = family.names("common"), family.names("extra")
    out += self._plain("", "mean_corruption_error", common)
    out += self._plain("", "extra_mean_corruption_error", extra)
    cells = _cells(common)
    out += self._normalised("", "mce", cells)
    return out + self._normalised("", "relative_mce", [Condition(), *cells])

  def _plain(
    self, name: str, metric: str, over: Sequence[str]
  ) -> list[table.Row]:
    """The mean of some corruptions' means."""
    cells = _cells(over)
    value = None
    if all(c in self.errors for c in cells):
      value = float(
        np.mean([np.mean(_severities(self.errors, n)) for n in over])
      )
    return self._numbers.rows(name, metric, value, cells)

  def _normalised(
    self, name: str, metric: str, cells: Sequence[Condition]
  ) -> list[table.Row]:
    if not self.reference or not self._has_baseline(name):
      return []
    value = self._summarized.get(metric)
    if isinstance(value, dict):
      value = value.get(name)
    lacks = missing_cells.note(cells, self.reference)
    why = f"of the baseline {lacks}" if lacks else ""
    if not why and (value is None or math.isnan(value)):
      why = "undefined: the baseline's errors are 0"
    return self._numbers.rows(name, metric, value, cells, why=why)

  def _has_baseline(self, name: str) -> bool:
    """Whether a baseline can be known: of a user's own corruption it may not."""
    if not name or conditions.PICTURES.row(name).set != "own":
      return True
    return any(c.name == name for c in self.reference)

  @property
  def _numbers(self) -> missing_cells.Numbers:
    return missing_cells.Numbers(self.summary, self.errors)

  @functools.cached_property
  def _summarized(self) -> dict[str, Any]:
    """CE and mCE of the corruptions that are whole here and in the baseline."""
    names = [
      name
      for name in dict.fromkeys(c.name for c in self.errors if c.name)
      if all(c in self.errors and c in self.reference for c in _cells([name]))
    ]
    if not names:
      return {}
    # Without a clean cell the relative numbers are left out by their cells.
    return corruption_error.summarize(
      {n: _severities(self.errors, n) for n in names},
      self.errors.get(Condition(), 0.0),
      {
        "errors": {n: _severities(self.reference, n) for n in names},
        "clean_error": self.reference.get(Condition(), 0.0),
      },
    )


def _severities(errors_of: Errors, name: str) -> list[float]:
  """A corruption's errors by ascending severity."""
  return [errors_of[c] for c in _cells([name])]


def _reference(
  by_model: Mapping[str, Sequence[table.Row]], baseline: str
) -> Errors:
  """The errors of a baseline's name or of a model; empty without a baseline."""
  label = baselines.model_label(baseline)
  if label:
    return _errors(by_model[label])
  return _published(baseline) if baseline else {}


def _published(baseline: str) -> Errors:
  """The printed errors of a baseline."""
  published = corruption_error.load_baseline(baseline)
  return {
    Condition(): published["clean_error"],
    **{
      Condition(name, severity): error
      for name, of_name in published["errors"].items()
      for severity, error in enumerate(of_name, 1)
    },
  }


def _errors(rows: Sequence[table.Row]) -> dict[Condition, float]:
  """The error of every cell of one model, in the order of the rows."""
  return {
    Condition(r.corruption, r.severity or 0): r.value
    for r in rows
    if r.metric == "error"
  }


def _cells(names: Iterable[str]) -> list[Condition]:
  """All severities of some corruptions."""
  return missing_cells.needed(conditions.PICTURES, names)
