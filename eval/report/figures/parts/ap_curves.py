"""P against severity: curves of raw results, of runs, and what is absent."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from eval.cells.number import Number
from eval.papers import PrintedRow, raw_results
from eval.report.figures.parts import own, printed, sheet
from robust_tfds import conditions
from robust_tfds.charts import style
from robust_tfds.charts.lines import Line, Panel
from robust_tfds.conditions import Condition

COLUMNS = (
  *("dataset", "corruption", "severity", "curve"),
  *(sheet.Column("P", 2), sheet.Column("lo", 2), sheet.Column("hi", 2)),
  "source",
)
MEAN = "mean of 15"
SEVERITIES = (0, *conditions.SEVERITIES)
_DASHES = ("-", "--", "-.", ":")


@dataclasses.dataclass(frozen=True)
class Model:
  """A curve of the paper.

  Attributes:
    label: as the figure names it.
    file: of its raw results; empty where none are public.
    printed: its network and training as Table 1 or 2 print them, where the
      results are not public.
  """

  label: str
  file: str = ""
  printed: tuple[str, str] = ("", "")


@dataclasses.dataclass(frozen=True)
class Curve:
  """P at every severity that is known.

  Attributes:
    label: its own in the figure.
    place: its colour, marker and dashes.
    numbers: severity -> number.
    source: where they are from.
    mpc: where no raw results are public: the printed mean over the 15
      corruptions and all severities, beside the printed P of clean pictures.
  """

  label: str
  place: int
  numbers: Mapping[int, Number]
  source: str
  mpc: float | None = None

  def lines(self, dataset: str, corruption: str) -> list[list[sheet.Cell]]:
    if self.mpc is not None:
      label = f"{self.label} (no raw results)"
      ends: list[sheet.Cell] = [None, None, self.source]
      return [
        [dataset, "", 0, label, self.numbers[0].value, *ends],
        [dataset, MEAN, "1-5", label, self.mpc, *ends],
      ]
    return [
      [dataset, corruption, s, self.label, n.value, n.lo, n.hi, self.source]
      for s, n in self.numbers.items()
    ]

  def drawn(self) -> Line:
    looks: dict[str, Any] = {"linestyle": _DASHES[self.place % len(_DASHES)]}
    label = self.label
    if self.mpc is not None:
      label += ": absent; P, mPC (dotted) printed"
      looks = {"markerfacecolor": "none", "markersize": 6, "linestyle": ":"}
    values = [style.scaled(n) for n in self.numbers.values()]
    return Line(label, list(self.numbers), values, self.place, looks=looks)


def of_raw(
  dataset: str, models: Sequence[Model], name: str = ""
) -> list[Curve]:
  """The curves whose raw results are public.

  Args:
    dataset: ours.
    name: of a corruption; empty: the mean over the 15.
  """
  out = []
  for place, model in enumerate(models):
    cells = raw_results.cells(dataset, model.file)
    if cells:
      numbers = {s: Number(_mean(cells, name, s)) for s in SEVERITIES}
      out.append(Curve(model.label, place, numbers, raw_results.source()))
  return out


def absent(dataset: str, models: Sequence[Model]) -> list[Curve]:
  """What is printed of curves whose raw results are not public."""
  out = []
  for place, model in enumerate(models):
    if not raw_results.cells(dataset, model.file):
      rows = _printed(dataset, model)
      source = printed.source_of(rows.values())
      clean = {0: Number(rows["p"].value)}
      mpc = rows["mpc"].value
      out.append(Curve(model.label, place, clean, source, mpc))
  return out


def of_run(model: own.Own, place: int, name: str = "") -> Curve:
  """A run's curve, of the severities that it has.

  Args:
    name: of a corruption; empty: the mean over the 15.
  """
  metric = main_metric(model)
  numbers = {}
  for severity in SEVERITIES:
    places = _cells(name, severity)
    cells = [n for n in (model.of_cell(metric, c) for c in places) if n]
    if len(cells) == len(places) == 1:
      numbers[severity] = cells[0]
    elif len(cells) == len(places):
      mean = np.mean([n.value or 0.0 for n in cells])
      numbers[severity] = Number(float(mean))
  return Curve(model.label, place, numbers, model.source)


def main_metric(model: own.Own) -> str:
  """The metric that P is of a model's cells: AP, by VOC's rules AP50."""
  return "bbox/AP" if "bbox/AP" in model.metrics() else "bbox/AP50"


def panel(title: str, curves: Sequence[Curve]) -> Panel:
  """The curves; of absent ones mPC as a line over 1 to 5."""
  levels = [(100 * c.mpc, c.place) for c in curves if c.mpc is not None]
  return Panel([c.drawn() for c in curves], levels, title=title)


def remark(curves: Iterable[Curve]) -> str:
  """A sentence that names the absent curves; or nothing."""
  labels = [curve.label for curve in curves]
  if not labels:
    return ""
  return f"absent, since no raw results are public: {', '.join(labels)}"


def _cells(name: str, severity: int) -> list[Condition]:
  if not severity:
    return [Condition()]
  names = [name] if name else conditions.PICTURES.names("common")
  return [Condition(n, severity) for n in names]


def _mean(cells: raw_results.Cells, name: str, severity: int) -> float:
  return float(np.mean([cells[c] for c in _cells(name, severity)]))


def _printed(dataset: str, model: Model) -> dict[str, PrintedRow]:
  """P and mPC as Table 1 or 2 print them, whichever has them first."""
  network, training = model.printed
  rows = [
    row
    for table in ("table1", "table2")
    for row in printed.table(raw_results.PAPER, table)
    if dataset in row.datasets
    and (row.network, row.training) == (network, training)
  ]
  return {row.metric: row for row in reversed(rows)}
