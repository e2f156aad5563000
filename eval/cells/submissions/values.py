"""The values that the columns of a cell may hold.

A cell is refused where a column is none of its task's (`eval/cells/columns.py`), or
holds a value that no model gives: a class that the set does not have, one class
twice among the five, a probability outside of [0, 1] or above the one before it, a
box that lies far outside of its picture, NaN. What is measured from these columns
is recomputed elsewhere; here is what no recomputation would notice.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from robust_tfds import conditions, errors
from robust_tfds.conditions import Condition
from robust_tfds.eval.cells import columns as columns_lib
from robust_tfds.eval.cells.columns import Columns
from robust_tfds.eval.cells.submissions import top_five
from robust_tfds.eval.metrics import stability

_ROUNDING = 1e-4  # of float32 probabilities that are added
_RANKS = 5
_FAR = 10  # sides of a picture that a box may lie outside of it


@dataclasses.dataclass(frozen=True)
class Rules:
  """What a cell's values are held against.

  Attributes:
    task: its name.
    classes: how many the set has; 0 where that is not known.
    truth: the ground truth of detections.
  """

  task: str
  classes: int = 0
  truth: Mapping[str, Any] | None = None


def check(
  source: str, columns: Columns, rules: Rules, condition: Condition
) -> None:
  """Refuses columns that no model and no task of ours gives.

  Args:
    source: what a refusal begins with: the cell's file.
    rules: what they are held against.

  Raises:
    UserError: names the column and the first example.
  """
  columns_lib.check(source, columns, rules.task, condition)
  for name, checks in _VALUES.items():
    if name in columns:
      checks(_Cell(source, columns, rules, condition), columns[name])


@dataclasses.dataclass(frozen=True)
class _Cell:
  """A cell of which the names and kinds of the columns are right."""

  source: str
  columns: Columns
  rules: Rules
  condition: Condition

  def refuse(self, name: str, wrong: np.ndarray, reason: str) -> None:
    """UserError that names the first of the wrong values, if there is one."""
    if not wrong.any():
      return
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    example = str(self.columns["example_id"][place[0]])
    value = self.columns[name][place[: self.columns[name].ndim]]
    rows = int(wrong.reshape(len(wrong), -1).any(axis=1).sum())
    more = f" ({rows:,} rows like this)" if rows > 1 else ""
    raise errors.UserError(
      f"{self.source}: {name} of {example!r}: got {value}: {reason}{more}."
    )

  def check_classes(self, name: str, values: np.ndarray, least: int) -> None:
    """Refuses classes below the least or that the set does not have."""
    self.refuse(name, values < least, f"expected classes from {least}")
    if self.rules.classes:
      self.refuse(
        name,
        values >= self.rules.classes,
        f"the data set has the classes 0 to {self.rules.classes - 1}",
      )


def _label(cell: _Cell, values: np.ndarray) -> None:
  cell.check_classes("label", values, 0)


def _labels(cell: _Cell, values: np.ndarray) -> None:
  cell.check_classes("labels", values, -1)


def _top5(cell: _Cell, values: np.ndarray) -> None:
  """Different classes, best first; places without one are the last."""
  cell.check_classes("top5", values, -1)
  none = values < 0
  gap = none[..., :-1] & ~none[..., 1:]
  cell.refuse("top5", gap, "a class behind a place without one (-1)")
  ranked = np.sort(values, axis=-1)
  twice = (ranked[..., 1:] == ranked[..., :-1]) & (ranked[..., 1:] >= 0)
  cell.refuse("top5", twice, "one class twice")


def _score(cell: _Cell, values: np.ndarray) -> None:
  if "category_id" in cell.columns:  # of a results list: any finite number
    cell.refuse("score", ~np.isfinite(values), "expected a number")
    return
  outside = ~((values >= 0) & (values <= 1 + _ROUNDING))
  cell.refuse("score", outside, "expected a probability")
  grows = np.diff(values, axis=-1) > 0
  cell.refuse("score", grows, "the best comes first, and this one is higher")
  total = values.sum(axis=-1, dtype=np.float64) > 1 + _ROUNDING
  cell.refuse("score", total, "probabilities of more than 1 in sum")
  top5 = cell.columns["top5"]
  if top5.shape == values.shape:
    none = (top5 < 0) & (values != 0)
    cell.refuse("score", none, "a probability of no class")


def _nll(cell: _Cell, values: np.ndarray) -> None:
  cell.refuse("nll", ~(values >= 0), "expected a number from 0")
  _check_proper(cell, "nll", values, top_five.nll_ends)


def _brier(cell: _Cell, values: np.ndarray) -> None:
  outside = ~((values >= 0) & (values <= 2))
  cell.refuse("brier", outside, "expected a number in [0, 2]")
  _check_proper(cell, "brier", values, top_five.brier_ends)


def _check_proper(
  cell: _Cell,
  name: str,
  values: np.ndarray,
  ends: Callable[..., tuple[np.ndarray, np.ndarray]],
) -> None:
  """Holds a score of the whole softmax against the five best of it."""
  columns = cell.columns
  if not {"label", "top5", "score"} <= columns.keys():
    return
  rows = len(values)
  shape = {np.shape(columns["top5"]), np.shape(columns["score"])}
  if len(shape) > 1 or np.prod(shape.pop()) != rows * _RANKS:
    raise errors.UserError(
      f"{cell.source}: top5, score: expected {_RANKS} of each row beside {name}."
    )
  top5 = columns["top5"].reshape(rows, _RANKS)
  score = columns["score"].reshape(rows, _RANKS)
  least, most = ends(columns["label"], top5, score)
  wrong = ~((values >= least) & (values <= most))
  cell.refuse(name, wrong, "not what top5 and score of this row allow")


def _flips(cell: _Cell, values: np.ndarray) -> None:
  _check_pairs(
    cell, "flips", values, lambda top5: top5[..., 0], stability.flips
  )


def _t5d(cell: _Cell, values: np.ndarray) -> None:
  _check_pairs(cell, "t5d", values, lambda top5: top5, stability.top5_distances)


def _check_pairs(
  cell: _Cell,
  name: str,
  values: np.ndarray,
  of_top5: Callable[[np.ndarray], np.ndarray],
  measure: Callable[..., np.ndarray],
) -> None:
  """Recomputes what follows from the ranks of the frames."""
  noise = conditions.SEQUENCES.is_noise(cell.condition.name)
  difficulties = (1,) if noise else conditions.DIFFICULTIES
  ranks = of_top5(cell.columns["top5"])
  expected = np.stack(
    [
      measure(ranks, noise, d).mean(axis=1, dtype=np.float64)
      for d in difficulties
    ],
    axis=1,
  )
  if expected.shape != values.shape:
    raise errors.UserError(
      f"{cell.source}: {name}: got the shape {list(values.shape)}, expected"
      f" {list(expected.shape)}."
    )
  wrong = ~np.isclose(values, expected, rtol=1e-12, atol=1e-12)
  cell.refuse(name, wrong, "not what follows from top5")


def _zipf(cell: _Cell, values: np.ndarray) -> None:
  wrong = ~(np.isfinite(values) & (values >= 0))
  cell.refuse("zipf", wrong, "expected a number from 0")


def _value(cell: _Cell, values: np.ndarray) -> None:
  wrong = ~(((values >= 0) & (values <= 1)) | (values == -1))
  cell.refuse("value", wrong, "expected a fraction, or -1 for none")


def _boxes(cell: _Cell, values: np.ndarray) -> None:
  """Finite, ends in order, and not far outside of the picture."""
  there = (cell.columns["classes"] >= 0)[..., None]
  if values.shape != (*there.shape[:2], 4):
    raise errors.UserError(
      f"{cell.source}: boxes: got the shape {list(values.shape)}, expected"
      f" {[*there.shape[:2], 4]}."
    )
  cell.refuse("boxes", there & ~np.isfinite(values), "expected a number")
  swapped = there & (values[..., 2:] < values[..., :2])
  cell.refuse("boxes", swapped, "its ends are swapped")
  sides = _sides(cell)
  far = there & (
    (values < -_FAR * sides[:, None]) | (values > (_FAR + 1) * sides[:, None])
  )
  cell.refuse("boxes", far, "far outside of the picture")


def _sides(cell: _Cell) -> np.ndarray:
  """float `[N, 4]`: width, height, width, height of each picture, px."""
  images = (cell.rules.truth or {}).get("images", ())
  sizes = {
    i["id"]: (i.get("width", np.nan), i.get("height", np.nan)) for i in images
  }
  ids = cell.columns["image_id"]
  absent = np.array([i not in sizes for i in ids.tolist()], bool)
  cell.refuse("image_id", absent, "the ground truth has no such picture")
  rows = [sizes[i] * 2 for i in ids.tolist()]
  return np.array(rows, np.float64).reshape(len(rows), 4)


def _scores(cell: _Cell, values: np.ndarray) -> None:
  wrong = ~((values >= 0) & (values <= 1 + _ROUNDING))
  cell.refuse("scores", wrong, "expected a number in [0, 1]")
  grows = np.diff(values, axis=1) > 0
  cell.refuse("scores", grows, "the best comes first, and this one is higher")


def _classes(cell: _Cell, values: np.ndarray) -> None:
  cell.refuse("classes", values < -1, "expected classes from -1")
  known = len((cell.rules.truth or {}).get("categories", ()))
  if known:
    cell.refuse(
      "classes", values >= known, f"the ground truth has {known} classes"
    )


def _category_id(cell: _Cell, values: np.ndarray) -> None:
  listed = (cell.rules.truth or {}).get("categories", ())
  known = [c["id"] for c in listed]
  wrong = ~np.isin(values, known)
  cell.refuse("category_id", wrong, "the ground truth has no such class")


def _bbox(cell: _Cell, values: np.ndarray) -> None:
  cell.refuse("bbox", ~np.isfinite(values), "expected a number")


# In this order: the later ones follow from earlier ones.
_VALUES: Mapping[str, Callable[[_Cell, np.ndarray], None]] = {
  "label": _label,
  "labels": _labels,
  "top5": _top5,
  "score": _score,
  "nll": _nll,
  "brier": _brier,
  "flips": _flips,
  "t5d": _t5d,
  "zipf": _zipf,
  "value": _value,
  "boxes": _boxes,
  "scores": _scores,
  "classes": _classes,
  "category_id": _category_id,
  "bbox": _bbox,
}
