"""Robustness of video action recognition: gamma_a and gamma_r.

With the clean accuracy A and the accuracy A_ps under perturbation p at severity
s, both fractions,

  gamma_a = 1 - (A - A_ps)        absolute robustness
  gamma_r = 1 - (A - A_ps) / A    relative robustness, A_ps / A

Both may exceed 1. Averages in the paper's order: over severities, then over the
perturbations of a group, then over the five groups (Schiappa et al. 2023,
section 4; that the printed mean is the mean of groups is checked against
Table 2, docs/specs/video.md section 2). Perturbations of your own enter no group.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np

from robust_tfds import conditions
from robust_tfds import errors
from robust_tfds.eval.metrics import arguments
from robust_tfds.eval.metrics import intervals

Cell = tuple[str, int]


def robustness(
  accuracy: Mapping[Cell, float], clean_accuracy: float
) -> dict[str, Any]:
  """gamma_a and gamma_r of every cell, perturbation and group, and their means.

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
    UserError: an unknown perturbation (with a suggestion), a severity outside
      1-5, accuracies that are no fractions, no cells, or a clean accuracy of 0.

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
    "gamma_a": _averages({c: 1 - (clean - a) for c, a in checked.items()}),
    "gamma_r": _averages({c: a / clean for c, a in checked.items()}),
    "missing": [c for c in every if c not in checked],
  }


def robustness_intervals(
  correct: Mapping[Cell, np.typing.ArrayLike],
  clean_correct: np.typing.ArrayLike,
  rng: np.random.Generator,
  *,
  level: float = 0.95,
  resamples: int = 1000,
) -> dict[str, Any]:
  """Bootstrap intervals of everything that `robustness` gives.

  Whole videos are drawn, each with its results in all cells, so that what the
  cells and the clean accuracy share is kept.

  Args:
    correct: (perturbation, severity) -> bool `[videos]`, the same videos in the
      same order in every cell.
    clean_correct: bool `[videos]`.
    rng: numpy Generator; the same one gives the same intervals.
    level: coverage in (0, 1).
    resamples: how many draws.

  Returns:
    As `robustness` without `missing`, with (lo, hi) in place of each number.

  Raises:
    UserError: as `robustness`, no clean video right, or cells of different
      videos.
  """
  cells, clean = _results(correct, clean_correct)
  weights = _weights(len(clean), resamples, rng)
  # A draw with no clean success has no gamma_r.
  weights = weights[weights @ clean > 0]
  return _ends(_bootstrap(cells, clean, weights), level)


def comparison_intervals(
  one: Mapping[Cell, np.typing.ArrayLike],
  one_clean: np.typing.ArrayLike,
  other: Mapping[Cell, np.typing.ArrayLike],
  other_clean: np.typing.ArrayLike,
  rng: np.random.Generator,
  *,
  level: float = 0.95,
  resamples: int = 1000,
) -> dict[str, Any]:
  """Bootstrap intervals of everything that `compare` gives.

  Both models see the same videos, and every draw takes a video's results from
  both: what makes a video hard for either cancels.

  Args:
    one: (perturbation, severity) -> bool `[videos]`.
    one_clean: bool `[videos]`.
    other: the same of another model, the same videos in the same order.
    other_clean: bool `[videos]`.
    rng: numpy Generator; the same one gives the same intervals.
    level: coverage in (0, 1).
    resamples: how many draws.

  Returns:
    As `robustness_intervals`, of one less the other.

  Raises:
    UserError: as `robustness_intervals`, or different cells or videos.
  """
  cells, clean = _results(one, one_clean)
  others, other_right = _results(other, other_clean)
  _check_same(cells, others)
  if clean.shape != other_right.shape:
    raise errors.UserError(
      f"One model has results of {len(clean)} videos, the other of"
      f" {len(other_right)}; compare runs over the same videos."
    )
  weights = _weights(len(clean), resamples, rng)
  weights = weights[(weights @ clean > 0) & (weights @ other_right > 0)]
  first = _bootstrap(cells, clean, weights)
  second = _bootstrap(others, other_right, weights)
  return _ends(
    {
      measure: {c: a - second[measure][c] for c, a in values.items()}
      for measure, values in first.items()
    },
    level,
  )


