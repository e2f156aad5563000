"""Predictions that look copied: said, and not refused.

Two cells of other networks, weights or conditions have the same five classes (of
detectors, the same boxes) in nearly every row; or a detector's boxes are those of the
ground truth to the last bit. A model that always answers the same is not meant.
"""

import collections
from collections.abc import Mapping
from typing import Any

import numpy as np

from robust_tfds.eval.cells.cell import Cell
from robust_tfds.eval.cells.columns import Columns

_LEAST = 10  # different rows, below which equal answers tell nothing
_MOST = 5  # pairs that are named
# Of rows that are equal. Honest cells: 0.88 at most (digits, clean and faint noise).
_NEARLY = 0.95
_SHARE = 0.5  # of the true boxes: so many no detector gives to the last bit


class Copies:
  """The cells of a submission, one after the other."""

  def __init__(self, truth: Mapping[str, Any] | None):
    """`truth` is that of detection, where there is one."""
    self._boxes = _boxes_of(truth)
    self._rows: list[tuple[Cell, np.ndarray]] = []
    self._pairs: list[tuple[Cell, Cell]] = []
    self._of_truth: list[str] = []

  def add(self, cell: Cell, columns: Columns) -> None:
    """Holds a cell against those before it, and against the ground truth."""
    rows = _rows(columns)
    for other, theirs in self._rows:
      if _alike(rows, theirs) and _differ(cell, other):
        self._pairs.append((other, cell))
        break
    if len(np.unique(rows)) >= _LEAST:
      self._rows.append((cell, rows))
    share = _share_of(self._boxes, columns)
    if share > _SHARE:
      self._of_truth.append(f"{_name(cell)} ({share:.0%})")

  @property
  def lines(self) -> list[str]:
    """What was seen, in words; empty where nothing was."""
    pairs = [f"{_name(one)} and {_name(two)}" for one, two in self._pairs]
    out = []
    if pairs:
      out.append(
        "that these are no copies of one another, equal in nearly every row:"
        f" {_listed(pairs)}"
      )
    if self._of_truth:
      out.append(
        "that these are detections: boxes of truth.json to the last bit in"
        f" {_listed(self._of_truth)}"
      )
    return out


def _name(cell: Cell) -> str:
  return f"{cell.model} {cell.condition.config}"


def _listed(names: list[str]) -> str:
  more = len(names) - _MOST
  return ", ".join(names[:_MOST]) + (f" and {more:,} more" if more > 0 else "")


def _differ(one: Cell, other: Cell) -> bool:
  """Whether two cells are of other networks, weights or conditions."""
  facts = [
    (c.model_facts.name, c.model_facts.weights) if c.model_facts else ()
    for c in (one, other)
  ]
  return (one.condition, facts[0]) != (other.condition, facts[1])


def _alike(one: np.ndarray, other: np.ndarray) -> bool:
  """Whether nearly all rows are equal, but for the second one's commonest."""
  if one.shape != other.shape:
    return False
  values, places, counts = np.unique(
    other, return_inverse=True, return_counts=True
  )
  told = places != counts.argmax() if len(values) < len(other) else places >= 0
  return bool((one == other)[told].mean() >= _NEARLY)


def _rows(columns: Columns) -> np.ndarray:
  """int64 `[N]`: equal where the answers of a row are; `[0]` without any."""
  name = next((n for n in ("top5", "boxes") if n in columns), "")
  values = columns[name].astype(np.float64) if name else ()
  return np.array([hash(row.tobytes()) for row in values], np.int64)


def _boxes_of(truth: Mapping[str, Any] | None) -> collections.Counter[tuple]:
  """(picture, left, top, right, bottom) of the objects, as float32 rounds."""
  listed = (truth or {}).get("annotations", ())
  boxes = np.array([a["bbox"] for a in listed], np.float64).reshape(-1, 4)
  boxes[:, 2:] += boxes[:, :2]
  corners = boxes.astype(np.float32).tolist()
  return collections.Counter(
    (a["image_id"], *box) for a, box in zip(listed, corners)
  )


def _share_of(boxes: collections.Counter[tuple], columns: Columns) -> float:
  """Share of the ground truth's boxes that a cell has to the last bit."""
  if not boxes or not {"boxes", "image_id"} <= columns.keys():
    return 0.0
  there = columns["classes"] >= 0
  images = np.broadcast_to(columns["image_id"][:, None], there.shape)[there]
  rows = zip(images.tolist(), columns["boxes"][there].tolist())
  got = collections.Counter((image, *box) for image, box in rows)
  return (got & boxes).total() / boxes.total()
