"""Printed tables as figures take them: lines of numbers, sources, doubts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from robust_tfds.eval import papers
from robust_tfds.eval.papers import PrintedRow

_FEW = 3  # numbers of a doubt that are all named


def table(paper: str, name: str) -> list[PrintedRow]:
  """The numbers of a printed table, line by line.

  Args:
    paper: folder of `eval/papers`.
    name: the table's file.
  """
  return [row for row in papers.rows(paper) if row.table == name]


def source_of(rows: Iterable[PrintedRow]) -> str:
  """Where rows are printed, once each."""
  return "; ".join(dict.fromkeys(row.source for row in rows))


def doubts(rows: Iterable[PrintedRow]) -> str:
  """What does not fit other printed numbers, as sentences; or nothing."""
  listed: dict[str, list[str]] = {}
  for row in rows:
    if row.doubt:
      of = [row.label, row.metric.replace("/", " "), row.name]
      words = " ".join(filter(None, of)).replace("_", " ")
      listed.setdefault(row.doubt.rstrip("."), []).append(words)
  parts = [f"{_short(of)}: {words}." for words, of in listed.items()]
  return f"Doubtful: {' '.join(parts)}" if parts else ""


def _short(of: Sequence[str]) -> str:
  """What a doubt is about: all of few numbers, else the first and how many."""
  if len(of) <= _FEW:
    return ", ".join(of)
  return f"{of[0]} and {len(of) - 1} more numbers"
