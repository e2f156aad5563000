"""`OwnValues`: the columns and numbers of tasks with custom metrics.

A cell's columns are the values of every example, and its answers if they are
kept. The rows of a cell are the metrics' means with 95 % intervals over groups.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jax.sharding import Mesh

from eval.cells import cell as cells_lib
from eval.cells import facts as facts_lib
from eval.cells import table
from eval.cells.cell_facts import Scalar
from eval.metrics import definitions, resampling
from eval.metrics.definitions import Metric
from eval.pipeline import inputs, whole_outputs
from eval.tasks import base
from eval.tasks.headlines import headlines as headlines_lib
from eval.tasks.headlines import own_headlines
from eval.tasks.parts import own_metrics, reliability
from robust_tfds import errors
from robust_tfds.conditions import Condition, Family

_TEMPLATE = "value"  # stands for the metric's name in facts and definitions
_WORST = 6  # examples of a cell that the gallery may show
_OF_EXAMPLES = ("example_id", "group_id", "frame", "label")


class OwnValues(base.Task):
  """The part of a task that measures with functions of the user's.

  Class attributes: moving: corruptions that move what is in a picture, or when it
  happens in a video.
  """

  has_classes = False
  whole_outputs = True
  averages_answers = False
  moving: tuple[str, ...] = ()
  no_baseline = (
    "A custom metric has no baseline, got {got}: retention is relative to"
    " the clean mean. Leave config.baseline empty."
  )

  def __init__(self, setting: base.Setting):
    """Check the setting; its metrics name the numbers.

    Raises:
      UserError: the clean answer as the target of prepared sets.
    """
    super().__init__(setting)
    self.senses = setting.metrics or {_TEMPLATE: "higher"}
    self.facts = _facts(type(self).facts, self.family, self.senses)
    own = setting.own_metrics
    self._with_clean = own is not None and own.targets is None
    if self._with_clean and not setting.fly:
      raise errors.UserError(
        "target='clean': got prepared pictures, which are shown without their clean"
        " ones. Leave out source=prepared."
      )

  @property
  def _own(self) -> own_metrics.OwnMetrics:
    assert self.setting.own_metrics is not None  # a run has them
    return self.setting.own_metrics

  def check_baseline(self, labels: Sequence[str]) -> None:
    """Raise UserError if there is a baseline."""
    base.Task.check_baseline(self, labels)

  @property
  def note(self) -> str:
    """The note about pixels: empty, as nothing is compared with papers."""
    return ""

  def published_networks(self) -> Mapping[str, Sequence[float]]:
    """Return nothing: no paper has the metric."""
    return {}

  def data_facts(self) -> dict[str, Scalar]:
    """Return the sources of the metrics and the content of the targets."""
    return {**super().data_facts(), **self._own.facts}

  @property
  def pixel_words(self) -> Sequence[str]:
    """A sentence that names the corruptions that move pixels but no targets."""
    names = {condition.name for condition in self.conditions()}
    moving = ", ".join(name for name in self.moving if name in names)
    return [f"targets stay where they were under {moving}"] * bool(moving)

  def show(self, mesh: Mesh, specs: Mapping[str, Any]) -> Any:
    """Return the show, with clean pictures if answers to them are the target."""
    inner = super().show(mesh, specs)
    return whole_outputs.Show(inner, self._with_clean and bool(specs))

  def columns(
    self, batch: inputs.Batch, outputs: Mapping[str, Any], condition: Condition
  ) -> dict[str, np.ndarray]:
    """Return the values of a batch's examples, and the answers if kept."""
    rows, clean = outputs["outputs"], outputs["clean"]
    ids = [i for i, valid in zip(batch.example_id, batch.mask) if valid]
    values = self._own.values(
      condition.config, ids, _examples(rows), clean and _examples(clean)
    )
    return {**values, **(_stacked(rows) if self._own.keep_outputs else {})}

  def measured_again(
    self, cell: cells_lib.Cell, columns: base.Columns, clean: base.Columns
  ) -> dict[str, np.ndarray] | None:
    """Return a cell's columns by the metrics as they are now; None without its answers.

    Args:
      columns: the cell's columns as they were.
      clean: columns of the model's clean cell.
    """
    kept, clean_answers = map(whole_outputs.kept_answers, (columns, clean))
    if not kept or self._with_clean and not clean_answers:
      return None
    target = _examples(clean_answers) if self._with_clean else None
    ids, where = columns["example_id"].tolist(), cell.condition.config
    values = self._own.values(where, ids, _examples(kept), target)
    return {n: columns[n] for n in _OF_EXAMPLES} | values | kept

  def cell_rows(
    self, cell: cells_lib.Cell, columns: base.Columns, truth: base.Truth = None
  ) -> list[table.Row]:
    """Return the mean of every metric over the cell's examples."""
    groups = self.group_ids(columns)
    return [
      reliability.mean_row(
        cell, name, columns[own_metrics.column(name)], groups
      )
      for name in self.senses
    ]

  def totals(self, columns: base.Columns) -> dict[str, resampling.Totals]:
    """Return the sums of the values over groups."""
    values = {n: columns[own_metrics.column(n)] for n in self.senses}
    groups = self.group_ids(columns)
    totals = resampling.Totals.from_values
    return {name: totals(each, groups) for name, each in values.items()}

  def headlines(
    self, cells: headlines_lib.Cells, reference: headlines_lib.Cells
  ) -> list[headlines_lib.Headline]:
    """Return clean means, means under corruption and retention."""
    return own_headlines.headlines(cells, self.family, self.senses)

  def worst(self, columns: base.Columns) -> list[tuple[str, float]]:
    """Return the examples of a cell with the worst values of the first metric."""
    name, sense = next(iter(self.senses.items()))
    values = columns[own_metrics.column(name)]
    order = np.argsort(-values if sense == "lower" else values, kind="stable")
    ids = columns["example_id"]
    return [(str(ids[i]), float(values[i])) for i in order[:_WORST]]


