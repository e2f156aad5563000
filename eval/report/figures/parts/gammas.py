"""gamma_a and gamma_r of Schiappa et al.: printed, and of own runs, as lines."""

import dataclasses
from collections.abc import Sequence

from eval.papers import Key, PrintedRow, derived
from eval.report.figures.parts import networks, own, printed, sheet
from robust_tfds import conditions

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


def names() -> list[tuple[str, str]]:
  """(group, perturbation) in the paper's order."""
  return [
    (r.group, r.name) for r in conditions.VIDEOS.rows if r.set == "common"
  ]


def key(measure: str, of: str) -> Key:
  """Of a measure's number of a perturbation, or of a group's mean."""
  return (f"{measure}/{of}", "") if of in _groups() else (measure, of)


def printed_rows(dataset: str) -> list[PrintedRow]:
  """The table that has a line for each perturbation of a data set."""
  return printed.table(derived.PAPER, derived.TABLES[dataset])


def printed_networks(
  dataset: str, as_printed: bool = False
) -> list[networks.Network]:
  """The networks of a data set's table, in its order, as the paper calls them.

  Args:
    as_printed: whether doubtful numbers are those in print, for the table itself.
  """
  rows = [r if as_printed else r.used for r in printed_rows(dataset)]
  return [
    dataclasses.replace(n, label="-".join(filter(None, (n.name, short))))
    for n in networks.printed(rows)
    for short in [_TRAININGS.get(n.training, n.training)]
  ]


def of_runs(models: Sequence[own.Own]) -> list[networks.Network]:
  """The same of runs; models without any of the numbers are left out."""
  listed = [*_groups(), *(name for _, name in names())]
  keys = [key(measure, of) for measure in derived.MEASURES for of in listed]
  return networks.of_runs(models, keys)


def lines(listed: Sequence[networks.Network]) -> list[list[sheet.Cell]]:
  """The numbers for `COLUMNS`: every perturbation, then its group."""
  out: list[list[sheet.Cell]] = []
  for network in listed:
    for group in _groups():
      members = conditions.VIDEOS.members(group, "common")
      for name in (*members, group):
        for measure in derived.MEASURES:
          number = network.numbers.get(key(measure, name))
          if number:
            perturbation = name if name in members else "all"
            ends = [number.value, number.lo, number.hi]
            texts = [network.label, group, perturbation, measure]
            out.append([*texts, *ends, network.source])
  return out


def group_mean(network: networks.Network, measure: str) -> float:
  """Mean over the five groups: how Table 2's Mean is made; marked as they are."""
  values = [network.value(*key(measure, g)) for g in _groups()]
  mean = sum(values) / len(values)
  marked = any(isinstance(v, sheet.Marked) for v in values)
  return sheet.Marked(mean) if marked else mean


def _groups() -> Sequence[str]:
  return conditions.VIDEOS.groups
