"""Headlines over a classifier's cells: CE, mCE and plain means of errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from robust_tfds import conditions
from robust_tfds.conditions import Condition
from robust_tfds.eval.metrics import corruption_error
from robust_tfds.eval.tasks.parts import missing_cells
from robust_tfds.eval.tasks.parts.headlines import (
  Arrays,
  Cells,
  Headline,
  levels,
)

_CLEAN = Condition()

_COMMON, _EXTRA = (
  conditions.PICTURES.names("common"),
  conditions.PICTURES.names("extra"),
)
_UNDEFINED = "undefined: the baseline's errors are 0"
# f(errors, the baseline's errors, corruption) -> `[..., K]`.
_Rate = Callable[[Arrays, Arrays, str], np.ndarray]


def headlines(cells: Cells, reference: Cells) -> list[Headline]:
  """Means of errors, CE, mCE and their relatives: Hendrycks & Dietterich 4.1.

  Args:
    cells: of one model, with the metric `error`.
    reference: the same of the baseline; empty without one.
  """
  out = []
  for name in dict.fromkeys(c.name for c in cells if c.name):
    out.append(_over([name], "mean_error", _plain, name))
    # Of a user's own corruption a baseline may know nothing.
    own = conditions.PICTURES.row(name).set == "own"
    if reference and (not own or any(c.name == name for c in reference)):
      out.append(_over([name], "ce", _ce, name))
      out.append(_over([name], "relative_ce", _relative_ce, name))
  out += [
    Headline.restating("clean_error", "error", _CLEAN),
    _over(_COMMON, "mean_corruption_error", _plain),
    _over(_EXTRA, "extra_mean_corruption_error", _plain),
  ]
  if reference:
    out.append(_over(_COMMON, "mce", _ce))
    out.append(_over(_COMMON, "relative_mce", _relative_ce))
  return out


def published_cells(
  published: Mapping[str, Any],
) -> dict[Condition, dict[str, float]]:
  """The cells of a published baseline, see `corruption_error.load_baseline`."""
  errors = {
    Condition(name, severity): error
    for name, of_name in published["errors"].items()
    for severity, error in enumerate(of_name, 1)
  }
  errors[_CLEAN] = published["clean_error"]
  return {condition: {"error": error} for condition, error in errors.items()}


def _over(
  names: Sequence[str], metric: str, rate: _Rate, name: str = ""
) -> Headline:
  """The mean over corruptions."""
  cells = missing_cells.needed(conditions.PICTURES, names)
  undefined = _UNDEFINED
  if rate is _relative_ce:
    which = (
      "corruption does not raise" if name else "some corruptions do not raise"
    )
    undefined = f"undefined: {which} the baseline's error"
  return Headline(
    metric,
    ("error",),
    [_CLEAN, *cells] if rate is _relative_ce else cells,
    lambda ours, theirs: np.mean(
      [rate(ours, theirs, n) for n in names], axis=0
    ),
    name,
    normalised=rate is not _plain,
    undefined=undefined,
    each=_error if rate is _plain else None,
  )


def _plain(ours: Arrays, theirs: Arrays, name: str) -> np.ndarray:
  return np.mean(_errors(ours, name), axis=0)


def _error(ours: Arrays, theirs: Arrays, condition: Condition) -> np.ndarray:
  return ours[condition]["error"]


def _ce(ours: Arrays, theirs: Arrays, name: str) -> np.ndarray:
  return corruption_error.ce(_errors(ours, name), _errors(theirs, name))


def _relative_ce(ours: Arrays, theirs: Arrays, name: str) -> np.ndarray:
  return corruption_error.relative_ce(
    _errors(ours, name),
    ours[_CLEAN]["error"],
    _errors(theirs, name),
    theirs[_CLEAN]["error"],
  )


def _errors(cells: Arrays, name: str) -> np.ndarray:
  return levels(cells, conditions.PICTURES, "error", name)
