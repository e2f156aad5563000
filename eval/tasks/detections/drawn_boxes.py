"""Boxes that the gallery draws in a picture: hits, misses and false alarms."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eval.cells.files.overlay import Kind, Overlay
from eval.metrics.detection import (
  checks,
  matches,
  objects,
  operating_point,
)
from eval.tasks.detections import detected_columns
from robust_tfds.coco import rle

_IOU = 0.5
_Columns = Mapping[str, np.ndarray]


def best_score(columns: _Columns, truth: checks.Truth) -> tuple[float, float]:
  """Return the score threshold of the highest F1 over all classes, and that F1.

  Args:
    columns: a cell's columns, see `eval/tasks/detection.py`.
  """
  detections = detected_columns.detections("bbox", columns, truth)
  ids = np.sort(columns["image_id"])
  detected = objects.detected(detections, truth, ids)
  every = objects.truth_objects(truth, ids)
  matcher = matches.Matcher(every, detected, np.array([_IOU]))
  got = matcher.within(matches.AREAS[""])
  number = got.objects.shape[1]
  right, wrong = got.right[:, 0], got.wrong[:, 0]
  return operating_point.best_f1(matcher.score, right, wrong, number)


def picture_overlays(
  example_id: str,
  columns: _Columns,
  truth: Mapping[str, Any],
  least_score: float,
) -> list[Overlay]:
  """Return all detections from a score up, and all objects that none of them hits.

  A detection hits the unmatched object of its class with the largest IoU, from
  0.5 up.
  """
  (row,) = np.flatnonzero(columns["example_id"] == example_id)[:1]
  image_id = int(columns["image_id"][row])
  names = [c["name"] for c in truth["categories"]]
  free, out = _objects(truth, image_id), []
  for place, score in enumerate(columns["scores"][row].tolist()):
    if columns["classes"][row, place] < 0 or score < least_score:
      continue
    box, label = (
      columns["boxes"][row, place],
      int(columns["classes"][row, place]),
    )
    near = [o for o in free if o[0] == label]
    best = max(near, key=lambda o: _iou(box, o[1]), default=None)
    hits = best is not None and _iou(box, best[1]) >= _IOU
    if best is not None and hits:
      free.remove(best)
    mask, corner = _mask(columns, row, place, _size(truth, image_id))
    x1, y1, x2, y2 = map(float, box)
    text = f"{names[label]} {score:.2f}"
    kind: Kind = "hit" if hits else "wrong"
    out.append(Overlay(kind, (x1, y1, x2, y2), text, mask, corner))
  return out + [Overlay("missed", box, names[label]) for label, box in free]


def _mask(
  columns: _Columns, row: int, place: int, size: tuple[int, int]
) -> tuple[np.ndarray | None, tuple[int, int]]:
  """Return a detection's pixels and the corner of their box; None without masks."""
  if "masks" not in columns:
    return None, (0, 0)
  texts = str(columns["masks"][row]).split(" ")
  whole = rle.Mask(texts[place], size)
  x, y, width, height = rle.box(whole)
  return rle.decode(whole)[y : y + height, x : x + width], (x, y)


def _size(truth: Mapping[str, Any], image_id: int) -> tuple[int, int]:
  (image,) = [i for i in truth["images"] if i["id"] == image_id][:1]
  return image.get("height", 0), image.get("width", 0)


def _objects(
  truth: Mapping[str, Any], image_id: int
) -> list[tuple[int, tuple[float, float, float, float]]]:
  """Return (label, corners) of a picture's objects, without crowds."""
  label = {c["id"]: i for i, c in enumerate(truth["categories"])}
  return [
    (label[a["category_id"]], _corners(a["bbox"]))
    for a in truth["annotations"]
    if a["image_id"] == image_id and not a.get("iscrowd")
  ]


def _corners(box: Sequence[float]) -> tuple[float, float, float, float]:
  x, y, width, height = map(float, box)
  return x, y, x + width, y + height


def _iou(box: Sequence[float], object_box: Sequence[float]) -> float:
  width = min(box[2], object_box[2]) - max(box[0], object_box[0])
  height = min(box[3], object_box[3]) - max(box[1], object_box[1])
  both = max(width, 0.0) * max(height, 0.0)
  areas = [(b[2] - b[0]) * (b[3] - b[1]) for b in (box, object_box)]
  return float(both / max(sum(areas) - both, 1e-9))
