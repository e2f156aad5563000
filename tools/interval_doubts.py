"""Printed intervals of Shankar et al. 2021 against exact binomial ones."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from eval.metrics import intervals
from eval.papers.doubt import Doubt
from eval.papers.printed_rows import PrintedRow

PAPER = "shankar2021"
_OTHER = "imagenet_vid_robust"  # whose anchors a table of another set has
_HALF_DIGIT = 0.0005 + 1e-9


def check(rows: Sequence[PrintedRow]) -> Iterator[Doubt]:
  """Yield doubts about rows whose interval fits no whole number of right anchors.

  A table none of whose intervals fits is one doubt.

  Args:
    rows: of the paper, those that count its anchors among them.
  """
  anchors = {
    row.datasets[0]: round(row.value)
    for row in rows
    if row.metric == "anchors_accepted"
  }
  tables: dict[str, list[tuple[PrintedRow, int]]] = {}
  for row, n in _with_intervals(rows, anchors):
    tables.setdefault(row.table, []).append((row, n))
  for listed in tables.values():
    unfit = [(row, n) for row, n in listed if not fits(row, n)]
    if len(unfit) == len(listed):
      whole = tuple(row for row, _ in listed)
      n, other = listed[0][1], anchors[_OTHER]
      words = (
        f"none of its {len(whole)} intervals is the exact one of {n:,} anchors;"
        f" all follow from {other:,}, the share not rounded to whole anchors"
      )
      used = tuple((None, *_exact(row, n)[1:]) for row, n in listed)
      yield Doubt(whole, words, "interval", used=used)
    else:
      for row, n in unfit:
        used = (None, *_exact(row, n)[1:])
        yield Doubt((row,), _words(row, n), "interval", used=(used,))


def fits(row: PrintedRow, n: int) -> bool:
  """Return whether a whole number of n prints as the share and its interval."""
  return bool((_off(row, n) <= _HALF_DIGIT).all(-1).any())


def _with_intervals(
  rows: Sequence[PrintedRow], anchors: Mapping[str, int]
) -> Iterator[tuple[PrintedRow, int]]:
  """Return rows with an interval, and their number of anchors."""
  own = {
    (r.table, r.name): round(r.value) for r in rows if r.metric == "anchors"
  }
  for row in rows:
    if row.lo is not None:
      yield row, own.get((row.table, row.name), anchors[row.datasets[0]])


def _candidates(row: PrintedRow, n: int) -> np.ndarray:
  """Return the whole numbers of right anchors that print as the share."""
  right = np.arange(n + 1)
  return right[np.abs(right / n - row.value) <= _HALF_DIGIT]


def _off(row: PrintedRow, n: int) -> np.ndarray:
  """Return distances of candidates' exact intervals to the printed one: `[C, 2]`."""
  lo, hi = intervals.clopper_pearson(_candidates(row, n), n)
  return np.abs(np.stack([lo - row.lo, hi - row.hi], axis=-1))


def _exact(row: PrintedRow, n: int) -> tuple[int, float, float]:
  """Return the number of right anchors nearest to the print, and its interval."""
  off = _off(row, n)
  nearest = np.lexsort([off.max(-1), (off > _HALF_DIGIT).sum(-1)])[0]
  right = int(_candidates(row, n)[nearest])
  lo, hi = intervals.clopper_pearson(right, n)
  return right, float(lo), float(hi)


def _words(row: PrintedRow, n: int) -> str:
  right, *exact = _exact(row, n)
  words = f"the exact interval of {right} of {n:,} is {_interval(*exact)},"
  return f"{words} printed {_interval(row.lo, row.hi)}"


def _interval(lo: float | None, hi: float | None) -> str:
  return f"[{100 * (lo or 0.0):.1f}, {100 * (hi or 0.0):.1f}]"