def _facts(
  template: facts_lib.TaskFacts, family: Family, senses: Mapping[str, str]
) -> facts_lib.TaskFacts:
  """Return a task's facts with the names and senses of the user's metrics."""
  first = next(iter(senses))
  (mean,) = (m for m in template.headlines if m.name == f"mean_{_TEMPLATE}")
  members = [
    dataclasses.replace(
      mean,
      name=f"{mean.name}/{part}",
      heading=f"{mean.heading}, {definitions.words(part)}",
    )
    for part in own_headlines.parts(family)
  ]

  def rename_all(metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    pairs = senses.items()
    return tuple(
      _renamed(m, name, sense) for name, sense in pairs for m in metrics
    )

  return dataclasses.replace(
    template,
    headlines=rename_all(template.headlines),
    details=rename_all(template.details),
    others=rename_all([*template.others, *members]),
    ranked=tuple(name.replace(_TEMPLATE, first) for name in template.ranked),
    verdict=tuple(
      (name.replace(_TEMPLATE, first), words.replace(_TEMPLATE, first))
      for name, words in template.verdict
    ),
  )


def _renamed(metric: Metric, name: str, sense: Any) -> Metric:
  """Return a metric of the template under a name of the user's."""
  if name == _TEMPLATE:
    return metric
  return dataclasses.replace(
    metric,
    name=metric.name.replace(_TEMPLATE, name),
    heading=metric.heading.replace("Value", name).replace(_TEMPLATE, name),
    # Retention says by itself that more is better.
    sense=metric.sense if metric.percent else sense,
    title="",
  )


def _examples(rows: Mapping[str, Any]) -> Iterator[Any]:
  """Yield the answer to each example, in the model's structure."""
  for values in zip(*rows.values(), strict=True):
    yield whole_outputs.nested(dict(zip(rows, values, strict=True)))


def _stacked(rows: whole_outputs.Rows) -> dict[str, np.ndarray]:
  """Return kept answers as columns; refuse several shapes, and texts with axes."""
  for values in rows.values():
    shapes = sorted({value.shape for value in values})
    if len(shapes) > 1 or (values[0].dtype.kind == "U" and values[0].ndim):
      raise errors.UserError(
        f"keep_outputs: answers of the shapes {shapes} are no column: expected one"
        " shape, of texts one an example. Leave keep_outputs out."
      )
  return {name: np.stack(values) for name, values in rows.items()}
