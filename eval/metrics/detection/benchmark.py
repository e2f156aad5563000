"""The Robust Detection Benchmark's P, mPC and rPC.

mPC = mean of P over corruptions and severities, rPC = mPC / P of the clean
images (Michaelis et al. 2019, section 2.3), by names and never by positions.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np

from robust_tfds import conditions

GROUPS: Mapping[str, tuple[str, ...]] = {
  g: conditions.PICTURES.members(g, "common")
  for g in conditions.PICTURES.groups
}
BENCHMARK = conditions.PICTURES.names("common")
VALIDATION = conditions.PICTURES.names("extra")
ALL = BENCHMARK + VALIDATION
SCOPES: Mapping[str, tuple[str, ...]] = {
  "benchmark": BENCHMARK,
  "all": ALL,
  "validation": VALIDATION,
  **GROUPS,
}
_SEVERITIES = 5


def summarize(
  cells: Mapping[str, Sequence[float]],
  clean: float,
  scope: str = "benchmark",
) -> dict[str, Any]:
  """P, mPC and rPC of one model.

  Args:
    cells: corruption -> performance at severities 1-5, fractions in [0, 1]
      (VOC AP50, else COCO AP).
    clean: performance on clean images, a fraction.
    scope: `benchmark` (the 15), `all` (19), `validation` (the 4 others), or a
      group: `noise`, `blur`, `weather`, `digital`.

  Returns:
    `p` (clean), `mpc`, `rpc` (nan where `clean` is 0), and `per_corruption`, the
    means over severities of the scope's corruptions. Fractions.

  Raises:
    ValueError: a missing corruption or severity of the scope (named), an unknown
      corruption or scope (with a suggestion), or numbers outside [0, 1].

  >>> flat = {name: [0.25] * 5 for name in BENCHMARK}
  >>> result = summarize(flat, 0.5)
  >>> result["mpc"], result["rpc"]
  (0.25, 0.5)
  """
  if scope not in SCOPES:
    raise _unknown("scope", scope, list(SCOPES))
  for name in cells:
    if name not in ALL:
      raise _unknown("corruption", name, ALL)
  missing = [name for name in SCOPES[scope] if name not in cells]
  if missing:
    raise ValueError(
      f"The scope {scope!r} needs {', '.join(missing)}, which no cell has. Run"
      " them, or choose a smaller scope."
    )
  p = _fraction("clean", clean)
  per_corruption = {n: float(np.mean(_row(n, cells[n]))) for n in SCOPES[scope]}
  mpc = float(np.mean(list(per_corruption.values())))
  return {
    "p": p,
    "mpc": mpc,
    "rpc": mpc / p if p else float("nan"),
    "per_corruption": per_corruption,
  }


def _row(name: str, values: Sequence[float]) -> list[float]:
  if len(values) != _SEVERITIES:
    raise ValueError(
      f"{name}: performance at severities 1-5 expected, got {len(values)}"
      " numbers."
    )
  return [
    _fraction(f"{name}, severity {s}", v) for s, v in enumerate(values, 1)
  ]


def _fraction(what: str, value: float | None) -> float:
  number = float("nan") if value is None else float(value)
  if not 0 <= number <= 1:
    raise ValueError(
      f"{what}: the cell holds {value}, expected a fraction in [0, 1]. -1 and nan"
      " stand for what was not evaluated; percent must be divided by 100."
    )
  return number


def _unknown(kind: str, got: object, known: Sequence[str]) -> ValueError:
  near = difflib.get_close_matches(str(got), known, n=1)
  hint = f" Did you mean {near[0]!r}?" if near else ""
  return ValueError(f"Unknown {kind} {got!r}.{hint} Known: {', '.join(known)}.")
