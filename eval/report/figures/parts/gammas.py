"""gamma_a and gamma_r of Schiappa et al.: printed, and of own runs, as lines."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from robust_tfds import conditions
from robust_tfds.eval.cells.number import Number
from robust_tfds.eval.papers import PrintedRow, derived
from robust_tfds.eval.report.figures.parts import own, printed, sheet

# Words of the data sets in titles.
NAMES = {
  "kinetics400_p": "Kinetics400-P",
  "ssv2_p": "SSv2-P",
  "ucf101_p": "UCF101-P",
  "hmdb51_p": "HMDB51-P",
}
COLUMNS = (
  *("model", "group", "perturbation", "measure", sheet.Column("value")),
  *(sheet.Column("lo"), sheet.Column("hi"), "source"),
)
_TRAININGS = {"scratch": "S", "kinetics400": "P"}

Key = tuple[str, str]  # measure, perturbation or group


@dataclasses.dataclass(frozen=True)
class Model:
  """A network of a table, or of a run.

  Attributes:
    label: of a table with both trainings the paper's: `R3D-S`, `R3D-P`.
    network: without its training.
    training: `scratch`, `kinetics400`, or empty.
    numbers: (measure, perturbation or group) -> number.
    source: printed where, or which run.
  """

  label: str
  network: str
  training: str
  numbers: Mapping[Key, Number]
  source: str

  def value(self, measure: str, of: str) -> float:
    """A number's value; nan where there is none."""
    number = self.numbers.get((measure, of))
    if number is None or number.value is None:
      return float("nan")
    return number.value


def names() -> list[tuple[str, str]]:
  """(group, perturbation) in the paper's order."""
  return [
    (r.group, r.name) for r in conditions.VIDEOS.rows if r.set == "common"
  ]


def printed_rows(dataset: str) -> list[PrintedRow]:
  """The table that has a line for each perturbation of a data set."""
  return printed.table(derived.PAPER, derived.TABLES[dataset])


def printed_models(dataset: str) -> list[Model]:
  """The networks of a data set's table, in its order."""
  lines: dict[tuple[str, str], dict[Key, Number]] = {}
  rows = printed_rows(dataset)
  for row in rows:
    measure, _, group = row.metric.partition("/")
    of = row.name or group
    number = Number(row.value, note=row.doubt)
    lines.setdefault((row.network, row.training), {})[measure, of] = number
  source = rows[0].source
  return [
    Model(_label(network, training), network, training, numbers, source)
    for (network, training), numbers in lines.items()
  ]


def own_models(models: Sequence[own.Own]) -> list[Model]:
  """The same of runs; models without any of the numbers are left out."""
  out = []
  for model in models:
    numbers: dict[Key, Number] = {}
    for measure in derived.MEASURES:
      for group, name in names():
        for key, number in (
          ((measure, name), model.number(measure, name)),
          ((measure, group), model.number(f"{measure}/{group}")),
        ):
          if number:
            numbers[key] = number
    if numbers:
      out.append(Model(model.label, model.label, "", numbers, model.source))
  return out


def lines(models: Sequence[Model]) -> list[list[sheet.Cell]]:
  """The models' numbers for `COLUMNS`: every perturbation, then its group."""
  family = conditions.VIDEOS
  out: list[list[sheet.Cell]] = []
  for model in models:
    for group in family.groups:
      members = family.members(group, "common")
      for name in (*members, group):
        for measure in derived.MEASURES:
          number = model.numbers.get((measure, name))
          if number:
            perturbation = name if name in members else "all"
            ends = [number.value, number.lo, number.hi]
            texts = [model.label, group, perturbation, measure]
            out.append([*texts, *ends, model.source])
  return out


def group_mean(model: Model, measure: str) -> float:
  """Mean over the five groups: how Table 2's Mean is made."""
  groups = conditions.VIDEOS.groups
  return sum(model.value(measure, g) for g in groups) / len(groups)


def _label(network: str, training: str) -> str:
  """As the paper writes it."""
  short = _TRAININGS.get(training, training)
  return f"{network}-{short}" if short else network
