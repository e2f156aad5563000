"""Numbers over a classifier's cells as functions of arrays of errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from robust_tfds import conditions
from robust_tfds.conditions import Condition
from robust_tfds.eval.metrics import corruption_error

Key = tuple[str, str, int | None]
Errors = Mapping[Condition, np.ndarray]
_PLAIN = {
  "mean_corruption_error": conditions.PICTURES.names("common"),
  "extra_mean_corruption_error": conditions.PICTURES.names("extra"),
}


def of(errors: Errors, reference: Errors) -> dict[Key, np.ndarray]:
  """Means of errors, CE, mCE and their relatives: Hendrycks & Dietterich 4.1.

  Args:
    errors: condition -> `[..., K]`.
    reference: the baseline's, numbers or arrays `[..., K]`; empty without one.

  Returns:
    Of numbers all of whose cells are there: (metric, corruption, None) -> `[...,
    K]`.
  """
  out: dict[Key, np.ndarray] = {}
  names = dict.fromkeys(c.name for c in errors if c.name)
  means = {n: m for n in names if (m := _mean(errors, n)) is not None}
  if Condition() in errors:
    out["clean_error", "", None] = errors[Condition()]
  for name, mean in means.items():
    out["mean_error", name, None] = mean
  for metric, over in _PLAIN.items():
    _add(out, metric, means, over)
  for metric, of_names in _normalised(errors, means, reference).items():
    for name, number in of_names.items():
      out[metric, name, None] = number
    _add(out, f"{metric[:-2]}mce", of_names, _PLAIN["mean_corruption_error"])
  return out


def _normalised(
  errors: Errors, means: Mapping[str, np.ndarray], reference: Errors
) -> dict[str, dict[str, np.ndarray]]:
  """`ce` and `relative_ce` of every corruption that the baseline has whole."""
  theirs = {n: m for n in means if (m := _mean(reference, n)) is not None}
  ce = {n: _ratio(means[n], m) for n, m in theirs.items()}
  clean, by = errors.get(Condition()), reference.get(Condition())
  if clean is None or by is None:
    return {"ce": ce}
  relative = {n: _ratio(means[n] - clean, theirs[n] - by) for n in theirs}
  return {"ce": ce, "relative_ce": relative}


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
  with np.errstate(divide="ignore", invalid="ignore"):
    there = np.abs(b) > corruption_error.ZERO
    return np.where(there, np.divide(a, b), np.nan)


def _add(
  out: dict[Key, np.ndarray],
  metric: str,
  of_names: Mapping[str, np.ndarray],
  over: Iterable[str],
) -> None:
  """The mean over some names, if all are there."""
  over = tuple(over)
  if over and all(n in of_names for n in over):
    out[metric, "", None] = np.mean([of_names[n] for n in over], axis=0)


def _mean(errors: Errors, name: str) -> np.ndarray | None:
  """Over the severities; None where one is not there."""
  levels = conditions.PICTURES.levels(name)
  cells = [Condition(name, level) for level in levels]
  if any(c not in errors for c in cells):
    return None
  return np.mean([errors[c] for c in cells], axis=0)
