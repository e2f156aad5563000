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

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jax.sharding import Mesh

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
  normalised_task,
  reliability,
  top_k,
)
from robust_tfds.eval.tasks.parts import headlines as headlines_lib


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
  averages_calibration = True

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
    self, cells: headlines_lib.Cells, reference: headlines_lib.Cells
  ) -> list[headlines_lib.Headline]:
    """CE, mCE and plain means, see `parts/error_headlines`."""
    return error_headlines.headlines(cells, reference)

  def published_reference(self) -> headlines_lib.Reference:
    """The printed errors of a published baseline."""
    baseline = self.setting.baseline
    if not baseline or baselines.model_label(baseline):
      return {}
    published = corruption_error.load_baseline(baseline)
    return {
      Condition(): {"error": published["clean_error"]},
      **{
        Condition(name, severity): {"error": error}
        for name, errors in published["errors"].items()
        for severity, error in enumerate(errors, 1)
      },
    }

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
