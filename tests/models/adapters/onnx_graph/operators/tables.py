"""Tables of operators' calls, whose arrays are drawn or written out.

Arguments and options of a row are JSON without its outer brackets. For an array
stands what is to be drawn, a letter and its shape:

  "F 2 3"       real numbers about 0 with deviation 1
  "P 2 3"       positive ones, from 0.1 to 2
  "I 5 -9..9"   whole numbers from -9 to below 9; without a range, below 4
  "B 4"         bools

or an array's dtype and its values, as {"int64": [1, -1]}.
"""

import json
import pathlib
import re
from typing import Any

import numpy as np

from tests import shared_data

_DRAWN = re.compile(r"([FPIB])((?: \d+)+)(?: (-?\d+)\.\.(\d+))?")


def read(name: str) -> list[dict[str, str]]:
  """The rows of a table beside this file."""
  return shared_data.lines(pathlib.Path(__file__).with_name(name))


def arguments(text: str, rng: np.random.Generator) -> list:
  """A row's arguments, with arrays."""
  return _with_arrays(json.loads(f"[{text}]"), rng)


def options(text: str) -> dict[str, Any]:
  """A row's options by name, with arrays; none of them is drawn."""
  given = json.loads(f"{{{text}}}")
  return {name: _with_arrays(value, None) for name, value in given.items()}


def _with_arrays(value: Any, rng: np.random.Generator | None) -> Any:
  if isinstance(value, list):
    return [_with_arrays(v, rng) for v in value]
  if isinstance(value, dict):
    ((dtype, numbers),) = value.items()
    return np.array(numbers, dtype)
  drawn = _DRAWN.fullmatch(value) if isinstance(value, str) else None
  return _drawn(rng, *drawn.groups()) if drawn else value


def _drawn(rng, letter, sides, low, high) -> np.ndarray:
  shape = tuple(map(int, sides.split()))
  if letter == "F":
    return rng.standard_normal(shape).astype(np.float32)
  if letter == "P":
    return rng.uniform(0.1, 2, shape).astype(np.float32)
  if letter == "B":
    return rng.integers(0, 2, shape) > 0
  return rng.integers(int(low or 0), int(high or 4), shape)
