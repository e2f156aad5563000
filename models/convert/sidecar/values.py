"""Values of other libraries' configs, checked against what a spec can express."""

import math
import numbers
from typing import Any

from robust_tfds import errors

_SHOWN = 80  # characters of a value that a message repeats
_INTERPOLATIONS = ("bilinear", "bicubic")


def expression_error(
  origin: str, field: str, got: Any, expected: str
) -> errors.UserError:
  """Return the error for a value that our specs cannot express.

  Args:
    origin: the file.
    field: field of the file.
    got: value of the field.
    expected: the values that could be expressed.
  """
  return errors.UserError(
    f"{origin}: {field}: got {repr(got)[:_SHOWN]}, expected {expected}. Say how"
    " its pictures are prepared by the fields of config.model.spec."
  )


def number(
  value: Any, field: str, origin: str, *, least: float, most: float
) -> float:
  """Return a real number within limits.

  Raises:
    UserError: `value` is something else.
  """
  real = isinstance(value, numbers.Real) and not isinstance(value, bool)
  if not real or not least <= value <= most:
    raise expression_error(
      origin, field, value, f"a number from {least} to {most}"
    )
  return float(value)


def whole_number(value: Any, field: str, origin: str) -> int:
  """Return a whole number of one or more.

  Raises:
    UserError: `value` is something else.
  """
  if not isinstance(value, int) or isinstance(value, bool) or value < 1:
    raise expression_error(origin, field, value, "a whole number of 1 or more")
  return value


def triple(value: Any, field: str, origin: str) -> tuple[float, ...]:
  """Return a finite number per channel.

  Raises:
    UserError: `value` is something else.
  """
  listed = list(value) if isinstance(value, (list, tuple)) else []
  real = all(isinstance(v, numbers.Real) and math.isfinite(v) for v in listed)
  if len(listed) != 3 or not real:
    raise expression_error(
      origin, field, value, "one finite number per channel"
    )
  return tuple(float(v) for v in listed)


def interpolation(value: Any, origin: str) -> str:
  """Return a rule of resizing that the pipeline has.

  Raises:
    UserError: the rule is another one.
  """
  if value not in _INTERPOLATIONS:
    raise expression_error(
      origin, "interpolation", value, " or ".join(_INTERPOLATIONS)
    )
  return str(value)
