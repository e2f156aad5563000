"""Draws that a caller gives in place of a corruption's own.

`corrupt(image, name, severity, draws={...})` makes exactly what those draws
decide. With the recorded draws of the authors' code the pixels are theirs.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from robust_tfds import errors

_TOLERANCE = 1e-6  # between a stated number and the severity's own


class Draws:
  """Given draws by name, read with checks."""

  def __init__(self, name: str, severity: int, values: Mapping[str, Any]):
    """Take the draws.

    Args:
      name: name of the corruption, for messages.
      severity: its severity, for messages.
      values: numbers and arrays by name.
    """
    self._name, self._severity, self._values = name, severity, values

  def array(self, name: str, *shape: int | None) -> np.ndarray:
    """Return a given array unchanged.

    Args:
      name: its name among the draws.
      *shape: its lengths; None: any.

    Raises:
      UserError: it is missing, no numbers, or of another shape.
    """
    if name not in self._values:
      raise errors.UserError(
        f"draws of {self._name} need {name!r}, got"
        f" {', '.join(self._values) or 'none'}."
      )
    found = np.asarray(self._values[name])
    fits = found.ndim == len(shape) and all(
      want in (None, got) for want, got in zip(shape, found.shape)
    )
    if not fits or found.dtype.kind not in "biuf":
      axes = ", ".join("any" if s is None else str(s) for s in shape)
      raise errors.UserError(
        f"draws of {self._name}: {name!r} must be numbers of shape [{axes}], got"
        f" {found.dtype}{list(found.shape)}."
      )
    return found

  def floats(self, name: str, *shape: int | None) -> np.ndarray:
    """Return a given array as float32, see `array`."""
    return self.array(name, *shape).astype(np.float32)

  def agree(self, name: str, expected: Any) -> None:
    """Check a number that the severity decides, if it is among the draws.

    Raises:
      UserError: another number is given.
    """
    if name not in self._values:
      return
    expected = np.asarray(expected, np.float64)
    found = self.array(name, *expected.shape)
    if not np.allclose(found, expected, _TOLERANCE, _TOLERANCE):
      raise errors.UserError(
        f"draws of {self._name}: {name!r} is {found.tolist()}, but severity"
        f" {self._severity} has {expected.tolist()}. Draws go with the severity"
        " that they were made for."
      )
