"""P against severity: curves from raw results and from runs."""

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
    file: its raw results; empty if none are public.
    printed: its network and training in Table 1 or 2, if there is no file.
  """

  label: str
  file: str = ""
  printed: tuple[str, str] = ("", "")


@dataclasses.dataclass(frozen=True)
class Curve:
  """P at every known severity.

  Attributes:
    label: unique in the figure.
    place: chooses colour, marker and dashes.
    numbers: severity -> number.
    source: source of the numbers.
    mpc: the printed mean over all corruptions and severities, if no raw results
      are public; the only number then is the printed P of clean pictures.
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
    """Return the curve in %; hollow if only printed numbers are known."""
    looks: dict[str, Any] = {"linestyle": _DASHES[self.place % len(_DASHES)]}
    label = self.label
    if self.mpc is not None:
      label += ": absent; P, mPC (dotted) printed"
      looks = {"markerfacecolor": "none", "markersize": 6, "linestyle": ":"}
    values = [style.scaled(n) for n in self.numbers.values()]
    return Line(label, list(self.numbers), values, self.place, looks=looks)


def raw_curves(
  dataset: str, models: Sequence[Model], name: str = ""
) -> list[Curve]:
  """Return the curves whose raw results are public.

  Args:
    dataset: our name of it.
    name: a corruption; empty: the mean over the 15.
  """
  out = []
  for place, model in enumerate(models):
    cells = raw_results.cells(dataset, model.file)
    if cells:
      numbers = {s: Number(_mean(cells, name, s)) for s in SEVERITIES}
      out.append(Curve(model.label, place, numbers, raw_results.source()))
  return out


def absent_curves(dataset: str, models: Sequence[Model]) -> list[Curve]:
  """Return the printed numbers of curves without public raw results."""
  out = []
  for place, model in enumerate(models):
    if not raw_results.cells(dataset, model.file):
      rows = _printed(dataset, model)
      source = printed.source_of(rows.values())
      clean = {0: Number(rows["p"].value)}
      mpc = rows["mpc"].value
      out.append(Curve(model.label, place, clean, source, mpc))
  return out


def run_curve(model: own.Own, place: int, name: str = "") -> Curve:
  """Return a run's curve over the severities that it has.

  Args:
    name: a corruption; empty: the mean over the 15.
  """
  metric = main_metric(model)
  numbers = {}
  for severity in SEVERITIES:
    places = _cells(name, severity)
    cells = [n for n in (model.cell_number(metric, c) for c in places) if n]
    if len(cells) == len(places) == 1:
      numbers[severity] = cells[0]
    elif len(cells) == len(places):
      mean = np.mean([n.value or 0.0 for n in cells])
      numbers[severity] = Number(float(mean))
  return Curve(model.label, place, numbers, model.source)


def main_metric(model: own.Own) -> str:
  """Return the metric that is P: AP, or AP50 by VOC's rules."""
  return "bbox/AP" if "bbox/AP" in model.metrics() else "bbox/AP50"


def panel(title: str, curves: Sequence[Curve]) -> Panel:
  """Return a panel of curves; absent ones are mPC as a line from 1 to 5."""
  levels = [(100 * c.mpc, c.place) for c in curves if c.mpc is not None]
  return Panel([c.drawn() for c in curves], levels, title=title)


def remark(curves: Iterable[Curve]) -> str:
  """Return a phrase that names the absent curves, or ''."""
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
  """Return P and mPC from Table 1, else from Table 2."""
  network, training = model.printed
  rows = [
    row
    for table in ("table1", "table2")
    for row in printed.table(raw_results.PAPER, table)
    if dataset in row.datasets
    and (row.network, row.training) == (network, training)
  ]
  return {row.metric: row for row in reversed(rows)}
