"""Numbers as texts: how many digits, in which unit, with which interval.

Rates are shown in percent. Pages show them with one digit behind the point (two
below 1 %) and other numbers with three significant digits; an interval's ends have
the digits of the value. Reports show one digit of rates and two of other numbers.
"""

import functools
import math
from collections.abc import Callable
from typing import TypeGuard

from eval.cells import table
from eval.cells.number import Number
from eval.metrics.definitions import Metric

MISSING = "–"
# A value and the ends of its interval, as the several texts write them.
DASH, BRACKETS, WORDS = "{} ({}–{})", "{} [{}, {}]", "{} ({} to {})"
_BELOW_ONE = 2  # digits behind the point of rates below 1 %


def with_ends(
  text: Callable[[float], str],
  value: float,
  lo: float | None,
  hi: float | None,
  form: str = DASH,
) -> str:
  """A value with its interval, or alone where there is none.

  Args:
    text: a number as a text.
    value: is shown alone where it is not finite.
    lo, hi: the interval's ends, None or not finite where there are none.
    form: of the three texts.

  >>> with_ends(percent, 0.5, 0.4, 0.6), with_ends(percent, 0.5, None, None)
  ('50.0 (40.0–60.0)', '50.0')
  """
  if lo is None or hi is None or not math.isfinite(lo + hi + value):
    return text(value)
  return form.format(text(value), text(lo), text(hi))


def of_row(
  row: table.Row | None, form: str = DASH, metric: Metric | None = None
) -> str:
  """A row's value with its interval as reports print it, `-` without a row.

  Args:
    form: of value and ends.
    metric: of the row; None: a fraction, shown in percent.
  """
  if row is None:
    return "-"
  text = functools.partial(plain, metric) if metric else percent
  return with_ends(text, row.value, row.lo, row.hi, form)


def decimals(number: float, digits: int = 2) -> str:
  """A number with some digits behind the point, `-` for nan."""
  return "-" if math.isnan(number) else f"{number:.{digits}f}"


def percent(number: float, digits: int = 1) -> str:
  """A fraction in percent, `-` for nan."""
  return decimals(100 * number, digits)


def plain(metric: Metric, number: float) -> str:
  """A number as reports print it: rates in percent, distances as they are."""
  return percent(number) if metric.percent else decimals(number)


def text(metric: Metric, number: Number | None) -> str:
  """The value; a dash where there is none.

  >>> text(Metric("error", "Error"), Number(0.2391)), text(Metric("x", "x"), None)
  ('23.9', '–')
  """
  value = value_of(number)
  if value is None:
    return MISSING
  shown = scaled(metric, value)
  return _fixed(shown, _digits(metric, shown))


def interval(metric: Metric, number: Number | None) -> str:
  """The interval's ends; empty where there is none.

  >>> interval(Metric("error", "Error"), Number(0.239, 0.2301, 0.25))
  '23.0–25.0'
  """
  value, limits = value_of(number), ends(number)
  if value is None or limits is None:
    return ""
  digits = _digits(metric, scaled(metric, value))
  lo, hi = (_fixed(scaled(metric, end), digits) for end in limits)
  return f"{lo}–{hi}"


def with_unit(metric: Metric, number: Number | None) -> str:
  """The value with its unit, and the interval behind it."""
  between = interval(metric, number)
  shown = text(metric, number) + unit(metric, number)
  return shown + (f" ({between})" if between else "")


def unit(metric: Metric, number: Number | None) -> str:
  """What stands behind the value; nothing behind a dash."""
  return " %" if metric.percent and has_value(number) else ""


def heading(metric: Metric) -> str:
  """Over a column, with the unit."""
  lower = metric.heading.isalpha() and metric.heading.islower()
  words = metric.heading.capitalize() if lower else metric.heading
  return f"{words}, %" if metric.percent else words


def short(metric: Metric, number: Number | None) -> str:
  """Two significant digits, for small cells of many.

  >>> error = Metric("error", "Error")
  >>> short(error, Number(0.2391)), short(error, Number(0.0333))
  ('24', '3.3')
  """
  value = value_of(number)
  if value is None:
    return MISSING
  shown = scaled(metric, value)
  return _fixed(shown, 1 if abs(shown) < 9.95 else 0)


def exact(number: Number | None) -> str:
  """Value and ends as they are, which scripts sort and copy; empty without one."""
  value = value_of(number)
  if value is None:
    return ""
  return " ".join(f"{end:.9g}" for end in (value, *(ends(number) or ())))


def count(number: Number | None) -> str:
  """How many examples are behind a number."""
  if number is None or number.n is None:
    return MISSING
  return f"{number.n:,}"


def scaled(metric: Metric, value: float) -> float:
  """A value in the unit that is shown."""
  return 100 * value if metric.percent else value


def has_value(number: Number | None) -> TypeGuard[Number]:
  """Whether there is a number."""
  return value_of(number) is not None


def ends(number: Number | None) -> tuple[float, float] | None:
  """The interval's ends; None where there are none that are finite."""
  if number is None or number.lo is None or number.hi is None:
    return None
  if not (math.isfinite(number.lo) and math.isfinite(number.hi)):
    return None
  return number.lo, number.hi


def value_of(number: Number | None) -> float | None:
  """The value; None where there is none, or none that is finite."""
  if number is None or number.value is None or not math.isfinite(number.value):
    return None
  return number.value


def _digits(metric: Metric, shown: float) -> int:
  """Behind the point."""
  size = abs(shown)
  if metric.percent:
    return _BELOW_ONE if 0 < size < 1 else 1
  if size == 0 or size >= 1000:
    return 0
  return min(max(2 - math.floor(math.log10(size)), 0), 5)


def _fixed(shown: float, digits: int) -> str:
  """With a true minus, and none before a zero."""
  out = f"{shown:.{digits}f}"
  if shown >= 0:
    return out
  return out.replace("-", "−" if float(out) else "")
