"""Networks with their numbers: as papers print them, and of runs."""

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
    label: its own in the figure.
    numbers: (metric, condition) -> number.
    source: where they are printed, or which run they are of.
    name: without its training.
    training: where a table tells networks apart by it; else empty.
  """

  label: str
  numbers: Mapping[Key, Number]
  source: str
  name: str
  training: str = ""

  def value(self, metric: str, condition: str = "") -> float:
    """A number's value; nan where there is none."""
    value = self.numbers.get((metric, condition), Number(None)).value
    return math.nan if value is None else value

  def lines(self) -> list[list[sheet.Cell]]:
    return [
      [self.label, *key, n.value, n.lo, n.hi, self.source]
      for key, n in self.numbers.items()
    ]


def printed(rows: Iterable[PrintedRow], source: str = "") -> list[Network]:
  """The networks of a table, in its order.

  Args:
    source: in words; empty: that of the rows.
  """
  of: dict[str, list[PrintedRow]] = {}
  for row in rows:
    of.setdefault(row.label, []).append(row)
  return [
    Network(
      label,
      {(r.metric, r.name): printed_lib.number(r) for r in listed},
      source or listed[0].source,
      listed[0].network,
      listed[0].training,
    )
    for label, listed in of.items()
  ]


def of_runs(models: Sequence[own.Own], keys: Iterable[Key]) -> list[Network]:
  """The same of runs; models without any of the numbers are left out."""
  listed = list(keys)
  out = []
  for model in models:
    numbers = {key: n for key in listed if (n := model.number(*key))}
    if numbers:
      out.append(Network(model.label, numbers, model.source, model.label))
  return out
