"""The verdict: what a run says of a model in one sentence, wherever it stands.

On the terminal, at the head of the report, in `print(result)`. Which numbers it
names is the task's: `eval/cells/facts.json`.
"""

from collections.abc import Sequence

from eval.cells import missing_cells, table
from eval.cells.facts import TaskFacts
from eval.cells.number import Number
from eval.metrics import definitions
from eval.tables import numbers
from robust_tfds.conditions import Condition, Family

_LONGEST = 48  # letters in which conditions are listed; else they are counted


def sentences(
  facts: TaskFacts, family: Family, rows: Sequence[table.Row]
) -> list[str]:
  """A sentence a model, in the order of the rows."""
  models = dict.fromkeys(row.model for row in rows if row.model)
  return [
    f"{m}: {_said(facts, family, [r for r in rows if r.model == m])}"
    for m in models
  ]


def of_cells(
  family: Family, rows: Sequence[table.Row]
) -> dict[Condition, table.Row]:
  """Each cell's main number, of one model."""
  cells = table.group_by_cell(rows, family.kind)
  return {c: of_cell[0] for c, of_cell in cells.items() if c is not None}


def worst(
  facts: TaskFacts, cells: dict[Condition, table.Row]
) -> list[Condition]:
  """Corrupted conditions, the one with the worst main number first.

  Args:
    cells: of a model, see `of_cells`.

  Returns:
    None where nobody said whether more or less is better.
  """
  corrupted = [c for c in cells if not c.clean]
  metrics = {cells[c].metric for c in corrupted}
  if len(metrics) != 1 or not (sign := facts.metric(*metrics).sign):
    return []
  return sorted(corrupted, key=lambda c: sign * cells[c].value)


def number(facts: TaskFacts, row: table.Row) -> str:
  """A row's value with its unit.

  >>> row = table.Row("m", "d", "", "", None, "clean_error", 0.025)
  >>> number(TaskFacts.for_task("classification"), row)
  '2.5 %'
  """
  metric, of = facts.metric(row.metric), Number(row.value)
  return numbers.text(metric, of) + numbers.unit(metric, of)


def _said(facts: TaskFacts, family: Family, rows: Sequence[table.Row]) -> str:
  """Of a model, from its rows."""
  known = [row for row in rows if row.has_value]
  cells = of_cells(family, known)
  whole = {
    r.metric: r
    for r in known
    if not r.config and not r.corruption and r.severity in (None, 1)
  }
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
  return (", ".join(parts) or "none of its numbers could be had") + last


def _held_out(facts: TaskFacts, row: table.Row | None) -> str:
  """A number over the conditions that a model was not trained on, if it has one."""
  return f" ({number(facts, row)} where it was not trained)" if row else ""


def _conditions(
  facts: TaskFacts, family: Family, present: Sequence[Condition]
) -> str:
  """What means are over: the common conditions that are there.

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
  levels, of_each, _ = listed.partition(missing_cells.OF_EACH)
  if of_each:
    return f"{len(names)} {facts.noun}s at {levels}"
  if len(listed) <= _LONGEST:
    return listed
  return f"{len(common)} of {len(needed)} conditions"
