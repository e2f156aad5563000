"""Which cells a number over several of them lacks, in words.

A mean over some of its cells looks like the mean over all: where a cell is not
there the number is empty, and its note names what is missing. A number none of
whose cells is there was not asked for and has no row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from robust_tfds.conditions import Condition, Family


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
