"""gamma_a and gamma_r of Schiappa et al., as printed and from runs."""

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
  """Return (family, perturbation) in the paper's order."""
  return [
    (r.group, r.name) for r in conditions.VIDEOS.rows if r.set == "common"
  ]


def metric_key(measure: str, name: str) -> Key:
  """Return the key of a measure for a perturbation or for a family's mean."""
  return (f"{measure}/{name}", "") if name in _groups() else (measure, name)


def printed_rows(dataset: str) -> list[PrintedRow]:
  """Return the table with a line for each perturbation of a data set."""
  return printed.table(derived.PAPER, derived.TABLES[dataset])


def printed_networks(
  dataset: str, as_printed: bool = False
) -> list[networks.Network]:
  """Return the networks of a data set's table, in its order.

  Args:
    as_printed: whether doubtful numbers stay as they are printed.
  """
  rows = [r if as_printed else r.used for r in printed_rows(dataset)]
  return [
    dataclasses.replace(n, label="-".join(filter(None, (n.name, short))))
    for n in networks.printed(rows)
    for short in [_TRAININGS.get(n.training, n.training)]
  ]


def run_networks(models: Sequence[own.Own]) -> list[networks.Network]:
  """Return the models of runs that have any of the numbers."""
  listed = [*_groups(), *(name for _, name in names())]
  keys = [metric_key(m, name) for m in derived.MEASURES for name in listed]
  return networks.from_runs(models, keys)


def sheet_lines(models: Sequence[networks.Network]) -> list[list[sheet.Cell]]:
  """Return the numbers for `COLUMNS`: every perturbation, then its family."""
  out: list[list[sheet.Cell]] = []
  for network in models:
    for group in _groups():
      members = conditions.VIDEOS.members(group, "common")
      for name in (*members, group):
        for measure in derived.MEASURES:
          number = network.numbers.get(metric_key(measure, name))
          if number:
            perturbation = name if name in members else "all"
            ends = [number.value, number.lo, number.hi]
            texts = [network.label, group, perturbation, measure]
            out.append([*texts, *ends, network.source])
  return out


def group_mean(network: networks.Network, measure: str) -> float:
  """Return the mean over the five families, as in Table 2; it may be marked."""
  values = [network.value(*metric_key(measure, g)) for g in _groups()]
  mean = sum(values) / len(values)
  marked = any(isinstance(v, sheet.Marked) for v in values)
  return sheet.Marked(mean) if marked else mean


def _groups() -> Sequence[str]:
  return conditions.VIDEOS.groups
