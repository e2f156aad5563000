"""Printed numbers of the papers as entries of a board, with their source."""

from collections.abc import Iterable, Mapping
from typing import Any

from eval import papers
from eval.cells.number import Key, Number
from eval.compare.boards import board as board_lib
from eval.compare.boards.board import Entry
from eval.compare.slugs import Slugs
from eval.papers import doubt as doubt_lib


def entries(
  data: Mapping[str, Any], baseline: str, names: Slugs
) -> list[Entry]:
  """Return the networks that papers list under one protocol, in print order.

  Args:
    data: facts of the board's data; the entries' remark says how the protocol
      differs.
    baseline: what normalises the board's numbers; empty if nothing does.
    names: makes the entries' keys.
  """
  dataset = str(data["dataset"])
  remark = _remark(dataset, {**data, "baseline": baseline})
  rows: dict[str, list[papers.PrintedRow]] = {}
  for row in papers.rows(dataset):
    if row.listed:
      rows.setdefault(row.label, []).append(row)
  return [
    Entry(
      key=names.unique(f"{dataset} printed {label}"),
      label=f"{label}, printed",
      model=label,
      numbers=_numbers(of_label),
      state=board_lib.PRINTED,
      remark=remark,
      source="; ".join(dict.fromkeys(r.source for r in of_label)),
    )
    for label, of_label in rows.items()
  ]


def doubts(entries: Iterable[Entry]) -> list[str]:
  """Return sentences that name the printed entries with doubtful numbers."""
  labels = [
    entry.model
    for entry in entries
    if entry.printed
    and any(doubt_lib.HEAD in n.note for n in entry.numbers.values())
  ]
  if not labels:
    return []
  return [
    f"Doubtful printed numbers of {'; '.join(labels)}: recomputed where they"
    " follow from others, each number's note says how."
  ]


def _numbers(rows: list[papers.PrintedRow]) -> dict[Key, Number]:
  """Return the first number of each key: two tables may repeat a number."""
  out: dict[Key, Number] = {}
  for row in rows:
    used, doubt = row.used, doubt_lib.sentences([row])
    note = "; ".join(filter(None, (row.note, doubt)))
    number = Number(used.value, used.lo, used.hi, note=note)
    out.setdefault((row.metric, row.name, None), number)
  return out


def _remark(dataset: str, data: Mapping[str, Any]) -> str:
  """Return how the printed protocol differs from the board's data; '' if not."""
  protocol = papers.protocol(dataset)
  if protocol is None:
    return ""
  differ = protocol.differences(data)
  listed = "; ".join(
    f"{name.replace('_', ' ')} {board_lib.words_of(printed)}, here"
    f" {board_lib.words_of(here)}"
    for name, (printed, here) in differ.items()
  )
  return f"another protocol: {listed}" if listed else ""