def _results(
  correct: Mapping[Cell, np.typing.ArrayLike],
  clean_correct: np.typing.ArrayLike,
) -> tuple[dict[Cell, np.ndarray], np.ndarray]:
  """Checked: the cells in order, and clean."""
  clean = arguments.rights("clean_correct", clean_correct)
  cells = {
    c: arguments.rights(f"{c[0]}, severity {c[1]}: correct", correct[c])
    for c in _ordered(correct)
  }
  for cell, row in cells.items():
    if row.shape != clean.shape or row.ndim != 1:
      raise errors.UserError(
        f"{cell}: results of {list(row.shape)} videos, the clean ones are of"
        f" {list(clean.shape)}; every cell needs the same videos."
      )
  if not clean.any():
    raise errors.UserError(
      f"clean_correct: none of {len(clean)} videos is right even without a"
      " perturbation, so relative robustness has no meaning. Check labels and"
      " preprocessing."
    )
  return cells, clean


def _weights(n: int, resamples: int, rng: np.random.Generator) -> np.ndarray:
  """How often each draw has each video: int `[resamples, n]`."""
  resamples = arguments.whole("resamples", resamples, 1)
  return rng.multinomial(n, np.full(n, 1 / n), size=resamples)


def _bootstrap(
  cells: Mapping[Cell, np.ndarray], clean: np.ndarray, weights: np.ndarray
) -> dict[str, dict[Cell, np.ndarray]]:
  """gamma_a and gamma_r of every draw."""
  n = len(clean)
  clean_accuracy = weights @ clean / n
  accuracy = {c: weights @ row / n for c, row in cells.items()}
  return {
    "gamma_a": {c: 1 - (clean_accuracy - a) for c, a in accuracy.items()},
    "gamma_r": {c: a / clean_accuracy for c, a in accuracy.items()},
  }


def _ends(draws: Mapping[str, Mapping[Cell, np.ndarray]], level: float) -> dict:
  """Quantiles of the draws' averages."""
  tail = (1 - arguments.level(level)) / 2

  def ends(values: np.ndarray) -> tuple[float, float]:
    lo, hi = np.quantile(values, [tail, 1 - tail])
    return float(lo), float(hi)

  return {
    measure: {
      key: {k: ends(v) for k, v in averages.items()}
      if isinstance(averages, dict)
      else ends(averages)
      for key, averages in _averages(cells).items()
    }
    for measure, cells in draws.items()
  }


def _check_same(one: Mapping, other: Mapping) -> None:
  unpaired = [k for k in {**one, **other} if k not in one or k not in other]
  if unpaired:
    raise errors.UserError(
      f"{unpaired[0]!r} is in one run alone; compare runs of the same cells."
    )


def compare(
  one: Mapping[str, Mapping], other: Mapping[str, Mapping]
) -> dict[str, Any]:
  """How much more robust `one` is than `other`: their differences.

  For scratch against pretrained (Tables 6, 7), or trained on perturbed against
  on clean data.

  Args:
    one: what `robustness` gave.
    other: the same of another run, with the same cells.

  Returns:
    As `robustness` without `missing`.

  Raises:
    UserError: runs of different cells; names the first that is not in both.
  """
  out: dict[str, dict] = {}
  for measure in ("gamma_a", "gamma_r"):
    for what, run in (("one", one), ("other", other)):
      if measure not in arguments.mapping(what, run):
        raise errors.UserError(
          f"{what} has no {measure!r}: what `robustness` gave is expected."
        )
    out[measure] = {}
    for key, values in one[measure].items():
      theirs = other[measure][key]
      if not isinstance(values, Mapping):
        out[measure][key] = values - theirs
        continue
      _check_same(values, theirs)
      out[measure][key] = {k: values[k] - theirs[k] for k in values}
  return out


