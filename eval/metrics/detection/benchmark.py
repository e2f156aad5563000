"""The Robust Detection Benchmark's P, mPC and rPC.

mPC = mean of P over corruptions and severities, rPC = mPC / P of the clean
images (Michaelis et al. 2019, section 2.3), by names and never by positions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eval.metrics import rates
from robust_tfds import conditions, errors

_SEVERITIES = len(conditions.SEVERITIES)
# The paper's names of the sets that a mean may be over. Corruptions of your own
# are in none.
_SETS: Mapping[str, tuple[str, ...]] = {
  "benchmark": ("common",),
  "all": ("common", "extra"),
  "validation": ("extra",),
}


def scopes() -> tuple[str, ...]:
  """Return the names of all scopes: the paper's sets, then the groups."""
  return (*_SETS, *conditions.PICTURES.groups)


def names(scope: str) -> tuple[str, ...]:
  """Return the corruptions that a scope's mean is over, in paper order.

  Args:
    scope: `benchmark` (the 15), `all` (19), `validation` (the 4 others), or a
      group: `noise`, `blur`, `weather`, `digital`.

  Raises:
    UserError: the scope is unknown; the message suggests the nearest.

  >>> names("weather")
  ('snow', 'frost', 'fog', 'brightness')
  """
  family = conditions.PICTURES
  if not isinstance(scope, str) or scope not in scopes():
    raise errors.unknown_error("scope", scope, scopes())
  if scope in _SETS:
    return tuple(n for s in _SETS[scope] for n in family.names(s))
  return family.members(scope, "common")


def mpc(performance: np.typing.ArrayLike) -> np.ndarray:
  """Compute mPC: the mean over corruptions of the means over severities.

  Args:
    performance: P `[corruptions, severities, ...]`.

  Returns:
    `[...]`.

  >>> float(mpc([[0.5, 0.25], [0.25, 0.0]]))
  0.25
  """
  return np.asarray(performance).mean(axis=1).mean(axis=0)


def rpc(
  performance: np.typing.ArrayLike, clean: np.typing.ArrayLike
) -> np.ndarray:
  """Compute rPC: mPC divided by P of the clean images.

  Args:
    performance: P `[corruptions, severities, ...]`.
    clean: P on clean images, `[...]`.

  Returns:
    `[...]`; nan where P of the clean images is 0.

  >>> float(rpc([[0.5, 0.25], [0.25, 0.0]], 0.5))
  0.5
  """
  return rates.ratio(mpc(performance), clean)


def summarize(
  cells: Mapping[str, Sequence[float]], clean: float, scope: str = "benchmark"
) -> dict[str, Any]:
  """Compute P, mPC and rPC of one model.

  Args:
    cells: corruption -> performance at severities 1-5, fractions in [0, 1]
      (VOC AP50, else COCO AP); corruptions of your own enter no mean.
    clean: performance on clean images, a fraction.
    scope: see `names`.

  Returns:
    `p` (clean), `mpc`, `rpc` (nan where `clean` is 0), and `per_corruption`, the
    means over severities of the scope's corruptions. Fractions.

  Raises:
    UserError: a corruption or severity of the scope is missing (and named), a
      corruption or scope is unknown (with a suggestion), or a number is outside
      [0, 1].

  >>> flat = {name: [0.25] * 5 for name in names("benchmark")}
  >>> result = summarize(flat, 0.5)
  >>> result["mpc"], result["rpc"]
  (0.25, 0.5)
  """
  inside = names(scope)
  if not isinstance(cells, Mapping):
    raise errors.UserError(
      "cells: a dict of corruption -> performance at severities 1-5 expected,"
      f" got {type(cells).__name__}."
    )
  for name in cells:
    conditions.PICTURES.row(name)  # refuses unknown names
  missing = [name for name in inside if name not in cells]
  if missing:
    raise errors.UserError(
      f"The scope {scope!r} needs {', '.join(missing)}, which no cell has. Run"
      " them, or choose a smaller scope."
    )
  p = _fraction("clean", clean)
  rows = [_row(n, cells[n]) for n in inside]
  return {
    "p": p,
    "mpc": float(mpc(rows)),
    "rpc": float(rpc(rows, p)),
    "per_corruption": {n: float(mpc([row])) for n, row in zip(inside, rows)},
  }


def _row(name: str, values: Any) -> list[float]:
  listed: Any = values
  if not isinstance(values, Sequence) or isinstance(values, str):
    listed = np.asarray(values)  # an array, also JAX's
    if not listed.ndim:
      raise _row_error(name, repr(values)[:60])
  if len(listed) != _SEVERITIES:
    raise _row_error(name, f"{len(listed)} numbers")
  return [
    _fraction(f"{name}, severity {s}", v) for s, v in enumerate(listed, 1)
  ]


def _row_error(name: str, got: str) -> errors.UserError:
  return errors.UserError(
    f"{name}: performance at severities 1-5 expected, got {got}."
  )


def _fraction(what: str, value: Any) -> float:
  number = float("nan")
  scalar = None if isinstance(value, Sequence) else np.asarray(value)
  if scalar is not None and not scalar.ndim and scalar.dtype.kind in "iuf":
    number = float(scalar)
  if not 0 <= number <= 1:
    raise errors.UserError(
      f"{what}: the cell holds {value!r}, expected a fraction in [0, 1]. -1 and"
      " nan stand for what was not evaluated; percent must be divided by 100."
    )
  return number
