"""Headlines over a classifier's cells: CE, mCE, plain means, accuracy retained."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eval.cells import missing_cells
from eval.metrics import action, corruption_error
from eval.tasks.headlines.headlines import (
  Arrays,
  Cells,
  Headline,
  over_names,
)
from robust_tfds import conditions
from robust_tfds.conditions import Condition

_CLEAN = Condition()
_UNDEFINED = "undefined: the baseline's errors are 0"
_NONE_RIGHT = "undefined: the clean accuracy is 0"
# f(errors, the baseline's errors, cells of a corruption) -> `[..., K]`.
_Rate = Callable[[Arrays, Arrays, Sequence[Condition]], np.ndarray]


def headlines(
  cells: Cells,
  reference: Cells,
  *,
  benchmark: bool = True,
  family: conditions.Family = conditions.PICTURES,
) -> list[Headline]:
  """Return means of errors, CE, mCE and their relatives (Hendrycks & Dietterich 4.1).

  Args:
    cells: one model's cells, with the metric `error`.
    reference: the same of the baseline; empty without one.
    benchmark: whether papers print mCE for the set. Other sets have no
      published baseline; for them retained accuracy is added.
    family: the set's conditions.
  """
  out = []
  common, extra = family.names("common"), family.names("extra")
  for name in dict.fromkeys(c.name for c in cells if c.name):
    out.append(_over([name], "mean_error", _plain, name))
    # A baseline may know nothing of corruptions that are of no ImageNet-C.
    known = name in conditions.PICTURES.names()
    if reference and (known or any(c.name == name for c in reference)):
      out.append(_over([name], "ce", _ce, name))
      out.append(_over([name], "relative_ce", _relative_ce, name))
  out += [
    Headline.restating("clean_error", "error", _CLEAN),
    _over(common, "mean_corruption_error", _plain),
    *_over_list(cells, family),
  ]
  if extra:
    out.append(_over(extra, "extra_mean_corruption_error", _plain))
  if not benchmark:
    out.append(_over(common, "accuracy_retained", _retained))
  if reference and common == conditions.PICTURES.names("common"):
    out.append(_over(common, "mce", _ce))
    out.append(_over(common, "relative_mce", _relative_ce))
  return out


def _over_list(cells: Cells, family: conditions.Family) -> list[Headline]:
  """Return the plain mean over C-bar's corruptions, in a run of another set.

  It is over the published list that has all of the run's; five are in both.
  """
  bar_names = {row.name for row in family.rows if row.set == "c_bar"}
  bar = {c.name for c in cells} & bar_names
  lists = [names for names in family.lists.values() if bar and bar <= {*names}]
  return [_over(names, "c_bar_mean_error", _plain) for names in lists[:1]]


def published_cells(
  published: Mapping[str, Any],
) -> dict[Condition, dict[str, float]]:
  """Return the cells of a published baseline, see `corruption_error.load_baseline`."""
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
  """Return the headline of a mean over corruptions."""
  cells = missing_cells.needed(conditions.PICTURES, names)
  clean = [_CLEAN] if rate in (_relative_ce, _retained) else []
  undefined = _NONE_RIGHT if rate is _retained else _UNDEFINED
  if rate is _relative_ce:
    which = (
      "corruption does not raise" if name else "some corruptions do not raise"
    )
    undefined = f"undefined: {which} the baseline's error"
  over = over_names(rate)
  return Headline(
    metric,
    ("error",),
    [*clean, *cells],
    over(cells),
    name,
    normalised=rate in (_ce, _relative_ce),
    undefined=undefined,
    over=over,
  )


def _plain(
  ours: Arrays, reference: Arrays, cells: Sequence[Condition]
) -> np.ndarray:
  return np.mean(_errors(ours, cells), axis=0)


def _retained(
  ours: Arrays, reference: Arrays, cells: Sequence[Condition]
) -> np.ndarray:
  """Return the mean share of the clean accuracy that cells retain, as gamma_r does."""
  clean = 1 - ours[_CLEAN]["error"]
  return np.mean(
    [action.gamma_r(1 - error, clean) for error in _errors(ours, cells)], axis=0
  )


def _ce(
  ours: Arrays, reference: Arrays, cells: Sequence[Condition]
) -> np.ndarray:
  return corruption_error.ce(_errors(ours, cells), _errors(reference, cells))


def _relative_ce(
  ours: Arrays, reference: Arrays, cells: Sequence[Condition]
) -> np.ndarray:
  return corruption_error.relative_ce(
    _errors(ours, cells),
    ours[_CLEAN]["error"],
    _errors(reference, cells),
    reference[_CLEAN]["error"],
  )


def _errors(arrays: Arrays, cells: Sequence[Condition]) -> np.ndarray:
  """Stack the errors of cells: `[cells, ..., K]`."""
  return np.stack([arrays[c]["error"] for c in cells])
