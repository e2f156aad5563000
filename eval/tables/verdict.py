"""The verdict: one sentence about a model, on the terminal and in reports.

`eval/cells/facts.json` says which numbers each task names in it.
"""

from collections.abc import Sequence

from eval.cells import missing_cells, table
from eval.cells.facts import TaskFacts
from eval.cells.number import Number
from eval.metrics import definitions
from eval.tables import numbers
from robust_tfds.conditions import Condition, Family

_LONGEST = 48  # letters of a list of conditions; longer ones are counted


def sentences(
  facts: TaskFacts, family: Family, rows: Sequence[table.Row]
) -> list[str]:
  """Return a sentence per model, in the order of the rows."""
  models = dict.fromkeys(row.model for row in rows if row.model)
  return [
    f"{m}: {_sentence(facts, family, [r for r in rows if r.model == m])}"
    for m in models
  ]


def main_rows(
  family: Family, rows: Sequence[table.Row]
) -> dict[Condition, table.Row]:
  """Return condition -> row of the main number, for the rows of one model."""
  cells = table.group_by_cell(rows, family.kind)
  return {c: listed[0] for c, listed in cells.items() if c is not None}


def worst(
  facts: TaskFacts, cells: dict[Condition, table.Row]
) -> list[Condition]:
  """Return the corrupted conditions, the one with the worst main number first.

  The result is [] if neither more nor less is better.

  Args:
    cells: one model's cells, see `main_rows`.
  """
  corrupted = [c for c in cells if not c.clean]
  metrics = {cells[c].metric for c in corrupted}
  if len(metrics) != 1 or not (sign := facts.metric(*metrics).sign):
    return []
  return sorted(corrupted, key=lambda c: sign * cells[c].value)


def number(facts: TaskFacts, row: table.Row) -> str:
  """Return a row's value with its unit.

  >>> row = table.Row("m", "d", "", "", None, "clean_error", 0.025)
  >>> number(TaskFacts.for_task("classification"), row)
  '2.5 %'
  """
  metric, value = facts.metric(row.metric), Number(row.value)
  return numbers.text(metric, value) + numbers.unit(metric, value)


def _sentence(
  facts: TaskFacts, family: Family, rows: Sequence[table.Row]
) -> str:
  """Return the sentence about a model, from its rows."""
  known = [row for row in rows if row.has_value]
  cells = main_rows(family, known)
  whole = {r.metric: r for r in known if r.is_summary}
  clean = " clean" if any(not c.clean for c in cells) else ""
  over = _conditions(facts, family, list(cells))
  parts = [
    words.format(number(facts, row), clean=clean, conditions=over)
    + _held_out(facts, whole.get(definitions.HELD_OUT + metric))
    for metric, words in facts.verdict
    if (row := whole.get(metric) or whole.get(definitions.PART + metric))
  ]
  order = worst(facts, cells)
  last = ""
  if len(order) > 1:
    name = definitions.words(missing_cells.words(order[0]))
    last = f"; worst: {name} ({number(facts, cells[order[0]])})"
  return (", ".join(parts) or "no numbers") + last


def _held_out(facts: TaskFacts, row: table.Row | None) -> str:
  """Return the number over conditions not trained on, in brackets, or ''."""
  return f" ({number(facts, row)} where it was not trained)" if row else ""


def _conditions(
  facts: TaskFacts, family: Family, present: Sequence[Condition]
) -> str:
  """Return a text that names the common conditions that are present.

  >>> from robust_tfds import conditions
  >>> family, facts = conditions.PICTURES, TaskFacts.for_task("classification")
  >>> _conditions(facts, family, family.conditions())
  '15 corruptions'
  >>> _conditions(facts, family, [Condition("fog", 1), Condition("fog", 3)])
  'fog 1, fog 3'
  """
  names = family.names("common")
  needed = missing_cells.needed(family, names)
  common = [c for c in needed if c in present]
  if len(common) == len(needed):
    return f"{len(names)} {facts.noun}s"
  listed = definitions.words(missing_cells.describe(needed, common))
  levels, every, _ = listed.partition(missing_cells.OF_EACH)
  if every:
    return f"{len(names)} {facts.noun}s at {levels}"
  if len(listed) <= _LONGEST:
    return listed
  return f"{len(common)} of {len(needed)} conditions"
