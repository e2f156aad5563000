"""Robustness of video action recognition: gamma_a and gamma_r.

With the clean accuracy A and the accuracy A_ps under perturbation p at severity
s, both fractions,

  gamma_a = 1 - (A - A_ps)        absolute robustness
  gamma_r = 1 - (A - A_ps) / A    relative robustness, A_ps / A

Both may exceed 1. Averages follow the paper's order: over severities, then over
the perturbations of a group, then over the five groups (Schiappa et al. 2023,
section 4; Table 2 confirms that the printed mean is the mean of groups,
docs/evidence/specs/video.md section 2). Perturbations of your own enter no group.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eval.metrics import arguments, rates
from robust_tfds import conditions, errors

Cell = tuple[str, int]


def gamma_a(
  accuracy: np.typing.ArrayLike, clean_accuracy: np.typing.ArrayLike
) -> np.ndarray:
  """Compute the absolute robustness of a cell: Schiappa et al. 2023, section 4.

  Args:
    accuracy: accuracy under a perturbation, `[...]`, fractions.
    clean_accuracy: accuracy without one, of a broadcastable shape.

  >>> gamma_a([0.25, 1.0], 0.75)
  array([0.5 , 1.25])
  """
  return 1 - (np.asarray(clean_accuracy) - np.asarray(accuracy))


def gamma_r(
  accuracy: np.typing.ArrayLike, clean_accuracy: np.typing.ArrayLike
) -> np.ndarray:
  """Compute the relative robustness of a cell: Schiappa et al. 2023, section 4.

  Args:
    accuracy: accuracy under a perturbation, `[...]`, fractions.
    clean_accuracy: accuracy without one, of a broadcastable shape.

  Returns:
    `[...]`; nan where the clean accuracy is 0.

  >>> gamma_r([0.25, 1.0], 0.5)
  array([0.5, 2. ])
  """
  return rates.ratio(accuracy, clean_accuracy)


def robustness(
  accuracy: Mapping[Cell, float], clean_accuracy: float
) -> dict[str, Any]:
  """Compute gamma_a and gamma_r of every cell, perturbation and group, and their means.

  Args:
    accuracy: (perturbation, severity) -> accuracy, a fraction in [0, 1].
    clean_accuracy: accuracy without perturbation, a fraction in (0, 1].

  Returns:
    `gamma_a` and `gamma_r`, each with `cells` by (perturbation, severity),
    `names` (means over the severities given), `groups` (means over the paper's
    perturbations given) and `mean` (over the groups given; nan without any); and
    `missing`, the cells of the benchmark's 90 that were not given, in the
    paper's order.

  Raises:
    UserError: a perturbation is unknown (with a suggestion), a severity is
      outside 1-5, an accuracy is no fraction, there are no cells, or the clean
      accuracy is 0.

  >>> cells = {("jpeg", severity): 0.6 for severity in conditions.SEVERITIES}
  >>> result = robustness(cells, 0.8)
  >>> round(result["gamma_a"]["mean"], 12), round(result["gamma_r"]["mean"], 12)
  (0.8, 0.75)
  """
  clean = arguments.fraction("clean_accuracy", clean_accuracy)
  if not clean:
    raise errors.UserError(
      "clean_accuracy is 0: nothing is right even without a perturbation, so"
      " relative robustness has no meaning. Check labels and preprocessing."
    )
  checked = {
    c: arguments.fraction(f"{c[0]}, severity {c[1]}", accuracy[c])
    for c in _ordered(accuracy)
  }
  every = [
    (n, s)
    for n in conditions.VIDEOS.names("common")
    for s in conditions.SEVERITIES
  ]
  return {
    **{
      name: averages({c: float(gamma(a, clean)) for c, a in checked.items()})
      for name, gamma in (("gamma_a", gamma_a), ("gamma_r", gamma_r))
    },
    "missing": [c for c in every if c not in checked],
  }


def shift_accuracies(
  correct: np.typing.ArrayLike,
  shift: Sequence[str],
  category: Sequence[str],
  groups: np.typing.ArrayLike | None = None,
) -> dict[str, dict[str, dict[str, float]]]:
  """Compute the accuracy of every shift and every category of shifts of UCF101-DS.

  Args:
    correct: bool `[clips]`.
    shift: the 63 shifts' names, `[clips]`.
    category: category of each clip's shift, `[clips]`.
    groups: the video of each clip, `[clips]`; every clip alone if None.

  Returns:
    `shifts` and `categories`: name -> `accuracy`, `lo`, `hi` (95 %, see `rates`)
    and `n`, in the order of first appearance. A category pools its clips.

  Raises:
    UserError: the columns differ in length or are empty, or a shift is in two
      categories.
  """
  right = arguments.rights("correct", correct)
  alone = [str(i) for i in range(right.size)]
  videos = np.asarray(alone if groups is None else groups)
  if (
    not right.ndim
    or not len(right)
    or not len(right) == len(shift) == len(category) == len(videos)
  ):
    raise errors.UserError(
      "correct, shift and category need one entry a clip, at least one; got"
      f" {list(right.shape)}, {len(shift)} and {len(category)}."
    )
  home: dict[str, str] = {}
  for s, c in zip(shift, category):
    if home.setdefault(s, c) != c:
      raise errors.UserError(
        f"Shift {s!r} is in two categories: {home[s]!r}, {c!r}."
      )
  return {
    "shifts": _pooled(right, shift, videos),
    "categories": _pooled(right, category, videos),
  }


def _ordered(cells: Mapping[Cell, object]) -> list[Cell]:
  """Return the cells' keys in the paper's order, after checks."""
  if not arguments.mapping("cells", cells):
    raise errors.UserError(
      "No cells given: (perturbation, severity) -> accuracy."
    )
  names = conditions.VIDEOS.known_names
  for cell in cells:
    if not isinstance(cell, tuple) or len(cell) != 2:
      raise errors.UserError(
        f"A cell's key is (perturbation, severity), got {cell!r}."
      )
    name, severity = cell
    if name not in names:
      raise errors.unknown_error("perturbation", name, names)
    if conditions.whole_number(severity) not in conditions.SEVERITIES:
      raise errors.UserError(f"{name}: severity must be 1-5, got {severity!r}.")
  return sorted(cells, key=lambda c: (names.index(c[0]), c[1]))


def averages(cells: Mapping[Cell, Any]) -> dict[str, Any]:
  """Average over severities, perturbations and groups.

  Args:
    cells: (perturbation, severity) -> number or array.

  Returns:
    `cells`, `names`, `groups` and `mean`, see `robustness`.
  """
  family = conditions.VIDEOS
  names = {
    n: _mean([v for (name, _), v in cells.items() if name == n])
    for n in dict.fromkeys(n for n, _ in cells)
  }
  members = {g: family.members(g, "common") for g in family.groups}
  groups = {
    group: _mean([names[n] for n in members[group] if n in names])
    for group in family.groups
    if any(n in names for n in members[group])
  }
  mean = _mean(list(groups.values()))
  return {"cells": dict(cells), "names": names, "groups": groups, "mean": mean}


def _mean(values: Sequence[Any]) -> Any:
  if not values:
    return math.nan
  out = np.mean(values, axis=0)
  return float(out) if np.ndim(out) == 0 else out


def _pooled(
  right: np.ndarray, names: Sequence[str], videos: np.ndarray
) -> dict:
  column = np.asarray(names)
  out = {}
  for name in dict.fromkeys(names):
    inside = column == name
    lo, hi = rates.interval(right[inside], videos[inside])
    out[name] = {
      "accuracy": float(right[inside].mean()),
      "lo": lo,
      "hi": hi,
      "n": int(inside.sum()),
    }
  return out
