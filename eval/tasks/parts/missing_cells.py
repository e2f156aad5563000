"""Which cells a number over several of them lacks, in words.

A mean over some of its cells looks like the mean over all: where a cell is not
there the number is empty, and its note names what is missing. A number none of
whose cells is there was not asked for and has no row.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Sequence

from robust_tfds.conditions import Condition, Family
from robust_tfds.eval.cells import cell as cells_lib
from robust_tfds.eval.cells import table


def needed(family: Family, names: Iterable[str]) -> list[Condition]:
  """All conditions of some names, in their order."""
  return [
    family.condition(name, level)
    for name in names
    for level in family.levels(name)
  ]


def note(cells: Sequence[Condition], present: Collection[Condition]) -> str:
  """What is missing of some cells, in words; empty where nothing is.

  >>> from robust_tfds import conditions
  >>> cells = needed(conditions.PICTURES, ["fog", "frost"])
  >>> note(cells, cells[:3])
  'missing: fog 4, fog 5, frost 1-5 (7 of 10)'
  """
  absent = [c for c in cells if c not in present]
  if not absent:
    return ""
  words: list[str] = []
  for name in dict.fromkeys(c.name for c in absent):
    words += _of_name(name, cells, absent)
  return f"missing: {', '.join(words)} ({len(absent)} of {len(cells)})"


def _of_name(
  name: str, cells: Sequence[Condition], absent: Sequence[Condition]
) -> list[str]:
  whole = [c for c in cells if c.name == name]
  lacking = [c for c in absent if c.name == name]
  if len(whole) == len(lacking) > 1:
    return [f"{name} {lacking[0].level}-{lacking[-1].level}"]
  return [_words(c) for c in lacking]


def _words(condition: Condition) -> str:
  if condition.config in (condition.name, "clean"):
    return condition.config  # a sequence of one level
  return f"{condition.name} {condition.level}"


@dataclasses.dataclass(frozen=True)
class Numbers:
  """Rows over the cells of one model.

  Attributes:
    summary: what the rows have in common.
    present: the cells that are there.
  """

  summary: cells_lib.Summary
  present: Collection[Condition]

  def rows(
    self,
    name: str,
    metric: str,
    value: float | None,
    cells: Sequence[Condition],
    interval: cells_lib.Interval = (None, None),
    n: int | None = None,
    *,
    level: int | None = None,
    why: str = "",
    asked: Sequence[Condition] | None = None,
  ) -> list[table.Row]:
    """The row of a number; none where none of its cells is there.

    Args:
      name: of the corruption; empty for the whole benchmark.
      metric: its name.
      value: the number, looked at where all its cells are there.
      cells: that it is over.
      interval: (lo, hi), None where there is none.
      n: examples behind it.
      level: difficulty, where the metric has one.
      why: why there is no value though all cells are there; else empty.
      asked: cells of which one makes that the number was asked for; default: the
        corrupted ones.
    """
    if asked is None:
      asked = [c for c in cells if not c.clean]
    if not any(c in self.present for c in asked):
      return []
    reason = note(cells, self.present) or why
    if reason:
      value, interval, n = None, (None, None), None
    return [
      self.summary.row(
        name, metric, value, interval, n, level=level, note=reason
      )
    ]
