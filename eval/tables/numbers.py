"""Numbers as texts: digits, units and intervals.

Rates are shown in percent. Pages show them with one decimal (two below 1 %) and other
numbers with three significant digits; an interval's ends have the digits of the value.
Reports show rates with one decimal and other numbers with two.
"""

import functools
import math
from collections.abc import Callable
from typing import TypeGuard

from eval.cells import table
from eval.cells.number import Number
from eval.metrics.definitions import Metric

MISSING = "–"
# Forms of a value with the ends of its interval.
DASH, BRACKETS, WORDS = "{} ({}–{})", "{} [{}, {}]", "{} ({} to {})"
_BELOW_ONE = 2  # decimals of rates below 1 %


def interval_text(
  text: Callable[[float], str],
  value: float,
  lo: float | None,
  hi: float | None,
  form: str = DASH,
) -> str:
  """Return a value with its interval, or alone if either is not finite.

  Args:
    text: writes a number.
    value: the number.
    lo, hi: the interval's ends; None: no interval.
    form: how the three texts are joined.

  >>> interval_text(percent, 0.5, 0.4, 0.6), interval_text(percent, 0.5, None, None)
  ('50.0 (40.0–60.0)', '50.0')
  """
  if lo is None or hi is None or not math.isfinite(lo + hi + value):
    return text(value)
  return form.format(text(value), text(lo), text(hi))


def row_text(
  row: table.Row | None, form: str = DASH, metric: Metric | None = None
) -> str:
  """Return a row's value with its interval for reports, `-` without a row.

  Args:
    form: how value and ends are joined.
    metric: the row's metric; None: a fraction, shown in percent.
  """
  if row is None:
    return "-"
  text = functools.partial(plain, metric) if metric else percent
  return interval_text(text, row.value, row.lo, row.hi, form)


def decimals(number: float, digits: int = 2) -> str:
  """Return a number with some decimals, `-` for nan."""
  return "-" if math.isnan(number) else f"{number:.{digits}f}"


def percent(number: float, digits: int = 1) -> str:
  """Return a fraction in percent, `-` for nan."""
  return decimals(100 * number, digits)


def plain(metric: Metric, number: float) -> str:
  """Format a number for reports: rates in percent, distances unchanged."""
  if metric.any_size and math.isfinite(number):
    return _fixed(number, _digits(metric, number))
  return percent(number) if metric.percent else decimals(number)


def text(metric: Metric, number: Number | None) -> str:
  """Return the value, or a dash without one.

  >>> text(Metric("error", "Error"), Number(0.2391)), text(Metric("x", "x"), None)
  ('23.9', '–')
  """
  value = value_of(number)
  if value is None:
    return MISSING
  shown = scaled(metric, value)
  return _fixed(shown, _digits(metric, shown))


def interval(metric: Metric, number: Number | None) -> str:
  """Return the interval's ends; empty without an interval.

  >>> interval(Metric("error", "Error"), Number(0.239, 0.2301, 0.25))
  '23.0–25.0'
  >>> interval(Metric("error", "Error"), Number(-0.06, -0.07, -0.05))
  '−7.0 to −5.0'
  """
  value, limits = value_of(number), ends(number)
  if value is None or limits is None:
    return ""
  digits = _digits(metric, scaled(metric, value))
  lo, hi = (_fixed(scaled(metric, end), digits) for end in limits)
  return f"{lo} to {hi}" if "−" in lo + hi else f"{lo}–{hi}"


def full_text(metric: Metric, number: Number | None) -> str:
  """Return the value with its unit and interval."""
  between = interval(metric, number)
  shown = text(metric, number) + unit(metric, number)
  return shown + (f" ({between})" if between else "")


def unit(metric: Metric, number: Number | None) -> str:
  """Return the unit after the value; empty after a dash."""
  return " %" if metric.percent and has_value(number) else ""


def heading(metric: Metric) -> str:
  """Return the heading of a column, with the unit."""
  lower = metric.heading.isalpha() and metric.heading.islower()
  words = metric.heading.capitalize() if lower else metric.heading
  return f"{words}, %" if metric.percent else words


def short(metric: Metric, number: Number | None) -> str:
  """Return two significant digits, for the small cells of heat maps.

  >>> error = Metric("error", "Error")
  >>> short(error, Number(0.2391)), short(error, Number(0.0333))
  ('24', '3.3')
  """
  value = value_of(number)
  if value is None:
    return MISSING
  shown = scaled(metric, value)
  if metric.any_size:
    return _fixed(shown, max(_digits(metric, shown) - 1, 0))
  return _fixed(shown, 1 if abs(shown) < 9.95 else 0)


def exact(number: Number | None) -> str:
  """Return value and ends for scripts to sort and copy; empty without a value."""
  value = value_of(number)
  if value is None:
    return ""
  return " ".join(f"{end:.9g}" for end in (value, *(ends(number) or ())))


def count(number: Number | None) -> str:
  """Return the number of examples, or a dash."""
  if number is None or number.n is None:
    return MISSING
  return f"{number.n:,}"


def scaled(metric: Metric, value: float) -> float:
  """Return a value in the unit that is shown."""
  return 100 * value if metric.percent else value


def has_value(number: Number | None) -> TypeGuard[Number]:
  """Return whether there is a finite value."""
  return value_of(number) is not None


def ends(number: Number | None) -> tuple[float, float] | None:
  """Return the interval's ends; None unless both are finite."""
  if number is None or number.lo is None or number.hi is None:
    return None
  if not (math.isfinite(number.lo) and math.isfinite(number.hi)):
    return None
  return number.lo, number.hi


def value_of(number: Number | None) -> float | None:
  """Return the value; None unless it is finite."""
  if number is None or number.value is None or not math.isfinite(number.value):
    return None
  return number.value


def _digits(metric: Metric, scaled_value: float) -> int:
  """Return the number of decimals."""
  size = abs(scaled_value)
  if metric.percent:
    return _BELOW_ONE if 0 < size < 1 else 1
  if size == 0 or size >= 1000:
    return 0
  return min(max(2 - math.floor(math.log10(size)), 0), 5)


def _fixed(scaled_value: float, digits: int) -> str:
  """Write a number with a true minus sign, but not before a zero."""
  out = f"{scaled_value:.{digits}f}"
  if scaled_value >= 0:
    return out
  return out.replace("-", "−" if float(out) else "")
