"""Networks with their numbers, from papers and from runs."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence

from eval.cells.number import Number
from eval.papers import Key, PrintedRow
from eval.report.figures.parts import own, sheet
from eval.report.figures.parts import printed as printed_lib


@dataclasses.dataclass(frozen=True)
class Network:
  """A network's numbers.

  Attributes:
    label: unique in the figure.
    numbers: (metric, condition) -> number.
    source: the paper's table or the run.
    name: its name without its training.
    training: if a table distinguishes networks by it; else empty.
  """

  label: str
  numbers: Mapping[Key, Number]
  source: str
  name: str
  training: str = ""

  def value(self, metric: str, condition: str = "") -> float:
    """Return a number's value, or nan."""
    value = self.numbers.get((metric, condition), Number(None)).value
    return math.nan if value is None else value

  def lines(self) -> list[list[sheet.Cell]]:
    """Return [label, metric, condition, value, lo, hi, source] of each number."""
    return [
      [self.label, *key, n.value, n.lo, n.hi, self.source]
      for key, n in self.numbers.items()
    ]


def printed(rows: Iterable[PrintedRow], source: str = "") -> list[Network]:
  """Return the networks of a table, in its order.

  Args:
    source: in words; empty: that of the rows.
  """
  networks: dict[str, list[PrintedRow]] = {}
  for row in rows:
    networks.setdefault(row.label, []).append(row)
  return [
    Network(
      label,
      {(r.metric, r.name): printed_lib.number(r) for r in listed},
      source or listed[0].source,
      listed[0].network,
      listed[0].training,
    )
    for label, listed in networks.items()
  ]


def from_runs(models: Sequence[own.Own], keys: Iterable[Key]) -> list[Network]:
  """Return the models of runs that have any of the numbers."""
  listed = list(keys)
  out = []
  for model in models:
    numbers = {key: n for key in listed if (n := model.number(*key))}
    if numbers:
      out.append(Network(model.label, numbers, model.source, model.label))
  return out