def by_shift(
  correct: np.typing.ArrayLike,
  shift: Sequence[str],
  category: Sequence[str],
) -> dict[str, dict[str, dict[str, float]]]:
  """UCF101-DS: accuracy of every shift and of every category of shifts.

  Args:
    correct: bool `[clips]`.
    shift: the 63 shifts' names, `[clips]`.
    category: what each shift belongs to, `[clips]`.

  Returns:
    `shifts` and `categories`: name -> `accuracy`, `lo`, `hi` (95 %
    Clopper-Pearson) and `n`, in the order of first appearance. A category pools
    its clips.

  Raises:
    UserError: columns of different lengths, none, or a shift in two categories.
  """
  right = arguments.rights("correct", correct)
  if (
    not right.ndim
    or not len(right)
    or not len(right) == len(shift) == len(category)
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
    "shifts": _pooled(right, shift),
    "categories": _pooled(right, category),
  }


def perturbed_training(
  clean_trained: Mapping[str, float], perturbed_trained: Mapping[str, float]
) -> float:
  """Figure 12's gamma_r on UCF101-DS: what training on perturbed data brings.

  The mean over categories of 1 - (A_f - A_fp) / A_fp, with f trained on clean
  and fp on perturbed data (docs/specs/video.md section 2). Below 1 the clean
  training is the better.

  Args:
    clean_trained: category -> accuracy of f, a fraction.
    perturbed_trained: category -> accuracy of fp, the same categories.

  Raises:
    UserError: different categories, none, or an accuracy of fp of 0.

  >>> perturbed_training({"Age": 0.5}, {"Age": 0.4})
  0.75
  """
  if set(clean_trained) != set(perturbed_trained) or not clean_trained:
    raise errors.UserError(
      "Both need the same categories, at least one; got"
      f" {sorted(clean_trained)} and {sorted(perturbed_trained)}."
    )
  ratios = []
  for name, accuracy in clean_trained.items():
    a = arguments.fraction(f"clean_trained, {name}", accuracy)
    b = arguments.fraction(
      f"perturbed_trained, {name}", perturbed_trained[name]
    )
    if not b:
      raise errors.UserError(
        f"{name}: the accuracy after perturbed training is 0."
      )
    ratios.append(1 - (a - b) / b)
  return float(np.mean(ratios))


def _ordered(cells: Mapping[Cell, object]) -> list[Cell]:
  """The cells' keys in the paper's order, checked."""
  if not arguments.mapping("cells", cells):
    raise errors.UserError(
      "No cells given: (perturbation, severity) -> accuracy."
    )
  names = conditions.VIDEOS.names()
  for cell in cells:
    if not isinstance(cell, tuple) or len(cell) != 2:
      raise errors.UserError(
        f"A cell's key is (perturbation, severity), got {cell!r}."
      )
    name, severity = cell
    if name not in names:
      raise errors.unknown("perturbation", name, names)
    if conditions.whole(severity) not in conditions.SEVERITIES:
      raise errors.UserError(f"{name}: severity must be 1-5, got {severity!r}.")
  return sorted(cells, key=lambda c: (names.index(c[0]), c[1]))


def _averages(cells: Mapping[Cell, Any]) -> dict[str, Any]:
  """Means over severities, perturbations and groups; of floats or arrays."""
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


def _pooled(right: np.ndarray, names: Sequence[str]) -> dict:
  column = np.asarray(names)
  out = {}
  for name in dict.fromkeys(names):
    inside = right[column == name]
    lo, hi = intervals.clopper_pearson(int(inside.sum()), len(inside))
    out[name] = {
      "accuracy": float(inside.mean()),
      "lo": float(lo),
      "hi": float(hi),
      "n": len(inside),
    }
  return out
