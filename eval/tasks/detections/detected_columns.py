"""A cell's detection columns in the form that COCO's rules and VOC's need."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from eval.metrics.detection import checks
from robust_tfds import errors

Columns = Mapping[str, np.ndarray]
Truth = Mapping[str, Any]


def kinds(columns: Columns, truth: Truth) -> list[str]:
  """Return the IoU types that a cell's detections and its objects have."""
  objects = truth["annotations"]
  masks = "masks" in columns and any("segmentation" in o for o in objects)
  return ["bbox", "segm"] if masks else ["bbox"]


def image_ids(columns: Columns, truth: Truth) -> np.ndarray:
  """Return the image ids of the pictures that the detector was shown: int64 `[I]`."""
  return columns["image_id"]


def detections(
  iou_type: str, columns: Columns, truth: Truth
) -> checks.Detections:
  """Return a cell's detections in COCO's form, without padding.

  Args:
    iou_type: `bbox` or `segm`.
    columns: see `eval/tasks/detection.py`.
    truth: COCO instances dict.

  Raises:
    UserError: a detection of a class or picture that the truth does not have,
      or an invalid box or score.
  """
  category_ids = [c["id"] for c in truth["categories"]]  # by label
  row, place = _valid(columns, len(category_ids))
  category = np.array(category_ids)[columns["classes"][row, place]].tolist()
  score = columns["scores"][row, place].astype(np.float64)
  image = columns["image_id"][row].tolist()
  if iou_type == "bbox":
    box = columns["boxes"][row, place].astype(np.float64)
    box[:, 2:] = np.clip(box[:, 2:] - box[:, :2], 0, None)
    detections = checks.Detections(image, category, score, bbox=box)
    detections.check_boxes(truth)
    return detections
  size = {i["id"]: [i["height"], i["width"]] for i in truth["images"]}
  counts = _counts(columns, row, place)
  masks = [{"size": size[i], "counts": t} for i, t in zip(image, counts)]
  return checks.Detections(image, category, score, masks=masks)


def _valid(columns: Columns, classes: int) -> tuple[np.ndarray, np.ndarray]:
  """Return the rows and places of the detections, without padding."""
  row, place = np.nonzero(columns["classes"] >= 0)
  if len(row) and columns["classes"].max() >= classes:
    worst = int(np.argmax(columns["classes"].max(axis=1)))
    raise errors.UserError(
      f"Image {columns['image_id'][worst]}: a detection has the label"
      f" {columns['classes'].max()}; the data set has {classes} classes. Use a"
      " model of its label space."
    )
  return row, place


def _counts(columns: Columns, row: np.ndarray, place: np.ndarray) -> list[str]:
  """Return the run lengths of some detections."""
  texts = [text.split(" ") if text else [] for text in columns["masks"]]
  lengths = np.array([len(text) for text in texts])
  if np.any(place >= lengths[row]):
    lacking = row[np.argmax(place >= lengths[row])]
    raise errors.UserError(
      f"Image {columns['image_id'][lacking]}: got {lengths[lacking]} masks,"
      " expected one for each detection. The cell is damaged: compute it again."
    )
  return [texts[r][p] for r, p in zip(row, place)]


@dataclasses.dataclass(frozen=True)
class Corners:
  """Detected boxes in the form of VOC's rules, in their file's order.

  Attributes:
    image: int64 `[D]`, image ids.
    label: int64 `[D]`, indices into the truth's categories.
    box: float64 `[D, 4]`, x1, y1, x2, y2 of inclusive pixels.
    score: float64 `[D]`.
  """

  image: np.ndarray
  label: np.ndarray
  box: np.ndarray
  score: np.ndarray

  @classmethod
  def from_boxes(
    cls, image: np.ndarray, label: np.ndarray, box: np.ndarray, score: Any
  ) -> Corners:
    """Create them from boxes of pixel borders; the last pixel is inside."""
    inclusive = box - np.array([0.0, 0.0, 1.0, 1.0])
    scores = np.asarray(score, np.float64)
    return cls(image, label.astype(np.int64), inclusive, scores)


def corners(columns: Columns, truth: Truth) -> Corners:
  """Return a cell's boxes.

  Raises:
    UserError: see `detections`.
  """
  detections("bbox", columns, truth)
  row, place = _valid(columns, len(truth["categories"]))
  return Corners.from_boxes(
    columns["image_id"][row],
    columns["classes"][row, place],
    columns["boxes"][row, place].astype(np.float64),
    columns["scores"][row, place],
  )
