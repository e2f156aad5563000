"""Printed tables: their rows, data sets and sources."""

from collections.abc import Iterable

from eval import papers
from eval.cells.number import Number
from eval.papers import PrintedRow
from eval.report.figures.parts import sheet


def table(paper: str, name: str) -> list[PrintedRow]:
  """Return the numbers of a printed table, line by line.

  Args:
    paper: folder of `eval/papers`.
  """
  return [row for row in papers.rows(paper) if row.table == name]


def datasets(paper: str, name: str) -> list[str]:
  """Return the data sets of a printed table.

  Args:
    paper: folder of `eval/papers`.
  """
  listed = (d for row in table(paper, name) for d in row.datasets)
  return list(dict.fromkeys(listed))


def source_of(rows: Iterable[PrintedRow]) -> str:
  """Return the sources of rows, once each."""
  return "; ".join(dict.fromkeys(row.source for row in rows))


def words_of_source(rows: Iterable[PrintedRow]) -> str:
  """Return the sources as a sentence, or '' without rows."""
  source = source_of(rows)
  return f"Source: {source}." if source else ""


def number(row: PrintedRow) -> Number:
  """Return a row's number, marked if it is doubtful."""
  value = sheet.Marked(row.value) if row.marked else row.value
  others = row.better is not None and row.better[1:] != (row.lo, row.hi)
  end = sheet.Marked if others else float
  lo, hi = (None if e is None else end(e) for e in (row.lo, row.hi))
  return Number(value, lo, hi)
