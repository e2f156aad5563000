"""What a field of a spec holds: a text, a number, three numbers."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin

import numpy as np


def _is_number(value: Any) -> bool:
  return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _is_three(value: Any) -> bool:
  three = isinstance(value, (tuple, list, np.ndarray)) and len(value) == 3
  return three and all(map(_is_number, value))


_EXPECTED = {
  str: "a text",
  bool: "True or False",
  int: "a whole number",
  float: "a number",
  tuple: "three numbers, one per channel, e.g. (0.5, 0.5, 0.5)",
}
_FITS: Mapping[type, Callable[[Any], bool]] = {
  str: lambda value: isinstance(value, str),
  bool: lambda value: isinstance(value, (bool, np.bool_)),
  int: lambda value: _is_number(value) and isinstance(value, numbers.Integral),
  float: _is_number,
  tuple: _is_three,
}


@dataclasses.dataclass(frozen=True)
class FieldType:
  """What a field of a spec holds.

  Attributes:
    type: `str`, `bool`, `int`, `float` or `tuple` (of three numbers).
    optional: whether it may be None.
  """

  type: type
  optional: bool = False

  @classmethod
  def of(cls, hint: Any) -> FieldType:
    """Of an annotation, e.g. `int | None` or `tuple[float, float, float]`."""
    kinds = [k for k in (get_args(hint) or (hint,)) if k is not type(None)]
    if get_origin(hint) is tuple:
      return cls(tuple)
    return cls(kinds[0], len(kinds) < len(get_args(hint)))

  @property
  def words(self) -> str:
    """What is expected, for errors."""
    return _EXPECTED[self.type] + (" or None" if self.optional else "")

  def fits(self, value: Any) -> bool:
    """Whether a value is of this type; the spec says which of them can be."""
    return (self.optional and value is None) or _FITS[self.type](value)
