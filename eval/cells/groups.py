"""Groups of examples, compared independently of their names.

Groups are drawn whole (`eval/metrics/resampling.py`), and a draw depends on
their names. So runs are compared only if their groups have the same examples,
and equal groups get equal names before anything is drawn.
"""

import hashlib

import numpy as np

from eval.cells.files.columns import Columns


def partition(columns: Columns) -> str:
  """Return a sha256 of the partition of rows into groups; '' without groups.

  Args:
    columns: columns of a cell's examples, in the order of their ids.
  """
  ids, names = columns["example_id"], columns["group_id"]
  if np.array_equal(ids, names):
    return ""
  first = _first_rows(names)
  if np.array_equal(first, _first_rows(ids)):
    return ""
  return hashlib.sha256(first.astype("<i8").tobytes()).hexdigest()


def _first_rows(names: np.ndarray) -> np.ndarray:
  """Return the first row of each row's group: int64 `[N]`."""
  _, first, index = np.unique(names, return_index=True, return_inverse=True)
  return first[index]


class Names:
  """The names of groups that several runs share: those of the first run."""

  def __init__(self) -> None:
    """Create it without groups."""
    self._names: dict[tuple[str, str, str], np.ndarray] = {}

  def rename(self, dataset: str, columns: Columns) -> dict[str, np.ndarray]:
    """Return the columns of a cell, with equal names for equal groups."""
    ids = np.ascontiguousarray(columns["example_id"].astype(np.str_))
    digest = hashlib.sha256(ids.view(np.uint8).data).hexdigest()
    key = dataset, digest, partition(columns)
    names = self._names.setdefault(key, columns["group_id"])
    return {**columns, "group_id": names}
