"""Checks of the arguments of the metrics' public functions, in one place.

Each function takes an argument's name and value, and returns the value in the
form that the metrics compute with, or refuses it in words. Texts are no numbers
here, nor are booleans, complex numbers and dates, though numpy would make
numbers of them; a NaN is never counted as anything.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robust_tfds import conditions, errors

_REAL = "iuf"  # numpy's kinds of integers and floats


def number(what: str, value: object) -> float:
  """Return a finite real number; UserError for anything else."""
  got = _real(value)
  if got is None:
    raise errors.UserError(f"{what} must be a finite number, got {value!r}.")
  return got


def fraction(what: str, value: object, highest: float = 1) -> float:
  """Return a number in [0, highest]; UserError for anything else."""
  got = _real(value)
  if got is None or not 0 <= got <= highest:
    kind = "must be a fraction" if highest == 1 else "must lie"
    raise errors.UserError(
      f"{what} {kind} in [0, {highest:g}], got {value!r}. Divide percent by 100."
    )
  return got


def _real(value: object) -> float | None:
  """Return a finite real number, also from an array without axes; else None."""
  try:
    scalar = np.asarray(value)
  except ValueError:
    return None
  if scalar.ndim or scalar.dtype.kind not in _REAL or not np.isfinite(scalar):
    return None
  return float(scalar)


def level(value: object) -> float:
  """Return the coverage of an interval; UserError outside (0, 1)."""
  got = number("level", value)
  if not 0 < got < 1:
    raise errors.UserError(f"level must lie in (0, 1), got {value}.")
  return got


def whole_number(
  what: str, value: object, least: int = 0, most: int = 2**31 - 1
) -> int:
  """Return a whole number in [least, most]; UserError for anything else."""
  got = conditions.whole_number(value)
  if got is None or not least <= got <= most:
    raise errors.UserError(
      f"{what} must be a whole number from {least} to {most:,}, got {value!r}."
    )
  return got


def flag(what: str, value: object) -> bool:
  """Return True or False; UserError for anything else."""
  if not isinstance(value, (bool, np.bool_)):
    raise errors.UserError(f"{what} must be True or False, got {value!r}.")
  return bool(value)


def mapping(what: str, value: object) -> Mapping[Any, Any]:
  """Return a dict or another mapping; UserError for anything else."""
  if not isinstance(value, Mapping):
    raise errors.UserError(
      f"{what} must be a dict, got {type(value).__name__}: {value!r:.60}."
    )
  return value


def array(what: str, values: object) -> np.ndarray:
  """Return values as an array; UserError for rows of unequal length."""
  try:
    return np.asarray(values)
  except ValueError as e:
    raise errors.UserError(
      f"{what}: rows of unequal length cannot be one array ({e})."
    ) from e


def elements(values: object) -> Sequence[Any] | None:
  """Return the elements of a list, a tuple or an array, also JAX's.

  The result is None for anything else.

  """
  if isinstance(values, Sequence) and not isinstance(values, (str, bytes)):
    return values
  given = np.asarray(values)
  return list(given) if given.ndim else None


def reals(what: str, values: object) -> np.ndarray:
  """Return finite float64 numbers of any shape; UserError for anything else."""
  got = array(what, values)
  if got.dtype.kind not in _REAL + "b" or not np.isfinite(got).all():
    raise errors.UserError(
      f"{what} must be finite numbers, got {got.dtype}{list(got.shape)}"
      f" {_first_bad(got)}".rstrip()
      + "."
    )
  return got.astype(np.float64)


def rights(what: str, values: object) -> np.ndarray:
  """Return results as bool of any shape, from bool or the numbers 0 and 1.

  Raises:
    UserError: `values` is anything else. A NaN is a missing result, neither
      right nor wrong.
  """
  got = array(what, values)
  if got.dtype == bool:
    return got
  if got.dtype.kind not in _REAL or not ((got == 0) | (got == 1)).all():
    raise errors.UserError(
      f"{what} must be bool, or numbers 0 and 1, got {got.dtype}"
      f" {_first_bad(got, (0, 1))}".rstrip()
      + "."
    )
  return got.astype(bool)


def _first_bad(values: np.ndarray, allowed: tuple[float, ...] = ()) -> str:
  """Return the bad value and its place in words; '' if the dtype is at fault."""
  if values.dtype.kind not in _REAL:
    return ""
  bad = ~np.isin(values, allowed) if allowed else ~np.isfinite(values)
  place = np.argwhere(bad)[0].tolist()
  return f"with {values[tuple(place)]} at {place}"
