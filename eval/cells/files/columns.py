"""The schema of cells' columns on disk, by task.

When a cell is written, the facts of its examples go into a separate file
(`OF_EXAMPLES`, see `eval/cells/files/examples.py`). A cell of another program
is checked against the schema (`check`). The ranges of values that means are
computed from are checked whenever a cell is read (`check_ranges`).
"""

import dataclasses
from collections.abc import Mapping

import numpy as np

from robust_tfds import errors
from robust_tfds.conditions import Condition

Columns = Mapping[str, np.ndarray]

TEXT, WHOLE, REAL, TRUTH = "UT", "i", "f", "b"  # NumPy's kinds
_WORDS = {
  TEXT: "text",
  WHOLE: "whole numbers",
  REAL: "numbers",
  TRUTH: "booleans",
}


@dataclasses.dataclass(frozen=True)
class Column:
  """A column of a cell.

  Attributes:
    kind: `TEXT`, `WHOLE`, `REAL` or `TRUTH`.
    dimensions: number of dimensions of its array, with rows.
    of_examples: whether it is a fact of examples, the same for every model.
    needed: whether it is required.
  """

  kind: str
  dimensions: int = 1
  of_examples: bool = False
  needed: bool = False


_EXAMPLE = {
  "example_id": Column(TEXT, of_examples=True, needed=True),
  "group_id": Column(TEXT, of_examples=True, needed=True),
  "frame": Column(WHOLE, of_examples=True, needed=True),
}
_CLASSIFIED = {
  "label": Column(WHOLE, of_examples=True, needed=True),
  "top5": Column(WHOLE, 2, needed=True),
  "score": Column(REAL, 2),
  "nll": Column(REAL),
  "brier": Column(REAL),
}
_PICTURES = {
  **_CLASSIFIED,
  "labels": Column(WHOLE, 2, of_examples=True),
  # Of models that adapt: the place in the stream, the backward passes.
  "position": Column(WHOLE),
  "backward": Column(REAL),
}
_FRAMES = {
  **_PICTURES,
  "reviewed": Column(TRUTH, of_examples=True),
  "frame_type": Column(TEXT, of_examples=True),
  "fps": Column(REAL, of_examples=True),
  "linf": Column(REAL, of_examples=True),
}
_VIDEO = {
  **_CLASSIFIED,
  "shift": Column(TEXT, of_examples=True),
  "category": Column(TEXT, of_examples=True),
}
_CLEAN_OF_SEQUENCES = {
  **_CLASSIFIED,
  "top5": Column(WHOLE, 3, needed=True),
  "score": Column(REAL, 3),
}
_SEQUENCES = {
  "label": Column(WHOLE, of_examples=True, needed=True),
  "top5": Column(WHOLE, 3, needed=True),
  "score": Column(REAL, 3),
  "flips": Column(REAL, 2),
  "t5d": Column(REAL, 2),
  "zipf": Column(REAL, 2),
}
_DETECTED = {
  "image_id": Column(WHOLE, of_examples=True, needed=True),
  "boxes": Column(REAL, 3, needed=True),
  "scores": Column(REAL, 2, needed=True),
  "classes": Column(WHOLE, 2, needed=True),
  "masks": Column(TEXT),
}
# Detections of another program, a row each.
_RESULT_LIST = {
  "position": Column(WHOLE),
  "image_id": Column(WHOLE, of_examples=True, needed=True),
  "category_id": Column(WHOLE, needed=True),
  "score": Column(REAL),
  "bbox": Column(REAL, 2),
  "segmentation": Column(TEXT),
}
_SEGMENTED = {"areas": Column(WHOLE, 3, needed=True), "mask": Column(TEXT)}
# Numbers that another program measured, a row each.
_NUMBERS = {"value": Column(REAL, needed=True)}

# The least and the most of values whose means have such bounds: `Metric.bounds`.
_RANGES = {
  "nll": (0, np.inf),
  "brier": (0, 2),
  "flips": (0, 1),
  "t5d": (0, 15),
  "zipf": (0, np.inf),
  "linf": (0, 1),
  "backward": (0, np.inf),
  "value": (-1, 1),  # -1: not defined
}

OF_EXAMPLES = frozenset(
  name
  for listed in (_EXAMPLE, _FRAMES, _VIDEO, _DETECTED)
  for name, column in listed.items()
  if column.of_examples
)


def schema(
  task: str, condition: Condition, columns: Columns
) -> dict[str, Column]:
  """Return the columns that a cell may have.

  Args:
    columns: its columns: detections are stored in one of three forms.
  """
  if task == "sequences":
    task_columns = _CLEAN_OF_SEQUENCES if condition.clean else _SEQUENCES
  elif task in ("detection", "frame_detection"):
    forms = {"value": _NUMBERS, "category_id": _RESULT_LIST}
    task_columns = next((forms[n] for n in forms if n in columns), _DETECTED)
    if task == "frame_detection" and task_columns is _DETECTED:
      task_columns = {n: c for n, c in _DETECTED.items() if n != "image_id"}
  else:
    columns_by_task = {
      "frames": _FRAMES,
      "video": _VIDEO,
      "segmentation": _SEGMENTED,
    }
    task_columns = columns_by_task.get(task, _PICTURES)
  return {**_EXAMPLE, **task_columns}


def check(
  source: str, columns: Columns, task: str, condition: Condition
) -> None:
  """Refuse columns whose names, dtypes or shapes do not match the task.

  Args:
    source: the beginning of an error message: the cell's file.

  Raises:
    UserError: the message names the column.
  """
  known = schema(task, condition, columns)
  for name in columns:
    if name not in known:
      raise errors.UserError(
        f"{source}: the column {name!r} is none of the task {task}, which has"
        f" {', '.join(known)}."
      )
  for name, column in known.items():
    if name in columns:
      _check_kind(f"{source}: {name}", columns[name], column)
    elif column.needed:
      raise errors.UserError(
        f"{source}: the column {name!r} of the task {task} is missing."
      )


def check_ranges(source: str, columns: Columns) -> None:
  """Refuse values outside the range of their means; NaN is such a value.

  Args:
    source: the beginning of an error message: the cell's file.

  Raises:
    UserError: the message names the column, the first value and the range.
  """
  for name, (least, most) in _RANGES.items():
    values = columns.get(name, np.zeros(0))
    if values.dtype.kind != REAL:
      continue  # `check` and who reads them refuse these
    wrong = (values < least) | (values > most)
    if wrong.any():
      raise errors.UserError(
        f"{source}: {name}: got {values[wrong][0]}, expected numbers in"
        f" [{least}, {most}]."
      )


def _check_kind(source: str, values: np.ndarray, column: Column) -> None:
  if values.dtype.kind in column.kind and values.ndim == column.dimensions:
    return
  raise errors.UserError(
    f"{source}: got {values.dtype} of shape {list(values.shape)}, expected"
    f" {_WORDS[column.kind]} of {column.dimensions} dimension"
    f"{'s' * (column.dimensions > 1)}."
  )
