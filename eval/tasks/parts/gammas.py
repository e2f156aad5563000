"""gamma_a and gamma_r over a model's cells as functions of arrays of accuracies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from robust_tfds import conditions
from robust_tfds.conditions import Condition
from robust_tfds.eval.metrics import action
from robust_tfds.eval.tasks.parts import missing_cells

MEASURES = ("gamma_a", "gamma_r")
Key = tuple[str, str, int | None]
# (`names`, name), (`groups`, group) or (`mean`, ``): what an average is over.
Over = tuple[str, str]


def of(accuracy: Mapping[Condition, np.ndarray]) -> dict[Key, np.ndarray]:
  """gamma_a and gamma_r of perturbations, groups and the benchmark.

  Args:
    accuracy: condition -> `[..., K]`; a draw without clean success gives nan.

  Returns:
    Of averages all of whose cells are there: (metric, perturbation, None) ->
    `[..., K]`.
  """
  clean = accuracy.get(Condition())
  perturbed = {(c.name, c.level): a for c, a in accuracy.items() if not c.clean}
  if clean is None or not perturbed:
    return {}
  with np.errstate(divide="ignore", invalid="ignore"):
    cells = {
      "gamma_a": {c: 1 - (clean - a) for c, a in perturbed.items()},
      "gamma_r": {
        c: np.where(clean > 0, a / clean, np.nan) for c, a in perturbed.items()
      },
    }
  whole = [
    key
    for key, members in averages(dict.fromkeys(n for n, _ in perturbed))
    if all(c in accuracy for c in needed(members))
  ]
  means = {m: flat(action.averages(cells[m])) for m in MEASURES}
  return {row_key(m, key): means[m][key] for m in MEASURES for key in whole}


def averages(names: Iterable[str]) -> list[tuple[Over, Sequence[str]]]:
  """What averages are over -> the perturbations of each.

  Args:
    names: of the perturbations that are there.
  """
  family = conditions.VIDEOS
  return [
    *((("names", name), (name,)) for name in names),
    *((("groups", g), family.members(g, "common")) for g in family.groups),
    (("mean", ""), family.names("common")),
  ]


def needed(members: Iterable[str]) -> list[Condition]:
  """The cells of an average."""
  return missing_cells.needed(conditions.VIDEOS, members)


def row_key(measure: str, over: Over) -> Key:
  """The (metric, corruption, level) of an average's row."""
  kind, name = over
  metric = f"{measure}/{name}" if kind == "groups" else measure
  return metric, name if kind == "names" else "", None


def flat(of_kinds: Mapping[str, Any]) -> dict[Over, Any]:
  """What averages are over -> value, of what `action.robustness` gives."""
  return {
    (kind, key): value
    for kind, values in of_kinds.items()
    for key, value in (
      values.items() if isinstance(values, Mapping) else [("", values)]
    )
  }
