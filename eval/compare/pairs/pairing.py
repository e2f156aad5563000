"""The models and conditions that are compared; why others cannot be.

Two models are compared by example: both saw the same ids with the same labels, and
all facts of their data agree. Seeds may differ; then the pictures are the same and
the corruptions were drawn apart.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eval.cells import cell_facts
from eval.compare.boards import board
from eval.compare.sides import Side
from eval.tasks import base
from robust_tfds import errors
from robust_tfds.conditions import Condition

_LISTED = 5  # names of a list that a sentence shows
# Said more helpfully from the examples themselves.
_OF_EXAMPLES = ("ids", "labels", "groups", "examples")


def models(
  first: Sequence[str], second: Sequence[str], named: str = ""
) -> list[tuple[str, str]]:
  """Return the pairs of labels to compare.

  Args:
    first: labels of the first run.
    second: labels of the second.
    named: `A,B`, A of the first run and B of the second; empty: equal labels, or
      the only model of each run.

  Raises:
    UserError: unknown labels, or no equal ones.

  >>> models(["a", "b"], ["b", "c"]), models(["a"], ["c"])
  ([('b', 'b')], [('a', 'c')])
  """
  if named:
    return [_named(first, second, named)]
  equal = [(label, label) for label in first if label in second]
  if not equal and len(first) == len(second) == 1:
    return [(first[0], second[0])]
  if not equal:
    raise errors.UserError(
      f"The runs have no label in common: the first has {', '.join(first)}, the second"
      f" {', '.join(second)}. Name one of each: --models={first[0]},{second[0]}."
    )
  return equal


def _named(
  first: Sequence[str], second: Sequence[str], named: str
) -> tuple[str, str]:
  parts = named.split(",")
  # A label may hold a comma itself.
  splits = [
    (",".join(parts[:i]).strip(), ",".join(parts[i:]).strip())
    for i in range(1, len(parts))
  ]
  for one, other in splits:
    if one in first and other in second:
      return one, other
  if len(splits) != 1:
    raise errors.UserError(
      f"--models={named}: expected A,B, a label of the first run"
      f" ({', '.join(first)}) and one of the second ({', '.join(second)})."
    )
  one, other = splits[0]
  if one not in first:
    raise errors.unknown_error("model of the first run", one, first)
  raise errors.unknown_error("model of the second run", other, second)


def conditions(first: Side, second: Side) -> tuple[list[Condition], list[str]]:
  """Return the common conditions, and sentences about conditions of one side only.

  Raises:
    UserError: no condition in common.
  """
  common = [c for c in first.cells if c in second.cells]
  if not common:
    raise errors.UserError(
      "The runs have no finished condition in common: the first has"
      f" {_list([c.config for c in first.cells])}, the second"
      f" {_list([c.config for c in second.cells])}."
    )
  notes = []
  for which, side in (("first", first), ("second", second)):
    alone = [c.config for c in side.cells if c not in common]
    if alone:
      notes.append(
        f"Only in the {which} run, and not compared: {_list(alone, 100)}."
      )
  return common, notes


def check_facts(
  first: Side, second: Side, common: Sequence[Condition]
) -> list[str]:
  """Refuse sides with different data; return sentences on unknown facts.

  Raises:
    UserError: facts of the data that differ, each with both values.
  """
  one, other = (side.data(common) for side in (first, second))
  differ = {
    name: values
    for name, values in cell_facts.differences(one, other).items()
    # The ids are compared by check_columns, decoders are said.
    if name not in (*_OF_EXAMPLES, "subset", "decoders")
  }
  if differ:
    one_unknown = any(None in values for values in differ.values())
    raise errors.UserError(
      "The runs have different data, so their difference would say nothing about"
      f" the models: {_differences(differ)}. Compare runs over the same data."
      + " Facts shown as 'unknown' were not recorded: the run is from an earlier"
      " robust_tfds or another program." * one_unknown
    )
  notes = cell_facts.decoder_notes(
    (which, data["decoders"])
    for which, data in (("first", one), ("second", other))
  )
  notes += cell_facts.elsewhere_notes(
    (side.model, side.model_facts.words()) for side in (first, second)
  )
  unknown = [
    n for n in one if one[n] is other[n] is None and n not in _OF_EXAMPLES
  ]
  if not unknown:
    return notes
  return [
    *notes,
    f"Neither run records these facts, so they may differ: {', '.join(unknown)}.",
  ]


def _differences(differ: Mapping[str, tuple[Any, Any]]) -> str:
  return "; ".join(
    f"{name}: {board.words_of(one)} (first), {board.words_of(other)} (second)"
    for name, (one, other) in differ.items()
  )


def check_columns(
  condition: Condition, first: base.Columns, second: base.Columns
) -> None:
  """Refuse cells with different examples.

  Raises:
    UserError: ids of only one side (their number, and one of them), or an id
      with two labels or groups.
  """
  where = condition.config
  one, other = (_ids(columns) for columns in (first, second))
  if not np.array_equal(one, other):
    alone = sorted(set(one.tolist()) ^ set(other.tolist()))
    raise errors.UserError(
      f"{where}: the runs have different examples: {len(alone):,} are in only one,"
      f" e.g. {alone[0] if alone else one[0]}. Compare runs over the same ids."
    )
  for name, what in (
    ("label", "true class"),
    ("labels", "true classes"),
    ("group_id", "group"),
    ("category", "category"),
  ):
    if name in first and name in second:
      _check_same(where, what, one, first[name], second[name])


def _ids(columns: base.Columns) -> np.ndarray:
  """Return one id per row; for several frames of one example with the frame."""
  ids = columns["example_id"]
  if len(ids) > 1 and (ids[1:] == ids[:-1]).any():
    frames = np.asarray(columns["frame"]).astype(np.str_)
    return np.char.add(np.char.add(ids.astype(np.str_), " frame "), frames)
  return ids


def _check_same(
  where: str,
  what: str,
  ids: np.ndarray,
  first: np.ndarray,
  second: np.ndarray,
) -> None:
  differ = np.ones((len(first), 1), bool)
  if first.shape == second.shape:
    differ = (first != second).reshape(len(first), -1)
  rows = np.flatnonzero(differ.any(axis=1))
  if len(rows):
    i = rows[0]
    raise errors.UserError(
      f"{where}: {len(rows):,} of {len(ids):,} examples differ in their {what},"
      f" e.g. {ids[i]}: {_value(first[i])} in the first run, {_value(second[i])}"
      " in the second. Do both runs number them in the same way?"
    )


def _value(value: Any) -> Any:
  return value.tolist() if isinstance(value, np.ndarray) else value


def _list(names: Sequence[str], most: int = _LISTED) -> str:
  rest = len(names) - most
  more = f" and {rest:,} more" if rest > 0 else ""
  return ", ".join(names[:most]) + more
