"""Numbers that follow from the printed ones of Schiappa et al. 2023.

Their figures print no clean accuracy, and Figure 6 no numbers: both follow from
the perturbations' rows of Tables 4 to 7.
"""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence

from eval.papers import printed_rows
from eval.papers.printed_rows import PrintedRow
from robust_tfds import conditions

PAPER = "schiappa2023"
# Data set -> the table that has a line for each perturbation.
TABLES = {
  "kinetics400_p": "table4",
  "ssv2_p": "table5",
  "ucf101_p": "table6",
  "hmdb51_p": "table7",
}
MEASURES = ("gamma_a", "gamma_r")
# Figure 6's groups of perturbations; compression is spatio-temporal.
FIGURE_6 = {
  "spatial": ("noise", "blur", "camera"),
  "spatio-temporal": ("digital",),
  "temporal": ("temporal",),
}
# Below it, two printed digits of gamma_r do not determine the accuracy.
_MIN_LOSS = 0.15 - 1e-9
# Below it, rounding makes the interval too wide to be useful.
_MIN_OF_INTERVAL = 0.05 - 1e-9
_HALF_DIGIT = 0.005


@dataclasses.dataclass(frozen=True)
class CleanAccuracy:
  """A network's accuracy on clean videos, as its printed rows imply it.

  A perturbation's row implies A = (1 - gamma_a) / (1 - gamma_r).

  Attributes:
    dataset: data set of the table.
    label: the network, with its training.
    value: a fraction: the median over the rows with gamma_r up to .85.
    rows: number of these rows.
    lo: the largest lower end that rounding allows, over the rows with gamma_r
      up to .95.
    hi: the smallest of their upper ends; below `lo` if the rows contradict.
  """

  dataset: str
  label: str
  value: float
  rows: int
  lo: float
  hi: float

  @property
  def consistent(self) -> bool:
    """Whether one accuracy fits all rows."""
    return self.lo <= self.hi


def gammas(table: str) -> dict[str, dict[str, dict[str, PrintedRow]]]:
  """Return the printed row by label, measure and perturbation."""
  out: dict[str, dict[str, dict[str, PrintedRow]]] = {}
  for row in printed_rows.paper_rows(PAPER):
    if row.table == table and row.name and row.metric in MEASURES:
      measures = out.setdefault(row.label, {m: {} for m in MEASURES})
      measures[row.metric][row.name] = row
  return out


def clean_accuracies() -> list[CleanAccuracy]:
  """Return the implied accuracies of every network of Tables 4 to 7."""
  return [
    _implied(label, *(list(measures[m].values()) for m in MEASURES))
    for table in TABLES.values()
    for label, measures in gammas(table).items()
  ]


def dataset_accuracies(dataset: str) -> dict[str, CleanAccuracy]:
  """Return the implied accuracy of a data set's networks by label."""
  return {c.label: c for c in clean_accuracies() if c.dataset == dataset}


def contradictory(dataset: str) -> list[str]:
  """Return the labels of networks whose rows imply no single accuracy."""
  return [k for k, c in dataset_accuracies(dataset).items() if not c.consistent]


def contradictions(dataset: str) -> str:
  """Return these networks in words; '' if there are none."""
  labels = "; ".join(contradictory(dataset))
  words = f"Doubtful, no one clean accuracy fits all rows: {labels}"
  return words if labels else ""


def figure_group(name: str) -> str:
  """Return the group of Figure 6 of a perturbation."""
  group = conditions.VIDEOS.row(name).group
  return next(g for g, parts in FIGURE_6.items() if group in parts)


def groups(table: str) -> dict[str, dict[str, dict[str, float]]]:
  """Return the means over the groups of Figure 6, by label and measure."""
  family = conditions.VIDEOS
  members = {
    group: [r.name for r in family.rows if r.group in parts]
    for group, parts in FIGURE_6.items()
  }
  return {
    label: {
      measure: {g: _mean(rows, listed) for g, listed in members.items()}
      for measure, rows in measures.items()
    }
    for label, measures in gammas(table).items()
  }


def _mean(rows: Mapping[str, PrintedRow], selected: Sequence[str]) -> float:
  return statistics.fmean(rows[n].value for n in selected if n in rows)


def _implied(
  label: str, absolute: Sequence[PrintedRow], relative: Sequence[PrintedRow]
) -> CleanAccuracy:
  losses = [
    (1 - a.value, 1 - r.value) for a, r in zip(absolute, relative, strict=True)
  ]
  clear = [(a, r) for a, r in losses if r >= _MIN_LOSS]
  rounded = [(a, r) for a, r in losses if r >= _MIN_OF_INTERVAL]
  h = _HALF_DIGIT
  return CleanAccuracy(
    absolute[0].datasets[0],
    label,
    statistics.median(a / r for a, r in clear),
    len(clear),
    max((a - h) / (r + h) for a, r in rounded),
    min((a + h) / (r - h) for a, r in rounded),
  )
