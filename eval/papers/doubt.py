"""Printed numbers that do not fit other printed numbers: `<paper>/doubts.tsv`.

`tools/printed_doubts.py` finds them and writes the files. A line is of one printed
number; lines of one `doubt` are about one thing, which the first of them says.
"""

from __future__ import annotations

import dataclasses
import functools
import pathlib

from robust_tfds.eval.papers import printed_rows
from robust_tfds.eval.papers.printed_rows import PrintedRow

COLUMNS = ("doubt", "table", "line", "metric", "name", "subject", "words")


@dataclasses.dataclass(frozen=True)
class Doubt:
  """A printed number that does not fit others.

  Attributes:
    rows: the printed numbers it is about.
    words: why, with the arithmetic.
    subject: what they have in common, where their fields do not say it.
  """

  rows: tuple[PrintedRow, ...]
  words: str
  subject: str = ""

  @property
  def paper(self) -> str:
    """Folder of the paper."""
    return self.rows[0].paper

  @property
  def where(self) -> str:
    """The table in the paper."""
    return self.rows[0].where

  @property
  def what(self) -> str:
    """Network, metric and condition; what its rows have in common."""
    if self.subject:
      return self.subject
    first = self.rows[0]
    fields = ("label", "metric", "name")
    same = [
      getattr(first, f)
      for f in fields
      if all(getattr(r, f) == getattr(first, f) for r in self.rows)
    ]
    return ", ".join(filter(None, same))


@functools.cache
def of_paper(paper: str) -> tuple[Doubt, ...]:
  """A paper's, in the order of its tables."""
  rows = {printed_rows.place(row): row for row in printed_rows.of_paper(paper)}
  lines: dict[str, list[dict[str, str]]] = {}
  for line in printed_rows.lines(paper, printed_rows.DOUBTS):
    lines.setdefault(line["doubt"], []).append(line)
  return tuple(
    Doubt(
      tuple(rows[printed_rows.place_of(line)] for line in about),
      about[0]["words"],
      about[0]["subject"],
    )
    for about in lines.values()
  )


def path(paper: str) -> pathlib.Path:
  """Of a paper's file."""
  return printed_rows.FOLDER / paper / f"{printed_rows.DOUBTS}.tsv"
