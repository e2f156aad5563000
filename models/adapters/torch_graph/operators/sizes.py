"""Arithmetic of sizes: Python numbers, known while JAX traces."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

_PYTHON = (
  "add",
  "eq",
  "floordiv",
  "ge",
  "getitem",
  "gt",
  "le",
  "lt",
  "mod",
  "mul",
  "ne",
  "neg",
  "pow",
  "sub",
  "truediv",
)


def condition(value: bool, *args: Any) -> None:
  """What torch assumed of sizes while it exported."""
  del value, args


TABLE: dict[str, Callable[..., Any]] = {
  **{f"_operator.{name}": vars(operator)[name] for name in _PYTHON},
  "math.ceil": math.ceil,
  "math.floor": math.floor,
  "math.trunc": math.trunc,
  "torch.sym_float": float,
  "torch.sym_int": int,
  "torch.sym_ite": lambda holds, x, y: x if holds else y,
  "torch.sym_max": max,
  "torch.sym_min": min,
  "torch.sym_not": operator.not_,
  "torch._sym_sqrt": math.sqrt,
  "aten._assert_scalar.default": condition,
  "aten._assert_tensor_metadata.default": condition,
}
