"""Headlines: numbers over one model's cells, each defined once.

A headline is a formula on arrays of its cells' numbers. Their last axis holds
the value, every draw and every block left out. From the formula follow the
headline's value, its interval, what comparisons and boards draw, its missing
cells and its row of the table. `eval/metrics/definitions` describes a metric by
its name.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from eval.cells import cell as cells_lib
from eval.cells import missing_cells, table
from eval.cells.number import Key
from eval.metrics import definitions
from eval.metrics import replicates as replicates_lib
from eval.metrics.replicates import Replicates
from eval.tasks.headlines import spread
from robust_tfds import errors
from robust_tfds.conditions import Condition, Family

# Condition -> the metrics of its cell.
Cells = Mapping[Condition, Collection[str]]
# Condition -> a cell's metric -> its replicates; of a published baseline constants.
Numbers = Mapping[Condition, Mapping[str, Replicates]]
Reference = Mapping[Condition, Mapping[str, Any]]
# Condition -> a cell's metric -> `[..., K]`.
Arrays = Mapping[Condition, Mapping[str, np.ndarray]]
# f(cells, the baseline's cells) -> `[..., K]`.
Formula = Callable[[Arrays, Arrays], np.ndarray]
# f(corrupted cells) -> the formula over those alone.
Over = Callable[[Sequence[Condition]], Formula]


@dataclasses.dataclass(frozen=True)
class Headline:
  """A number over one model's cells.

  Attributes:
    metric: its name.
    metrics: the cells' metrics that it is computed from; the first has the
      examples.
    cells: the conditions of the cells that it is computed from.
    formula: its formula; an undefined division gives nan.
    name: the corruption's; empty for the whole benchmark.
    level: difficulty, if the metric has one.
    trigger_cells: the headline is computed if any of these cells was run. Empty: any of
      its corrupted cells, or, if it has none, any cell.
    normalised: whether the same cells of the baseline enter the formula.
    positive: the cell whose first metric must be above 0; None if there is
      none.
    undefined: why there is no number although all cells are present.
    restated: the number is a cell's own, and so is its interval.
    own_fingerprint: whether the row's fingerprint covers only the headline's
      cells, not all of the model's.
    disjoint_parts: its metrics are those of parts of the data, and a draw may miss a
      part. If too many draws do, only blocks give its interval.
    difference: it is the first metric minus the second, and its interval is
      bounded by reference: `spread.bounded_difference`.
    over: makes the formula for any of its corrupted cells; for all of them it
      is `formula`. None if no number over a part of them is reported.
    note: an additional note of its row.
  """

  metric: str
  metrics: tuple[str, ...]
  cells: Sequence[Condition]
  formula: Formula
  name: str = ""
  level: int | None = None
  _: dataclasses.KW_ONLY
  trigger_cells: Sequence[Condition] = ()
  normalised: bool = False
  positive: Condition | None = None
  undefined: str = ""
  restated: bool = False
  own_fingerprint: bool = False
  disjoint_parts: bool = False
  difference: bool = False
  over: Over | None = None
  note: str = ""

  @classmethod
  def restating(
    cls,
    metric: str,
    cell_metric: str,
    condition: Condition,
    *,
    own_fingerprint: bool = False,
  ) -> Headline:
    """Create the headline that repeats a cell's own number under another name."""
    return cls(
      metric,
      (cell_metric,),
      (condition,),
      lambda ours, _: ours[condition][cell_metric],
      restated=True,
      own_fingerprint=own_fingerprint,
    )

  @property
  def key(self) -> Key:
    """The metric, corruption and level."""
    return self.metric, self.name, self.level

  def is_triggered(self, cells: Cells) -> bool:
    """Return whether a cell that triggers the headline is present."""
    corrupted = [c for c in self.cells if not c.clean]
    among = self.trigger_cells or corrupted or self.cells
    return bool(self._present(cells, among))

  def missing(self, cells: Cells, reference: Cells) -> str:
    """Return which cells are missing, in words; '' if none is."""
    ours = self._present(cells, self.cells)
    note = missing_cells.note(self.cells, ours)
    if note or not self.normalised:
      return note
    baseline_cells = self._present(reference, self.cells)
    note = missing_cells.note(self.cells, baseline_cells)
    return f"of the baseline {note}" if note else ""

  def part(self, cells: Cells) -> Headline | None:
    """Return the headline over its corrupted cells that are present.

    Its name begins with `part_`. The result is None if all or none of them are
    present, or if a clean one is missing.
    """
    there = self._present(cells, self.cells)
    corrupted = [c for c in self.cells if not c.clean]
    present = [c for c in there if not c.clean]
    lacks_clean = len(there) - len(present) < len(self.cells) - len(corrupted)
    if self.over is None or lacks_clean or len(present) in (0, len(corrupted)):
      return None
    return self._restricted(definitions.PART, self.over, present)

  def held_out(
    self, cells: Cells, trained_on: Collection[Condition]
  ) -> Headline | None:
    """Return the headline over its cells that the model was not trained on.

    Its name begins with `held_out_`. The result is None for a number over one
    corruption, and if the model was trained on none of them, or on all present.

    Args:
      cells: the cells that are present.
      trained_on: the conditions that the model was trained on.
    """
    there = self._present(cells, self.cells)
    rest = [c for c in there if not c.clean and c not in trained_on]
    trained = any(c in trained_on for c in self.cells)
    if self.over is None or self.name or not (trained and rest):
      return None
    return self._restricted(definitions.HELD_OUT, self.over, rest)

  def _restricted(
    self, prefix: str, over: Over, part: Sequence[Condition]
  ) -> Headline:
    """Return the headline over some of its corrupted cells, and its clean one
    if any.
    """
    *overlap, name = self.metric.split("/")
    corrupted = [c for c in self.cells if not c.clean]
    plain = len(self.metrics) == 1 and not self.normalised
    return dataclasses.replace(
      self,
      # A mean over one cell is the cell's own number.
      restated=plain
      and len(part) == 1
      and not any(c.clean for c in self.cells),
      metric="/".join([*overlap, prefix + name]),
      cells=[c for c in self.cells if c.clean or c in part],
      formula=over(part),
      trigger_cells=(),
      over=None,
      note=missing_cells.part_note(corrupted, part),
    )

  def _present(
    self, cells: Cells, among: Sequence[Condition]
  ) -> list[Condition]:
    """Return the conditions whose cells have all metrics of the headline."""
    return [
      c for c in among if all(m in cells.get(c, ()) for m in self.metrics)
    ]

  def number(self, cells: Numbers, reference: Reference) -> Replicates:
    """Return the number; all cells must be present.

    If cells were not drawn together, it is only the value. If there are only
    blocks, the smallest number of groups of a cell counts.

    Args:
      reference: the baseline's cells: for a model of the run replicates that
        were drawn together, for a published baseline constants; empty without
        one.
    """
    ours = self._chosen(cells)
    reference = self._chosen(reference) if self.normalised else {}
    every = [
      r
      for side in (ours, reference)
      for metrics in side.values()
      for r in metrics.values()
      if isinstance(r, Replicates)
    ]
    try:
      replicates_lib.check_same(every)
    except errors.UserError:
      return self.number(values_alone(cells), values_alone(reference))
    blocks_alone = every[0].draws is None
    like = (min if blocks_alone else max)(
      every, key=lambda r: r.effective_groups
    )
    if self.disjoint_parts:
      number = self._disjoint_number(ours)
      if number.enough_draws:
        return number
      return self._disjoint_number(
        _each(ours, lambda r: dataclasses.replace(r, draws=None))
      )
    with np.errstate(divide="ignore", invalid="ignore"):
      joined = self.formula(_joined(ours), _joined(reference))
    return like.like(np.asarray(joined, np.float64))

  def _disjoint_number(self, ours: Numbers) -> Replicates:
    """Return the number from parts of the data that have different groups."""
    keys = [(c, m) for c, metrics in ours.items() for m in metrics]

    def formula(*arrays: np.ndarray) -> np.ndarray:
      cells: dict[Condition, dict[str, np.ndarray]] = {c: {} for c in ours}
      for (c, m), array in zip(keys, arrays):
        cells[c][m] = array
      return np.asarray(self.formula(cells, {}), np.float64)

    numbers = [ours[c][m] for c, m in keys]
    return replicates_lib.combine(formula, *numbers, disjoint=True)

  def _chosen(self, cells: Reference) -> Reference:
    return {c: {m: cells[c][m] for m in self.metrics} for c in self.cells}


