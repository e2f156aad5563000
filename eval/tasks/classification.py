"""Classification under corruption: ImageNet-C and its like.

Cell metrics: `error` (1 - top-1 accuracy) and, from six classes up,
`top5_error`, each with its 95 % interval (`eval/metrics/rates`: Clopper-Pearson,
where pictures stand alone). Over the severities of a corruption: `mean_error`
(plain), `ce` and `relative_ce` (normalised by the baseline). Over the benchmark:
`clean_error`, `mean_corruption_error` (plain, common corruptions),
`extra_mean_corruption_error` (plain, the others), `mce` and `relative_mce`
(normalised), and of sets that are no benchmark `accuracy_retained`; their intervals
are of draws of the same pictures in all cells (`eval/metrics/resampling`), a
published baseline being a constant and a model of the run drawn together.
Calibration beside them: `parts/reliability`. A number some of whose cells are not
there is empty, with a note (`parts/missing_cells`).
Definitions: Hendrycks & Dietterich 2019, section 4.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jax.sharding import Mesh

from robust_tfds import datasets, natural_sets
from robust_tfds.eval.cells import cell as cells_lib
from robust_tfds.eval.cells import facts as facts_lib
from robust_tfds.eval.cells import table
from robust_tfds.eval.metrics import (
  natural_labels,
  resampling,
)
from robust_tfds.eval.pipeline import inputs, predict
from robust_tfds.eval.tasks import base
from robust_tfds.eval.tasks.parts import (
  error_headlines,
  normalised_task,
  reliability,
  top_k,
)
from robust_tfds.eval.tasks.parts import headlines as headlines_lib

_LABELS = 64  # right classes that a picture may have


class Classification(normalised_task.NormalisedTask):
  """Top-1 error of every cell; CE and mCE over them."""

  facts = facts_lib.TaskFacts.of("classification")
  fly_codecs = predict.PICTURE_CODECS
  averages_calibration = True

  def transform(self, mesh: Mesh) -> predict.Transform:
    """Corrupts batches on their devices."""
    return predict.corruptor(mesh, self.setting.edition, self.setting.codec)

  def example_columns(self, batch: inputs.Batch) -> dict[str, np.ndarray]:
    """Of sets of several right classes also `labels`, int32 `[N, L]`, -1 pads."""
    columns = super().example_columns(batch)
    if self._several:
      rows = [row["labels"] for row in batch.examples]
      ids = columns["example_id"].tolist()
      columns["labels"] = natural_labels.padded(ids, rows, _LABELS)
    return columns

  def measure(
    self,
    cell: cells_lib.Cell,
    columns: base.Columns,
    truth: Mapping[str, Any] | None = None,
  ) -> base.Measured:
    """As of any task; a column `labels` is read of natural sets alone."""
    if not self._several:
      columns = {k: v for k, v in columns.items() if k != "labels"}
    return super().measure(cell, columns, truth)

  @property
  def _several(self) -> bool:
    row = natural_sets.by_set_name(self.setting.dataset)
    return row is not None and row.several

  def _right(self, columns: base.Columns) -> np.ndarray:
    """The right classes, `[N]` or `[N, L]`."""
    return columns["labels" if self._several else "label"]

  def cell_rows(
    self,
    cell: cells_lib.Cell,
    columns: base.Columns,
    truth: Mapping[str, Any] | None = None,
  ) -> list[table.Row]:
    """`error` and `top5_error` of one cell, and its calibration."""
    groups = self.group_ids(columns)
    right = self._right(columns)
    errors = top_k.error_rows(cell, right, columns["top5"], groups)
    return [*errors, *reliability.rows(cell, columns)]

  def totals(self, columns: base.Columns) -> dict[str, resampling.Totals]:
    """`error`."""
    wrong = ~top_k.right_of(self._right(columns), columns["top5"])[""]
    return {"error": resampling.Totals.of(wrong, self.group_ids(columns))}

  def headlines(
    self, cells: headlines_lib.Cells, reference: headlines_lib.Cells
  ) -> list[headlines_lib.Headline]:
    """CE, mCE, means and what is retained, see `parts/error_headlines`."""
    benchmark = self.setting.dataset in datasets.names()
    return error_headlines.headlines(cells, reference, benchmark=benchmark)

  def published_cells(
    self, published: Mapping[str, Any]
  ) -> headlines_lib.Reference:
    """The printed errors of a baseline."""
    return error_headlines.published_cells(published)
