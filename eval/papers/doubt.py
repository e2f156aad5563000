"""Printed numbers that contradict other printed numbers: `<paper>/doubts.tsv`.

`tools/printed_doubts.py` finds them and writes the files. A line concerns one
printed number; lines of the same `doubt` share a subject, which the first of
them states with its kind. `eval/papers/doubt_kinds.tsv` is the rule: for which
kinds the printed number is used, for which a recomputed one (`value`, `lo`,
`hi` of the line), and why. Tables that redraw a printed table show the printed
number, marked; all else uses `PrintedRow.used`.
"""

import dataclasses
import functools
import pathlib
from collections.abc import Iterable, Mapping, Sequence

from eval.papers import printed_rows
from eval.papers.printed_rows import PrintedRow

COLUMNS = (
  *("doubt", "table", "line", "metric", "name", "subject", "words", "kind"),
  *printed_rows.USED,
)
Used = tuple[float | None, float | None, float | None]  # None: as printed
HEAD = "Doubtful:"  # heading of `sentences`
_FEW = 3  # most numbers of a doubt that are all named


@dataclasses.dataclass(frozen=True)
class Doubt:
  """A contradiction of printed numbers with others.

  Attributes:
    rows: the printed numbers it is about.
    words: why, with the arithmetic.
    kind: a row of `eval/papers/doubt_kinds.tsv`.
    subject: what they have in common, if their fields do not state it.
    used: value, lo and hi that replace each number; None: as printed.
  """

  rows: tuple[PrintedRow, ...]
  words: str
  kind: str
  subject: str = ""
  used: tuple[Used, ...] = ()

  @property
  def paper(self) -> str:
    """The folder of the paper."""
    return self.rows[0].paper

  @property
  def where(self) -> str:
    """The table in the paper."""
    return self.rows[0].where

  @property
  def what(self) -> str:
    """The network, metric and condition that its rows have in common."""
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
def paper_doubts(paper: str) -> tuple[Doubt, ...]:
  """Return the doubts of a paper, in the order of its tables."""
  rows = {
    printed_rows.place(row): row for row in printed_rows.paper_rows(paper)
  }
  lines: dict[str, list[dict[str, str]]] = {}
  for line in printed_rows.lines(paper, printed_rows.DOUBTS):
    lines.setdefault(line["doubt"], []).append(line)
  return tuple(
    Doubt(
      tuple(rows[printed_rows.place_of(line)] for line in about),
      about[0]["words"],
      about[0]["kind"],
      about[0]["subject"],
      tuple(map(_used, about)),
    )
    for about in lines.values()
  )


def _used(line: Mapping[str, str]) -> Used:
  value, lo, hi = (
    float(line[k]) if line[k] else None for k in printed_rows.USED
  )
  return value, lo, hi


@functools.cache
def kinds() -> dict[str, tuple[str, str]]:
  """Return by kind of doubt which number is used, `printed` or `recomputed`,
  and why.
  """
  listed = printed_rows.lines(".", "doubt_kinds")
  return {line["kind"]: (line["used"], line["why"]) for line in listed}


def sentences(rows: Iterable[PrintedRow], as_printed: bool = False) -> str:
  """Return the doubts about rows and which numbers are shown, in words; '' if none.

  Args:
    as_printed: whether printed numbers are shown even if others are used.
  """
  listed: dict[str, list[str]] = {}
  for row in rows:
    if row.doubt:
      names = [row.label, row.metric.replace("/", " "), row.name]
      words = " ".join(filter(None, names)).replace("_", " ")
      recomputed = row.better is not None and not as_printed
      shown = "recomputed" if recomputed else "as printed"
      why = f"{row.doubt.rstrip('.')} (shown {shown})"
      listed.setdefault(why, []).append(words)
  parts = [f"{_short(doubted)}: {words}." for words, doubted in listed.items()]
  return f"{HEAD} {' '.join(parts)}" if parts else ""


def _short(subjects: Sequence[str]) -> str:
  """Return the subject of a doubt: all of few numbers, else the first and their
  number.
  """
  if len(subjects) <= _FEW:
    return ", ".join(subjects)
  return f"{subjects[0]} and {len(subjects) - 1} more numbers"


def path(paper: str) -> pathlib.Path:
  """Return the path of a paper's file."""
  return printed_rows.FOLDER / paper / f"{printed_rows.DOUBTS}.tsv"
