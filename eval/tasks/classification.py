"""Classification under corruption: ImageNet-C and its like.

Cell metrics: `error` (1 - top-1 accuracy) and, from six classes up, `top5_error`,
each with its 95 % interval (`eval/metrics/rates`: Clopper-Pearson, where pictures
stand alone). Over the severities of a corruption: `mean_error` (plain), `ce` and
`relative_ce` (normalised by the baseline). Over the benchmark: `clean_error`,
`mean_corruption_error` (plain, common corruptions; of a C-bar set its ten),
`extra_mean_corruption_error` and `c_bar_mean_error` (plain, the others), `mce`
and `relative_mce` (normalised), and for sets that are no benchmark
`accuracy_retained` and `mean_class_accuracy` (of every cell, too: each class has
equal weight). Their intervals come from draws of the same pictures in all cells
(`eval/metrics/resampling`); a published baseline is a constant, a model of the
run is drawn together with the others. Calibration is in `parts/reliability`. A
number with missing cells is empty and has a note (`eval/cells/missing_cells`).
Definitions: Hendrycks & Dietterich 2019, section 4.1.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import jax
import numpy as np
from jax.sharding import Mesh

from eval.cells import cell as cells_lib
from eval.cells import facts as facts_lib
from eval.cells import table
from eval.cells.cell_facts import Scalar
from eval.metrics import natural_labels, resampling
from eval.pipeline import blocks, inputs, predict
from eval.pipeline import show as show_lib
from eval.tasks import base
from eval.tasks.headlines import error_headlines, normalised_task
from eval.tasks.headlines import headlines as headlines_lib
from eval.tasks.parts import reliability, top_k
from robust_tfds import corruptions, datasets, errors, natural_sets
from robust_tfds.conditions import Condition

# Geometry of pictures that are corrupted in their own sizes, then cropped.
_WHOLE = "none"
_ALL = "all"
_LABELS = 64  # right classes that a picture may have


class Classification(normalised_task.NormalisedTask):
  """The classification task: top-1 error of every cell; CE and mCE over them."""

  facts = facts_lib.TaskFacts.for_task("classification")
  fly_codecs: tuple[str, ...] = predict.PICTURE_CODECS
  averages_answers = True
  adapts: ClassVar[bool] = True
  own_keys: ClassVar[tuple[str, ...]] = ("label_space",)

  def __init__(self, setting: base.Setting):
    """Check the setting: pictures corrupted at full size cannot be compressed
    on the fly.
    """
    super().__init__(setting)
    space = setting.data.get("label_space") or ""
    if space not in ("", _ALL):
      raise errors.UserError(
        f"config.data.label_space: got {space!r}, expected {_ALL!r} (any of"
        " a model's classes is an answer) or '' (only the set's classes are)."
      )
    self.among_all = space == _ALL
    self._whole = setting.data.get("geometry") == _WHOLE
    if self._whole:
      self.per_model, self.fly_codecs = True, ("raw",)

  def data_facts(self) -> dict[str, Scalar]:
    """Return the classes that models choose among, if not the set's own."""
    return {"label_space": _ALL} if self.among_all else {}

  def transform(self, mesh: Mesh) -> predict.Transform:
    """Corrupt batches on their devices."""
    if self._whole:
      return predict.canvas_corruptor(mesh, self.setting.edition)
    return predict.corruptor(mesh, self.setting.edition, self.setting.codec)

  def reader(
    self,
    source: inputs.Source,
    conditions: Sequence[Condition],
    specs: Mapping[str, Any],
  ) -> blocks.Reader:
    """Return the reader; large pictures corrupted at full size are read few at once."""
    return blocks.PictureReader(source, few=self._whole)

  def show(self, mesh: Mesh, specs: Mapping[str, Any]) -> show_lib.Show:
    """Return the show; pictures corrupted at full size are cropped afterwards.

    Raises:
      UserError: several hosts: the sizes of their pictures are unknown here.
    """
    if not self._whole:
      return super().show(mesh, specs)
    if jax.process_count() > 1:
      raise errors.UserError(
        f"config.data.geometry=none: got {jax.process_count()} hosts, expected"
        " one. Start the command on a single host."
      )
    return show_lib.CroppedShow(
      mesh,
      self.transform(mesh) if self.setting.fly else None,
      seed=self.setting.seed,
      dataset=self.setting.dataset,
      sized=True,
    )

  def sample(
    self, pixels: np.ndarray, condition: Condition, example_id: str
  ) -> np.ndarray | None:
    """Return the whole picture under a condition."""
    if condition.clean:
      return pixels
    setting = self.setting
    (key,) = condition.keys(setting.seed, setting.dataset, [example_id])
    name, level = condition.name, condition.level
    return np.asarray(
      corruptions.corrupt(
        pixels, name, level, edition=setting.edition, key=jax.numpy.asarray(key)
      )
    )

  def example_columns(self, batch: inputs.Batch) -> dict[str, np.ndarray]:
    """Return the usual columns and, for sets with several right classes, `labels`.

    It is int32 `[N, L]`, padded with -1.
    """
    columns = super().example_columns(batch)
    if self._several:
      rows = [row["labels"] for row in batch.examples]
      ids = columns["example_id"].tolist()
      columns["labels"] = natural_labels.padded(ids, rows, _LABELS)
    return columns

  def measure(
    self, cell: cells_lib.Cell, columns: base.Columns, truth: base.Truth = None
  ) -> base.Measured:
    """Measure a cell; the column `labels` is only read for natural sets."""
    if not self._several:
      columns = {k: v for k, v in columns.items() if k != "labels"}
    return super().measure(cell, columns, truth)

  @property
  def _benchmark(self) -> bool:
    return self.setting.dataset in datasets.names()

  @property
  def _counts_classes(self) -> bool:
    """Whether classes have equal weight in a number: benchmarks' are of equal size."""
    return not self._benchmark and not self._several

  @property
  def _several(self) -> bool:
    row = natural_sets.row_of_set(self.setting.dataset)
    return row is not None and row.several

  def _right(self, columns: base.Columns) -> np.ndarray:
    """Return the right classes, `[N]` or `[N, L]`."""
    return columns["labels" if self._several else "label"]

  def cell_rows(
    self, cell: cells_lib.Cell, columns: base.Columns, truth: base.Truth = None
  ) -> list[table.Row]:
    """Return `error` and `top5_error` of one cell, and its calibration."""
    groups = self.group_ids(columns)
    right = self._right(columns)
    rows = top_k.error_rows(cell, right, columns["top5"], groups)
    if "backward" in columns:
      passes = float(np.rint(columns["backward"].sum(dtype=np.float64)))
      rows.append(cell.row("backward_passes", passes, n=len(groups)))
    if self._counts_classes:
      values = top_k.class_accuracies(columns)
      rows.append(
        reliability.mean_row(cell, top_k.MEAN_CLASS_ACCURACY, values, groups)
      )
    return [*rows, *reliability.rows(cell, columns, self.facts.task)]

  def totals(self, columns: base.Columns) -> dict[str, resampling.Totals]:
    """Return `error`, and the mean class accuracy of sets that are no benchmark."""
    wrong = ~top_k.hits_by_rank(self._right(columns), columns["top5"])[""]
    groups = self.group_ids(columns)
    out = {"error": resampling.Totals.from_values(wrong, groups)}
    if self._counts_classes:
      values = top_k.class_accuracies(columns)
      out[top_k.MEAN_CLASS_ACCURACY] = resampling.Totals.from_values(
        values, groups
      )
    return out

  def headlines(
    self, cells: headlines_lib.Cells, reference: headlines_lib.Cells
  ) -> list[headlines_lib.Headline]:
    """Return CE, mCE, means and retained accuracy: `headlines/error_headlines`."""
    return [
      *error_headlines.headlines(
        cells, reference, benchmark=self._benchmark, family=self.family
      ),
      *top_k.class_headlines(cells),
    ]

  def published_cells(
    self, published: Mapping[str, Any]
  ) -> headlines_lib.Reference:
    """Return the printed errors of a baseline."""
    return error_headlines.published_cells(published)
