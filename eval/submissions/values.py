"""The values of a cell that its table cannot be recomputed without.

Names, dtypes and shapes of the columns are those of the task, classes exist, and
what a run derives from its own predictions (flips, top-5 distances) is derived
again. Whether a model gave the predictions, only `--rerun=K` tells.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from eval.cells.files import columns as columns_lib
from eval.cells.files.columns import Columns
from eval.metrics import stability
from robust_tfds import conditions, errors
from robust_tfds.conditions import Condition

# Columns of classes -> the least value that each may hold; -1 is a place without one.
_CLASSES = {"label": 0, "labels": -1, "top5": -1, "classes": -1}
_NUMBERS = ("score", "scores", "nll", "brier", "zipf", "value", "bbox")


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
  """Refuse columns from which no table can be computed.

  Args:
    source: what a refusal begins with: the cell's file.
    rules: what they are held against.

  Raises:
    UserError: names the column and the first example.
  """
  columns_lib.check(source, columns, rules.task, condition)
  listed = (rules.truth or {}).get("categories", ())
  for name, least in _CLASSES.items():
    classes = len(listed) if name == "classes" else rules.classes
    values = columns.get(name, np.zeros(0, int))
    wrong = (values < least) | ((values >= classes) & (classes > 0))
    reason = (
      f"expected classes {f'0 to {classes - 1}' if classes else 'from 0'}"
    )
    reason += ", or -1 for none" if least else ""
    _refuse(source, columns, name, wrong, reason)
  for name in _NUMBERS:
    nan = np.isnan(columns.get(name, np.zeros(0)))
    _refuse(source, columns, name, nan, "expected a number")
  if "category_id" in columns:
    absent = ~np.isin(columns["category_id"], [c["id"] for c in listed])
    reason = "the ground truth has no such class"
    _refuse(source, columns, "category_id", absent, reason)
  if "boxes" in columns:
    _check_boxes(source, columns)
  if "flips" in columns:
    _check_pairs(source, columns, condition)


def _refuse(
  source: str, columns: Columns, name: str, wrong: np.ndarray, reason: str
) -> None:
  """UserError that names the first of the wrong values, if there is one."""
  if not wrong.any():
    return
  place = tuple(int(i) for i in np.argwhere(wrong)[0])
  example = str(columns["example_id"][place[0]])
  raise errors.UserError(
    f"{source}: {name} of {example!r}: got {columns[name][place]}: {reason}."
  )


def _check_boxes(source: str, columns: Columns) -> None:
  boxes, there = columns["boxes"], columns["classes"] >= 0
  if boxes.shape != (*there.shape, 4):
    raise errors.UserError(
      f"{source}: boxes: got the shape {list(boxes.shape)}, expected"
      f" {[*there.shape, 4]}."
    )
  wrong = there[..., None] & ~np.isfinite(boxes)
  _refuse(source, columns, "boxes", wrong, "expected a number")


def _check_pairs(source: str, columns: Columns, condition: Condition) -> None:
  """Recomputes what follows from the ranks of a sequence's frames."""
  noise = conditions.SEQUENCES.is_noise(condition.name)
  steps = (1,) if noise else conditions.DIFFICULTIES
  top5 = columns["top5"]
  for name, ranks, measure in (
    ("flips", top5[..., 0], stability.flips),
    ("t5d", top5, stability.top5_distances),
  ):
    means = [measure(ranks, noise, d).mean(1, dtype=np.float64) for d in steps]
    expected = np.stack(means, axis=1)
    values = columns.get(name, expected)
    if values.shape != expected.shape:
      raise errors.UserError(
        f"{source}: {name}: got the shape {list(values.shape)}, expected"
        f" {list(expected.shape)}."
      )
    wrong = ~np.isclose(values, expected, rtol=1e-12, atol=1e-12)
    _refuse(source, columns, name, wrong, "not what follows from top5")