def mean_of(each: Callable[[Arrays, Arrays, Condition], np.ndarray]) -> Over:
  """Return the mean over corruptions of the mean over their levels.

  Args:
    each: returns a cell's number; see `Headline.over`.
  """

  def formula(
    ours: Arrays, reference: Arrays, cells: Sequence[Condition]
  ) -> np.ndarray:
    return np.mean([each(ours, reference, c) for c in cells], axis=0)

  return over_names(formula)


def mean_of_metric(metric: str) -> Over:
  """Return the mean over corruptions of the mean of a metric of cells."""
  return mean_of(lambda ours, _, condition: ours[condition][metric])


def over_names(
  of_name: Callable[[Arrays, Arrays, Sequence[Condition]], np.ndarray],
  joined: Callable[..., np.ndarray] = np.mean,
) -> Over:
  """Return one number of a number of each corruption's cells.

  Args:
    of_name: returns the number of one corruption's cells; see `Headline.over`.
    joined: joins those numbers along `axis`.
  """

  def over(cells: Sequence[Condition]) -> Formula:
    names = dict.fromkeys(c.name for c in cells)
    name_cells = [[c for c in cells if c.name == name] for name in names]
    return lambda ours, reference: joined(
      [of_name(ours, reference, each) for each in name_cells], axis=0
    )

  return over


def numbers(
  headlines: Iterable[Headline], cells: Numbers, reference: Reference
) -> dict[Key, Replicates]:
  """Return the numbers of headlines whose cells are all present."""
  return {
    h.key: h.number(cells, reference)
    for h in headlines
    if not h.missing(cells, reference)
  }


def values_alone(cells: Reference) -> Reference:
  """Return cells without draws and blocks."""
  return _each(cells, lambda r: value_alone(r.value))


