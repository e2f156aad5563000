"""PASCAL VOC's AP at IoU 0.5, by the rules of the 2007 devkit.

Per class, all detections of the set in the order of their scores: the object of
the class and image with the best IoU decides, difficult ones included. From IoU
0.5 up a difficult object makes the detection ignored, an unclaimed one makes it
right, a claimed one wrong; there is no second choice. docs/specs/detection.md
section 3.1; Michaelis et al. 2019 used the 11-point form.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np

from robust_tfds import errors

_IOU = 0.5
_POINTS = np.arange(0.0, 1.1, 0.1)  # as the devkit's: 0.30000000000000004


def voc_ap50(
  gt: Sequence[Mapping[str, Any]],
  dt: Sequence[Mapping[str, Any]],
  classes: Sequence[Any],
  *,
  interpolation: str = "11point",
  plus_one: bool = True,
) -> dict[str, Any]:
  """AP at IoU 0.5 of every class, and their mean.

  Args:
    gt: rows of image, label, bbox `[x1, y1, x2, y2]` (inclusive pixels) and
      difficult (0 or 1; 0 if absent).
    dt: rows of image, label, bbox and score. May be empty.
    classes: the class names; labels are positions in it, or names themselves.
    interpolation: `11point` (VOC2007) or `area` (2010 and later).
    plus_one: whether widths are x2 - x1 + 1, as the devkit has them.

  Returns:
    `mean` over the classes that have objects which are not difficult, nan if
    none has; `per_class`, class name -> AP in [0, 1], nan for the others.

  Raises:
    UserError: an unknown label or interpolation, a score that is not finite, a
      box that is no box; names the first.
  """
  if interpolation not in ("11point", "area"):
    raise errors.UserError(
      f"interpolation is '11point' or 'area', got {interpolation!r}."
    )
  names = list(classes)
  images: dict[Any, int] = {}
  objects = _columns(gt, names, images, "Object")
  detected = _columns(dt, names, images, "Detection")
  difficult = np.array([bool(r.get("difficult", 0)) for r in gt], bool)
  scores = np.array([r["score"] for r in dt], np.float64)
  if not np.isfinite(scores).all():
    i = int(np.argmin(np.isfinite(scores)))
    raise errors.UserError(
      f"Detection {i} has the score {scores[i]}; not finite."
    )
  per_class = {}
  for label, name in enumerate(names):
    theirs, ours = objects["label"] == label, detected["label"] == label
    right, counted = _match(
      {k: v[theirs] for k, v in objects.items()},
      difficult[theirs],
      {k: v[ours] for k, v in detected.items()},
      scores[ours],
      float(plus_one),
    )
    number = int((theirs & ~difficult).sum())
    per_class[name] = _average(right[counted], number, interpolation)
  defined = [v for v in per_class.values() if not np.isnan(v)]
  mean = float(np.mean(defined)) if defined else float("nan")
  return {"mean": mean, "per_class": per_class}


def _match(
  objects: Mapping[str, np.ndarray],
  difficult: np.ndarray,
  detected: Mapping[str, np.ndarray],
  scores: np.ndarray,
  border: float,
) -> tuple[np.ndarray, np.ndarray]:
  """Of the detections by decreasing score: which are right, which count."""
  order = np.argsort(-scores, kind="stable")
  rows = [np.flatnonzero(objects["image"] == i) for i in range(_most(objects))]
  claimed = np.zeros(len(difficult), bool)
  right, counted = np.zeros(len(order), bool), np.ones(len(order), bool)
  for place, index in enumerate(order):
    image = detected["image"][index]
    near = rows[image] if image < len(rows) else ()
    if not len(near):
      continue
    iou = _iou(detected["box"][index], objects["box"][near], border)
    best = near[int(np.argmax(iou))]
    if iou.max() < _IOU:
      continue
    if difficult[best]:
      counted[place] = False
    elif not claimed[best]:
      claimed[best] = right[place] = True
  return right, counted


def _most(objects: Mapping[str, np.ndarray]) -> int:
  return int(objects["image"].max(initial=-1)) + 1


def _iou(box: np.ndarray, others: np.ndarray, border: float) -> np.ndarray:
  sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(
    box[:2], others[:, :2]
  )
  both = np.clip(sides + border, 0, None).prod(axis=1)
  area = (box[2:] - box[:2] + border).prod()
  areas = (others[:, 2:] - others[:, :2] + border).prod(axis=1)
  return both / (area + areas - both)


def _average(right: np.ndarray, number: int, interpolation: str) -> float:
  if not number:
    return float("nan")
  hits = np.cumsum(right)
  recall = hits / number
  precision = hits / np.arange(1, len(right) + 1)
  if interpolation == "11point":
    highest = [precision[recall >= point].max(initial=0.0) for point in _POINTS]
    return float(np.sum(highest) / 11)
  # The area under the precision made non-increasing from the right.
  envelope = np.maximum.accumulate(precision[::-1])[::-1]
  steps = np.diff(np.concatenate([[0.0], recall]))
  return float((steps * envelope).sum())


def _columns(
  rows: Sequence[Mapping[str, Any]],
  names: Sequence[Any],
  images: dict[Any, int],
  kind: str,
) -> dict[str, np.ndarray]:
  """label int `[N]`, image int `[N]` (numbered as they come), box `[N, 4]`."""
  positions = {name: i for i, name in enumerate(names)}
  labels, places, boxes = [], [], []
  for number, row in enumerate(rows):
    what = f"{kind} {number} (image {row.get('image')!r})"
    labels.append(_label(what, row["label"], positions))
    places.append(images.setdefault(row["image"], len(images)))
    boxes.append(row["bbox"])
    if len(row["bbox"]) != 4:
      raise errors.UserError(
        f"{what}: bbox [x1, y1, x2, y2], got {row['bbox']!r}."
      )
  box = np.array(boxes, np.float64).reshape(-1, 4)
  bad = ~np.isfinite(box).all(axis=1)
  if kind == "Object":  # detectors do give empty boxes: these are just wrong
    bad |= (box[:, 2:] < box[:, :2]).any(axis=1)
  if bad.any():
    i = int(np.argmax(bad))
    raise errors.UserError(
      f"{kind} {i} (image {rows[i]['image']!r}): finite numbers expected, of"
      f" objects x1 <= x2 and y1 <= y2, got {rows[i]['bbox']!r}."
    )
  return {
    "label": np.array(labels, np.int64),
    "image": np.array(places, np.int64),
    "box": box,
  }


def _label(what: str, label: Any, positions: Mapping[Any, int]) -> int:
  if label in positions:
    return positions[label]
  if isinstance(label, (int, np.integer)) and 0 <= label < len(positions):
    return int(label)
  raise errors.UserError(
    f"{what} has the label {label!r}; expected a class name or its position"
    f" 0..{len(positions) - 1}."
  )
