"""Descriptions of the missing cells of a number over several cells.

A mean over some of its cells looks like the mean over all. So if a cell is
missing, the number is empty and its note names what is missing; the mean over
the present cells has its own name (`Headline.part`). A number without any of
its cells has no row.
"""

from collections.abc import Collection, Iterable, Sequence

from robust_tfds.conditions import Condition, Family

OF_EACH = " of each"
_FEW = 3  # this many cells are always listed


def needed(family: Family, names: Iterable[str]) -> list[Condition]:
  """Return all conditions of some names, in their order."""
  return [
    family.condition(name, level)
    for name in names
    for level in family.levels(name)
  ]


def note(cells: Sequence[Condition], present: Collection[Condition]) -> str:
  """Return a text that names the missing cells; '' if none is missing.

  >>> from robust_tfds import conditions
  >>> cells = needed(conditions.PICTURES, ["fog", "frost"])
  >>> note(cells, cells[:3])
  'missing: fog 4, fog 5, frost 1-5 (7 of 10)'
  """
  absent = [c for c in cells if c not in present]
  if not absent:
    return ""
  return f"missing: {describe(cells, absent)} ({len(absent)} of {len(cells)})"


def part_note(cells: Sequence[Condition], present: Sequence[Condition]) -> str:
  """Return a text that names the cells of a mean.

  >>> from robust_tfds import conditions
  >>> cells = needed(conditions.PICTURES, ["fog", "frost"])
  >>> part_note(cells, [c for c in cells if c.level in (1, 3)])
  'mean over 4 of 10 cells: levels 1, 3 of each'
  """
  count = f"{len(present)} of {len(cells)}"
  return f"mean over {count} cells: {describe(cells, present)}"


def describe(cells: Sequence[Condition], chosen: Sequence[Condition]) -> str:
  """Return some of the cells in the fewest words: `fog 1-5`, `all but frost 1-5`.

  >>> from robust_tfds import conditions
  >>> cells = needed(conditions.PICTURES, ["fog", "frost", "snow"])
  >>> describe(cells, [c for c in cells if c.level < 4 and c.name != "snow"])
  'levels 1, 2, 3 of fog, frost'
  """
  listed = _texts(cells, chosen)
  if len(listed) <= _FEW:
    return ", ".join(listed)
  others = [c for c in cells if c not in chosen]
  short = _describe_levels(cells, chosen)
  if not short and len(_texts(cells, others)) < len(listed):
    return f"all but {describe(cells, others)}"
  return short or ", ".join(listed)


def _describe_levels(
  cells: Sequence[Condition], chosen: Sequence[Condition]
) -> str:
  """Return cells of the same levels of some names, in words; else ''."""
  corrupted = [c for c in chosen if not c.clean]
  names = dict.fromkeys(c.name for c in corrupted)
  levels = {c.level for c in corrupted}
  whole = [c for c in cells if c.name in names]
  same = [c for c in whole if c.level in levels]
  if corrupted != same or same == whole:
    return ""
  all_names = {c.name for c in cells if not c.clean}
  start = "clean, " * (len(corrupted) < len(chosen))
  noun = "levels" if len(levels) > 1 else "level"
  listed = f"{start}{noun} {', '.join(map(str, sorted(levels)))}"
  every = len(names) == len(all_names)
  return listed + (OF_EACH if every else f" of {', '.join(names)}")


def _texts(
  cells: Sequence[Condition], chosen: Sequence[Condition]
) -> list[str]:
  names = dict.fromkeys(c.name for c in chosen)
  return [text for n in names for text in _texts_of_name(n, cells, chosen)]


def _texts_of_name(
  name: str, cells: Sequence[Condition], chosen: Sequence[Condition]
) -> list[str]:
  whole = [c for c in cells if c.name == name]
  own = [c for c in chosen if c.name == name]
  if len(whole) == len(own) > 1:
    return [f"{name} {own[0].level}-{own[-1].level}"]
  return [words(c) for c in own]


def words(condition: Condition) -> str:
  """Return a condition in words: `fog 3`, `tilt`, `clean`."""
  if condition.config in (condition.name, "clean"):
    return condition.config  # a sequence of one level
  return f"{condition.name} {condition.level}"