def levels(cells: Arrays, family: Family, metric: str, name: str) -> np.ndarray:
  """Return a metric at the levels of a corruption: `[levels, ..., K]`."""
  needed = missing_cells.needed(family, [name])
  return np.stack([cells[c][metric] for c in needed])


def value_alone(value: np.typing.ArrayLike) -> Replicates:
  """Return a number without draws, from its value `[...]`."""
  known = np.asarray(value, np.float64)
  return Replicates(known, None, np.zeros((*known.shape, 0)))


def _joined(cells: Reference) -> Arrays:
  return _each(cells, lambda r: r.joined)


def _each(cells: Reference, f: Callable[[Replicates], Any]) -> dict:
  """Apply a function to the replicates of cells; constants stay."""
  return {
    c: {m: f(r) if isinstance(r, Replicates) else r for m, r in metrics.items()}
    for c, metrics in cells.items()
  }


@dataclasses.dataclass(frozen=True)
class ModelCells:
  """The cells of one model, from which rows over cells are made.

  Attributes:
    rows: condition -> the rows of its cell.
    numbers: condition -> metric -> replicates.
    groups: condition -> the groups of its replicates, for cells whose numbers
      were not drawn with the others'.
    inputs: condition -> other data of the cell that the task needs.
    baseline: the setting's baseline, see `base.Setting`.
    reference: the baseline's numbers; empty without one.
    is_baseline: whether the model is the baseline: it is 1 in every draw.
    trained_on: the benchmark's conditions that the model was trained on.
  """

  rows: Mapping[Condition, Sequence[table.Row]]
  numbers: Numbers
  groups: Mapping[Condition, np.ndarray]
  inputs: Mapping[Condition, Any]
  baseline: str = ""
  reference: Reference = dataclasses.field(default_factory=dict)
  is_baseline: bool = False
  trained_on: Collection[Condition] = ()

  @property
  def every_row(self) -> list[table.Row]:
    """The rows of all cells, in their order."""
    return [row for rows in self.rows.values() for row in rows]

  def row_of(
    self, condition: Condition, metric: str, level: int | None = None
  ) -> table.Row:
    """Return a cell's row at a level, or its first row of the metric."""
    cell_rows = self.rows[condition]  # a class has no row of its own
    rows = [r for r in cell_rows if r.metric == metric] or cell_rows
    return next((r for r in rows if r.severity == level), rows[0])

  def over(self, headlines: Iterable[Headline]) -> list[table.Row]:
    """Return the rows of the headlines that its cells trigger."""
    summary = cells_lib.Summary.from_rows(self.every_row, self.baseline)
    return [
      self.row(headline, summary)
      for headline in headlines
      if headline.is_triggered(self.numbers)
    ]

  def row(self, headline: Headline, summary: cells_lib.Summary) -> table.Row:
    """Return the row of a headline: its number, or why there is none."""
    name, metric, level = headline.name, headline.metric, headline.level
    lacks = headline.missing(self.numbers, self.reference)
    if lacks:
      return summary.row(name, metric, None, level=level, note=lacks)
    if headline.restated:
      row = self.row_of(headline.cells[0], headline.metrics[0], level)
      if headline.own_fingerprint:
        summary = cells_lib.Summary.from_rows([row])
      ends, n = (row.lo, row.hi), row.n
      note = "; ".join(filter(None, (headline.note, row.note)))
      return summary.row(
        name, metric, row.value, ends, n, level=level, note=note
      )
    number = self.number(headline)
    value = float(number.value)
    if math.isnan(value) or not self._is_defined(headline):
      why = headline.undefined
      return summary.row(name, metric, None, level=level, note=why)
    known = definitions.any_task_metric(metric)
    keeps = headline.normalised and self.is_baseline
    shown = spread.number(number, known.bounds, keeps_points=keeps)
    if headline.difference:
      shown = spread.bounded_difference(
        shown, *(self.row_of(headline.cells[0], m) for m in headline.metrics)
      )
    note = shown.note if known.has_interval else ""
    note = "; ".join(filter(None, (headline.note, note)))
    n, ends = self._n(headline), (shown.lo, shown.hi)
    return summary.row(name, metric, value, ends, n, level=level, note=note)

  def number(self, headline: Headline) -> Replicates:
    """Return a headline's number; only its value if cells have blocks of other
    groups.
    """
    number = headline.number(self.numbers, self.reference)
    if not number.blocks or headline.disjoint_parts:
      return number
    groups = [self.groups[c] for c in headline.cells]
    first = groups[0]
    if all(g is first or np.array_equal(g, first) for g in groups):
      return number
    return headline.number(values_alone(self.numbers), self.reference)

  def _is_defined(self, headline: Headline) -> bool:
    condition = headline.positive
    if condition is None:
      return True
    return float(self.numbers[condition][headline.metrics[0]].value) > 0

  def _n(self, headline: Headline) -> int | None:
    """Return the smallest number of examples of a cell."""
    rows = [self.row_of(c, headline.metrics[0]) for c in headline.cells]
    return min((r.n for r in rows if r.n is not None), default=None)
