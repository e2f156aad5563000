"""PASCAL VOC's AP at IoU 0.5, by the rules of the 2007 devkit.

Per class, all detections of the set in the order of their scores: the object of
the class and image with the best IoU decides, difficult ones included. From IoU
0.5 up a difficult object makes the detection ignored, an unclaimed one makes it
right, a claimed one wrong; there is no second choice. docs/evidence/specs/detection.md
section 3.1; Michaelis et al. 2019 used the 11-point form.
"""

import dataclasses
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from eval.metrics.detection import matches as matches_lib
from eval.metrics.detection import overlaps
from robust_tfds import errors
from robust_tfds.coco import rows as coco_rows

_IOU = 0.5
RECALLS = np.arange(0.0, 1.1, 0.1)  # the devkit's values: 0.30000000000000004


@dataclasses.dataclass(frozen=True)
class Boxes:
  """The objects or detections, as columns.

  Attributes:
    image: int64 `[N]`, places among the pictures.
    label: int64 `[N]`, places among the classes.
    box: x1, y1, x2, y2, float64 `[N, 4]`.
  """

  image: np.ndarray
  label: np.ndarray
  box: np.ndarray


def voc_ap50(
  gt: Sequence[Mapping[str, Any]],
  dt: Sequence[Mapping[str, Any]],
  classes: Sequence[Any],
  *,
  interpolation: str = "11point",
  plus_one: bool = True,
) -> dict[str, Any]:
  """Compute AP at IoU 0.5 of every class, and their mean.

  Args:
    gt: rows of image, label, bbox `[x1, y1, x2, y2]` (inclusive pixels) and
      difficult (0 or 1; 0 if absent).
    dt: rows of image, label, bbox and score. May be empty.
    classes: the class names; labels are positions in it, or names themselves.
    interpolation: `11point` (VOC2007) or `area` (2010 and later).
    plus_one: whether widths are x2 - x1 + 1, as in the devkit.

  Returns:
    `mean` over the classes with objects that are not difficult, nan if there
    are none; `per_class`, class name -> AP in [0, 1], nan for the other
    classes.

  Raises:
    UserError: class names are missing or equal, a label or the interpolation is
      unknown, a row lacks a field, a score is not finite, a box is malformed,
      or `difficult` is not 0 or 1; the message names the first.
  """
  if interpolation not in ("11point", "area"):
    raise errors.UserError(
      f"interpolation is '11point' or 'area', got {interpolation!r}."
    )
  names = _names(classes)
  images: dict[Any, int] = {}
  truth = coco_rows.Rows.from_list(gt, "Object", "image")
  results = coco_rows.Rows.from_list(dt, "Detection", "image")
  objects = _columns(truth, names, images, ordered=True)
  # Detectors do return empty and inverted boxes: these are just wrong.
  detected = _columns(results, names, images, ordered=False)
  difficult = np.array(truth.flags("difficult"), bool)
  scores = results.numbers("score", "scores must be finite numbers")
  matches = match(objects, difficult, detected, scores, plus_one=plus_one)
  per_class = {}
  for label, name in enumerate(names):
    ours = matches.label == label
    counted = ours & (matches.right | matches.wrong)[:, 0]
    number = int((matches.objects[1] == label).sum())
    right = matches.right[counted, 0]
    per_class[name] = _average(right, number, interpolation)
  defined = [v for v in per_class.values() if not np.isnan(v)]
  mean = float(np.mean(defined)) if defined else float("nan")
  return {"mean": mean, "per_class": per_class}


def match(
  objects: Boxes,
  difficult: np.ndarray,
  detected: Boxes,
  scores: np.ndarray,
  *,
  plus_one: bool = True,
) -> matches_lib.Matches:
  """Match detections at one threshold: right, wrong, or not counted.

  Args:
    difficult: bool `[G]`, for each object.
    detected: detections of all pictures, in their file's order.
    scores: float64 `[D]`.
    plus_one: see `voc_ap50`.
  """
  border = float(plus_one)
  best, overlap = _best(objects, detected, border)
  order = np.lexsort((-scores, detected.label))
  best, near = best[order], (overlap >= _IOU)[order]
  ignored = near & np.append(difficult, False)[best]
  right = near & ~ignored
  hits = np.flatnonzero(right)
  # An object's hit of the highest score is right, the others are wrong.
  right[np.delete(hits, np.unique(best[hits], return_index=True)[1])] = False
  counted = np.stack([objects.image, objects.label])[:, ~difficult]
  return matches_lib.Matches(
    image=detected.image[order],
    label=detected.label[order],
    right=right[:, None],
    wrong=(~right & ~ignored)[:, None],
    objects=counted,
  )


def _best(
  objects: Boxes, detected: Boxes, border: float
) -> tuple[np.ndarray, np.ndarray]:
  """Return the object of the largest IoU, -1 for none, and the IoU."""
  pairs = overlaps.Pairs.from_classes(detected, objects)
  iou = box_iou(detected.box[pairs.detection], objects.box[pairs.thing], border)
  # The first among equals.
  order = np.lexsort((-pairs.thing, iou, pairs.detection))
  last = np.flatnonzero(np.diff(pairs.detection[order], append=-1))
  best = np.full(len(detected.label), -1, np.int64)
  overlap = np.zeros(len(best))
  chosen = pairs.detection[order[last]]
  best[chosen] = pairs.thing[order[last]]
  overlap[chosen] = iou[order[last]]
  return best, overlap


def box_iou(first: np.ndarray, second: np.ndarray, border: float) -> np.ndarray:
  """Compute the IoU of rows of corners: float64 `[P]`."""
  sides = np.minimum(first[:, 2:], second[:, 2:]) - np.maximum(
    first[:, :2], second[:, :2]
  )
  both = np.clip(sides + border, 0, None).prod(axis=1)
  areas = [
    (box[:, 2:] - box[:, :2] + border).prod(axis=1) for box in (first, second)
  ]
  whole = areas[0] + areas[1] - both
  return np.divide(both, whole, out=np.zeros_like(both), where=both > 0)


def _average(right: np.ndarray, number: int, interpolation: str) -> float:
  if not number:
    return float("nan")
  hits = np.cumsum(right)
  recall = hits / number
  precision = hits / np.arange(1, len(right) + 1)
  if interpolation == "11point":
    highest = [precision[recall >= point].max(initial=0.0) for point in RECALLS]
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
      f" {coco_rows.quoted(classes)}."
    )
  return names


def _columns(
  rows: coco_rows.Rows,
  names: Sequence[Any],
  images: dict[Any, int],
  *,
  ordered: bool,
) -> Boxes:
  """Return checked rows as columns.

  Pictures are numbered in order of appearance.
  """
  positions = {name: i for i, name in enumerate(names)}
  places = []
  for i, image in enumerate(rows.values("image")):
    if not isinstance(image, Hashable) or image is None:
      raise errors.UserError(
        f"{rows.noun} {i}: image is a name or a number, got"
        f" {coco_rows.quoted(image)}."
      )
    places.append(images.setdefault(image, len(images)))
  labels = [
    _label(rows, i, label, positions)
    for i, label in enumerate(rows.values("label"))
  ]
  return Boxes(
    np.array(places, np.int64),
    np.array(labels, np.int64),
    rows.corners(ordered=ordered),
  )


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
    f"{rows.name(place)} has the label {coco_rows.quoted(label)}; expected a class"
    f" name or its position 0..{len(positions) - 1}."
  )
