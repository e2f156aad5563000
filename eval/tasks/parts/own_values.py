"""`OwnValues`: what the tasks of metrics of one's own keep and measure.

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

# Corruptions that move what is in a picture, or when it happens in a video.
MOVING_PICTURES = (
  "elastic_transform",
  "glass_blur",
  "zoom_blur",
  "caustic_refraction",
)
MOVING_VIDEOS = (
  "zoom_blur",
  "static_rotation",
  "random_rotation",
  "translation",
  "sampling",
  "reverse_sampling",
  "jumbling",
  "box_jumbling",
  "freezing",
)
_TEMPLATE = "value"  # stands for the metric's name in facts and definitions
_WORST = 6  # examples of a cell that the gallery may show


class OwnValues(base.Task):
  """The part of a task that measures with functions of the user's."""

  has_classes = False
  whole_outputs = True
  averages_answers = False
  no_baseline = (
    "A metric of one's own has no baseline, got {got}: retention is relative to"
    " the clean mean. Leave config.baseline empty."
  )
  moving: tuple[str, ...] = ()

  def __init__(self, setting: base.Setting):
    """Check the setting; its metrics name the numbers.

    Raises:
      UserError: the clean answer as the target of prepared sets.
    """
    super().__init__(setting)
    self.senses = setting.metrics or {_TEMPLATE: "higher"}
    self.facts = own_facts(type(self).facts, self.family, self.senses)
    own = setting.own_metrics
    if own and own.targets is None and not setting.fly:
      raise errors.UserError(
        "target='clean': got prepared pictures, of which no clean ones are shown"
        " beside the others. Leave out source=prepared."
      )

  @property
  def own_metrics(self) -> own_metrics.OwnMetrics:
    """The functions and targets of the run."""
    own = self.setting.own_metrics
    if own is None:
      raise errors.UserError(
        "config.task=own needs a metric: config.metric=my_module:function and"
        " config.better=lower or higher (of evaluate metric=, better=)."
      )
    return own

  def check_baseline(self, labels: Sequence[str]) -> None:
    """Raise UserError if there is a baseline."""
    base.Task.check_baseline(self, labels)

  @property
  def baseline(self) -> str:
    """The description of a baseline: empty."""
    return ""

  @property
  def note(self) -> str:
    """The note about pixels: empty, as nothing is compared with papers."""
    return ""

  def published_reference(self) -> headlines_lib.Reference:
    """Return nothing: no paper has the metric."""
    return {}

  def published_networks(self) -> Mapping[str, Sequence[float]]:
    """Return nothing, see `published_reference`."""
    return {}

  def data_facts(self) -> dict[str, Scalar]:
    """Return the sources of the metrics and the content of the targets."""
    return {**super().data_facts(), **self.own_metrics.facts}

  @property
  def pixel_words(self) -> Sequence[str]:
    """Which of the run's corruptions move pixels but no targets, in words."""
    names = {condition.name for condition in self.conditions()}
    moving = [name for name in self.moving if name in names]
    if not moving:
      return []
    return [
      f"{', '.join(moving)} move what is in the pictures, and targets stay where"
      " they were: positions are measured against the clean picture's"
    ]

  def show(self, mesh: Mesh, specs: Mapping[str, Any]) -> Any:
    """Return the show, with clean pictures if answers to them are the target."""
    own = self.setting.own_metrics
    with_clean = own is not None and own.targets is None and bool(specs)
    return whole_outputs.Show(super().show(mesh, specs), with_clean=with_clean)

  def columns(
    self,
    batch: inputs.Batch,
    outputs: Mapping[str, Any],
    condition: Condition,
  ) -> dict[str, np.ndarray]:
    """Return the values of a batch's examples, and the answers if kept."""
    own, rows = self.own_metrics, outputs["outputs"]
    ids = [i for i, valid in zip(batch.example_id, batch.mask) if valid]
    clean = _examples(outputs["clean"]) if outputs["clean"] else None
    values = own.values(condition.config, ids, _examples(rows), clean)
    return {**values, **(_stacked(rows) if own.keep_outputs else {})}

  def measured_again(
    self, cell: cells_lib.Cell, columns: base.Columns, clean: base.Columns
  ) -> dict[str, np.ndarray] | None:
    """Return a cell's columns by the metrics as they are now; None without its
    answers.

    Args:
      columns: those of the cell as it was.
      clean: those of the model's clean cell.
    """
    own, kept = self.own_metrics, whole_outputs.of_columns(columns)
    target = whole_outputs.of_columns(clean) if own.targets is None else kept
    if not kept or not target:
      return None
    ids, where = columns["example_id"].tolist(), cell.condition.config
    beside = _examples(target) if own.targets is None else None
    values = own.values(where, ids, _examples(kept), beside)
    of_examples = {n: v for n, v in columns.items() if n in _OF_EXAMPLES}
    return {**of_examples, **values, **kept}

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
    groups = self.group_ids(columns)
    return {
      name: resampling.Totals.from_values(
        columns[own_metrics.column(name)], groups
      )
      for name in self.senses
    }

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


_OF_EXAMPLES = ("example_id", "group_id", "frame", "label")


def own_facts(
  template: facts_lib.TaskFacts, family: Family, senses: Mapping[str, str]
) -> facts_lib.TaskFacts:
  """Return a task's facts with the names and senses of the user's metrics."""
  first = next(iter(senses))

  def of_all(metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    return tuple(
      _named(metric, name, sense)
      for name, sense in senses.items()
      for metric in metrics
    )

  mean = next(m for m in template.headlines if m.name == f"mean_{_TEMPLATE}")
  members = [
    dataclasses.replace(
      mean,
      name=f"{mean.name}/{part}",
      heading=f"{mean.heading}, {definitions.words(part)}",
    )
    for part in own_headlines.parts(family)
  ]
  return dataclasses.replace(
    template,
    headlines=of_all(template.headlines),
    details=of_all(template.details),
    others=of_all([*template.others, *members]),
    ranked=tuple(_replaced(name, first) for name in template.ranked),
    verdict=tuple(
      (_replaced(name, first), _replaced(words, first))
      for name, words in template.verdict
    ),
  )


def _named(metric: Metric, name: str, sense: Any) -> Metric:
  """Return a metric of the template under a name of the user's."""
  if name == _TEMPLATE:
    return metric
  return dataclasses.replace(
    metric,
    name=_replaced(metric.name, name),
    heading=_replaced(metric.heading.replace("Value", _TEMPLATE), name),
    # Retention says by itself that more is better.
    sense=metric.sense if metric.percent else sense,
    title="",
  )


def _replaced(text: str, name: str) -> str:
  return text.replace(_TEMPLATE, name)


def _examples(rows: Mapping[str, Any]) -> Iterator[Any]:
  """Yield the answer to each example, in the model's structure."""
  names = list(rows)
  for values in zip(*rows.values()):
    yield whole_outputs.nested(dict(zip(names, values)))


def _stacked(rows: whole_outputs.Rows) -> dict[str, np.ndarray]:
  """Return kept answers as columns.

  Raises:
    UserError: answers of several shapes, or texts with axes.
  """
  for values in rows.values():
    shapes = {value.shape for value in values}
    texts = values[0].dtype.kind == "U" and values[0].ndim
    if len(shapes) > 1 or texts:
      raise errors.UserError(
        f"keep_outputs: answers of {len(shapes)} shapes, e.g. {min(shapes)} and"
        f" {max(shapes)}, are no column: expected arrays of one shape, of texts one"
        " an example. Leave keep_outputs out."
      )
  return {name: np.stack(values) for name, values in rows.items()}
