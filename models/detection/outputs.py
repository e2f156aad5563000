"""Outputs of other packages' detectors, converted for `by_picture`.

Two forms: lists of boxes with `labels`, as torchvision's detectors give them after
their own suppression; and `logits` with `pred_boxes` of queries, as DETR and its
successors give them (Carion et al. 2020, End-to-End Object Detection with
Transformers, sections 3.1 and 4).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from models.detection import label_ids
from robust_tfds import errors

Detections = dict[str, Any]


def from_boxes(
  name: str, answer: Mapping[str, np.ndarray], classes_by_id: Mapping[int, int]
) -> Detections:
  """Convert the detections of one picture with `boxes`, `scores` and `labels`.

  Args:
    name: name of the model, for errors.
    answer: `boxes` `[n, 4]` (x1, y1, x2, y2 in px), `scores` `[n]`, `labels`
      `[n]`; and perhaps `masks` `[n, 1, h, w]`, probabilities.
    classes_by_id: label id -> class, see `label_ids.classes`.

  Returns:
    `boxes`, `scores`, `classes` and perhaps `masks` `[n, h, w]`; ids of no
    class are left out.

  Raises:
    UserError: an array is missing, or a label id is unknown.
  """
  missing = [key for key in ("boxes", "scores", "labels") if key not in answer]
  if missing:
    raise errors.UserError(
      f"{name} gave {', '.join(answer) or 'nothing'} for a picture, without"
      f" {', '.join(missing)}."
    )
  classes = label_ids.to_classes(name, answer["labels"], classes_by_id)
  there = classes >= 0
  detections = {
    "boxes": answer["boxes"][there],
    "scores": answer["scores"][there],
    "classes": classes[there],
  }
  if "masks" in answer:
    detections["masks"] = answer["masks"][there, 0]
  if "keypoints" in answer:  # `by_picture` says that it takes none
    detections["keypoints"] = answer["keypoints"][there]
  return detections


def from_queries(
  name: str,
  answer: Mapping[str, np.ndarray],
  classes_by_id: Mapping[int, int],
  num_labels: int,
  size: tuple[int, int],
) -> Detections:
  """Convert the detections of one picture from the queries of a DETR or its successors.

  One logit more than labels is DETR's "no object": scores are the softmax, and
  each query gives one detection of its most likely label. Networks with as many
  logits as labels are trained with the focal loss (Zhu et al. 2021, Deformable
  DETR): scores are sigmoids, and each query gives a detection of every label.

  Args:
    name: name of the model, for errors.
    answer: `logits` `[queries, labels or labels + 1]`, `pred_boxes` `[queries,
      4]` (centre x, centre y, width, height, as shares of the picture).
    classes_by_id: label id -> class, see `label_ids.classes`.
    num_labels: number of labels of the model.
    size: (height, width) of the picture in px.

  Returns:
    `boxes` `[n, 4]` (x1, y1, x2, y2 in px), `scores`, `classes`; ids of no
    class are left out.

  Raises:
    UserError: the number of logits or of label ids does not fit the labels.
  """
  logits = np.asarray(answer["logits"], np.float64)
  if set(classes_by_id) != set(range(num_labels)):
    raise errors.UserError(
      f"{name} has {num_labels} labels, ids 0..{num_labels - 1}, and labels="
      f" names {min(classes_by_id)}..{max(classes_by_id)}: say what each id stands for."
    )
  if logits.shape[1] == num_labels + 1:
    chances = _softmax(logits)[:, :-1]
    queries, ids = np.arange(len(chances)), chances.argmax(axis=1)
  elif logits.shape[1] == num_labels:
    chances = 1 / (1 + np.exp(-logits))
    queries, ids = (n.ravel() for n in np.indices(chances.shape))
  else:
    raise errors.UserError(
      f"{name} gave {logits.shape[1]} logits a box, expected its {num_labels}"
      " labels, or one more for no object."
    )
  scores = chances[queries, ids]
  corners = _corners(np.asarray(answer["pred_boxes"], np.float64), size)
  labelled = {"boxes": corners[queries], "scores": scores, "labels": ids}
  return from_boxes(name, labelled, classes_by_id)


def _softmax(logits: np.ndarray) -> np.ndarray:
  """Compute the softmax over the last axis."""
  powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
  total: np.ndarray = powers / powers.sum(axis=-1, keepdims=True)
  return total


def _corners(boxes: np.ndarray, size: tuple[int, int]) -> np.ndarray:
  """Convert centres and sides, as shares of the picture, to x1, y1, x2, y2 in px."""
  centre, half = boxes[:, :2], boxes[:, 2:] / 2
  height, width = size
  corners = np.concatenate([centre - half, centre + half], axis=1)
  return corners * np.array([width, height, width, height])
