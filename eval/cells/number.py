"""`Number`: a value with its 95 % interval, and a note."""

from __future__ import annotations

import dataclasses
import math

# The metric, corruption (empty: the whole benchmark) and difficulty (None: none) of
# a number over cells.
Key = tuple[str, str, int | None]


@dataclasses.dataclass(frozen=True)
class Number:
  """A number with its 95 % interval.

  Attributes:
    value: the value; None if there is none, and the note says why.
    lo: lower end; None if no interval is defined.
    hi: upper end.
    n: number of examples; None for a ratio.
    note: a note on the number.
    jackknife: the additional interval of the jackknife over blocks of groups;
      None without draws.
  """

  value: float | None
  lo: float | None = None
  hi: float | None = None
  n: int | None = None
  note: str = ""
  jackknife: tuple[float, float] | None = None

  @classmethod
  def from_floats(
    cls, value: float, lo: float = math.nan, hi: float = math.nan
  ) -> Number:
    """Create it from computed values; nan stands for a missing one.

    >>> Number.from_floats(0.5, float("nan"), float("nan"))
    Number(value=0.5, lo=None, hi=None, n=None, note='', jackknife=None)
    """
    known = [None if math.isnan(x) else float(x) for x in (value, lo, hi)]
    return cls(known[0], known[1], known[2])

  @property
  def interval(self) -> tuple[float, float] | None:
    """Both ends; None unless both are known and finite."""
    if self.lo is None or self.hi is None:
      return None
    finite = math.isfinite(self.lo) and math.isfinite(self.hi)
    return (self.lo, self.hi) if finite else None

  @property
  def or_nan(self) -> float:
    """The value as a float; nan if there is none."""
    return math.nan if self.value is None else self.value
