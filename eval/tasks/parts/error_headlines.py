"""Headlines over a classifier's cells: CE, mCE, plain means, accuracy retained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from robust_tfds import conditions
from robust_tfds.conditions import Condition
from robust_tfds.eval.cells import missing_cells
from robust_tfds.eval.metrics import action, corruption_error
from robust_tfds.eval.tasks.parts.headlines import (
  Arrays,
  Cells,
  Each,
  Headline,
  levels,
)

_CLEAN = Condition()

_COMMON, _EXTRA = (
  conditions.PICTURES.names("common"),
  conditions.PICTURES.names("extra"),
)
_UNDEFINED = "undefined: the baseline's errors are 0"
_NONE_RIGHT = "undefined: the clean accuracy is 0"
# f(errors, the baseline's errors, corruption) -> `[..., K]`.
_Rate = Callable[[Arrays, Arrays, str], np.ndarray]


def headlines(
  cells: Cells, reference: Cells, *, benchmark: bool = True
) -> list[Headline]:
  """Means of errors, CE, mCE and their relatives: Hendrycks & Dietterich 4.1.

  Args:
    cells: of one model, with the metric `error`.
    reference: the same of the baseline; empty without one.
    benchmark: the set is one whose papers print mCE. Of others, which have no
      published baseline, the accuracy that is retained is there too.
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
  if not benchmark:
    out.append(_over(_COMMON, "accuracy_retained", _retained))
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
  clean = [_CLEAN] if rate in (_relative_ce, _retained) else []
  undefined = _NONE_RIGHT if rate is _retained else _UNDEFINED
  if rate is _relative_ce:
    which = (
      "corruption does not raise" if name else "some corruptions do not raise"
    )
    undefined = f"undefined: {which} the baseline's error"
  return Headline(
    metric,
    ("error",),
    [*clean, *cells],
    lambda ours, theirs: np.mean(
      [rate(ours, theirs, n) for n in names], axis=0
    ),
    name,
    normalised=rate in (_ce, _relative_ce),
    undefined=undefined,
    each=_EACH.get(rate),
  )


def _plain(ours: Arrays, theirs: Arrays, name: str) -> np.ndarray:
  return np.mean(_errors(ours, name), axis=0)


def _error(ours: Arrays, theirs: Arrays, condition: Condition) -> np.ndarray:
  return ours[condition]["error"]


def _retained(ours: Arrays, theirs: Arrays, name: str) -> np.ndarray:
  cells = missing_cells.needed(conditions.PICTURES, [name])
  return np.mean([_share(ours, theirs, c) for c in cells], axis=0)


def _share(ours: Arrays, theirs: Arrays, condition: Condition) -> np.ndarray:
  """Of the clean accuracy, what a cell has: as gamma_r of videos."""
  clean = _error(ours, theirs, _CLEAN)
  return action.gamma_r(1 - _error(ours, theirs, condition), 1 - clean)


# What a mean over corruptions is the mean of, cell by cell.
_EACH: Mapping[_Rate, Each] = {_plain: _error, _retained: _share}


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
