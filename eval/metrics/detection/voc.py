"""PASCAL VOC's AP at IoU 0.5, by the rules of the 2007 devkit.

Per class, all detections of the set in the order of their scores: the object of
the class and image with the best IoU decides, difficult ones included. From IoU
0.5 up a difficult object makes the detection ignored, an unclaimed one makes it
right, a claimed one wrong; there is no second choice. docs/specs/detection.md
section 3.1; Michaelis et al. 2019 used the 11-point form.
"""

from __future__ import annotations

from collections.abc import Hashable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np

from robust_tfds import errors
from robust_tfds.datasets import coco_rows

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
    UserError: no or equal class names, an unknown label or interpolation, a row
      without one of the fields, a score that is not finite, a box that is no box,
      `difficult` other than 0 and 1; names the first.
  """
  if interpolation not in ("11point", "area"):
    raise errors.UserError(
      f"interpolation is '11point' or 'area', got {interpolation!r}."
    )
  names = _names(classes)
  images: dict[Any, int] = {}
  truth = coco_rows.Rows.of(gt, "Object", "image")
  results = coco_rows.Rows.of(dt, "Detection", "image")
  objects = _columns(truth, names, images, ordered=True)
  # Detectors do give empty and turned boxes: these are just wrong.
  detected = _columns(results, names, images, ordered=False)
  difficult = np.array(truth.flags("difficult"), bool)
  scores = results.numbers("score", "scores must be finite numbers")
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


def _names(classes: Any) -> list[Any]:
  listed = isinstance(classes, Sequence) and not isinstance(classes, str)
  names = list(classes) if listed else []
  if not names or len({repr(name) for name in names}) < len(names):
    raise errors.UserError(
      "classes: a list of different class names expected, got"
      f" {coco_rows.shown(classes)}."
    )
  return names


def _columns(
  rows: coco_rows.Rows,
  names: Sequence[Any],
  images: dict[Any, int],
  *,
  ordered: bool,
) -> dict[str, np.ndarray]:
  """label int `[N]`, image int `[N]` (numbered as they come), box `[N, 4]`."""
  positions = {name: i for i, name in enumerate(names)}
  places = []
  for i, image in enumerate(rows.values("image")):
    if not isinstance(image, Hashable) or image is None:
      raise errors.UserError(
        f"{rows.noun} {i}: image is a name or a number, got"
        f" {coco_rows.shown(image)}."
      )
    places.append(images.setdefault(image, len(images)))
  labels = [
    _label(rows, i, label, positions)
    for i, label in enumerate(rows.values("label"))
  ]
  return {
    "label": np.array(labels, np.int64),
    "image": np.array(places, np.int64),
    "box": rows.corners(ordered=ordered),
  }


def _label(
  rows: coco_rows.Rows, place: int, label: Any, positions: Mapping[Any, int]
) -> int:
  flag = isinstance(label, (bool, np.bool_))
  if isinstance(label, Hashable) and not flag and label in positions:
    return positions[label]
  whole = isinstance(label, (int, np.integer)) and not flag
  if whole and 0 <= label < len(positions):
    return int(label)
  raise errors.UserError(
    f"{rows.name(place)} has the label {coco_rows.shown(label)}; expected a class"
    f" name or its position 0..{len(positions) - 1}."
  )
