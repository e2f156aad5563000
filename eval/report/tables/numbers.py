"""Numbers as the site shows them: rates in percent with one digit behind the point.

Other numbers have three significant digits. An interval's ends have the digits of
the value.
"""

from __future__ import annotations

import math
from typing import TypeGuard

from robust_tfds.eval.compare.boards.board import Number
from robust_tfds.eval.metrics.definitions import Metric
from robust_tfds.eval.site.markup import Html

MISSING = "–"
_BELOW_ONE = 2  # digits behind the point of rates below 1 %


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
  plain = metric.heading.isalpha() and metric.heading.islower()
  words = metric.heading.capitalize() if plain else metric.heading
  return f"{words}, %" if metric.percent else words


def cell(metric: Metric, number: Number | None) -> Html:
  """A cell of a table without its end, which HTML does not need."""
  between = interval(metric, number)
  if between:
    return Html(f"<td>{text(metric, number)}<i>{between}</i>")
  return Html(f"<td>{text(metric, number)}")


def sort_cell(metric: Metric, number: Number | None) -> Html:
  """The same with value and ends as they are, which scripts sort and copy."""
  value = value_of(number)
  if value is None:
    return cell(metric, number)
  plain = " ".join(f"{end:.9g}" for end in (value, *(ends(number) or ())))
  return Html(f'<td data-v="{plain}"' + cell(metric, number)[3:])


def short(metric: Metric, number: Number | None) -> str:
  """Two significant digits, for small cells of many.

  >>> short(Metric("error", "Error"), Number(0.2391)), short(
  ...   Metric("error", "Error"), Number(0.0333)
  ... )
  ('24', '3.3')
  """
  value = value_of(number)
  if value is None:
    return MISSING
  shown = scaled(metric, value)
  return _fixed(shown, 1 if abs(shown) < 9.95 else 0)


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
