"""A cell's detections as COCO's numbers or VOC's AP50."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Literal

import numpy as np

from robust_tfds import errors
from robust_tfds.eval.metrics import detection
from robust_tfds.eval.metrics.detection import checks
from robust_tfds.eval.metrics.detection import coco

Columns = Mapping[str, np.ndarray]
Truth = Mapping[str, Any]


def coco_numbers(
  iou_type: Literal["bbox", "segm"], columns: Columns, truth: Truth
) -> dict[str, float]:
  """`<iou_type>/AP` and COCO's other numbers of one cell.

  Args:
    iou_type: `bbox` or `segm`.
    columns: see `eval/tasks/detection.py`.
    truth: COCO instances dict.

  Raises:
    UserError: a detection of a class that the truth does not have.
  """
  category_ids = [c["id"] for c in truth["categories"]]  # by label
  row, place = _valid(columns, len(category_ids))
  category = np.array(category_ids)[columns["classes"][row, place]]
  box = columns["boxes"][row, place].astype(np.float64)
  box[:, 2:] = np.clip(box[:, 2:] - box[:, :2], 0, None)
  score = columns["scores"][row, place].astype(np.float64)
  image = columns["image_id"][row]
  if iou_type == "bbox":
    results: Any = np.column_stack([image, box, score, category])
  else:
    counts = _counts(columns, row, place)
    size = {i["id"]: [i["height"], i["width"]] for i in truth["images"]}
    results = checks.Detections(
      image.tolist(),
      category.tolist(),
      score,
      masks=[
        {"size": size[i], "counts": text}
        for i, text in zip(image.tolist(), counts)
      ],
    )
  numbers = detection.coco_ap(
    truth,
    results,
    iou_type,
    image_ids=columns["image_id"].tolist(),
    backend=coco.fastest(),
  )
  return {f"{iou_type}/{name}": numbers[name] for name in coco.STATS}


def _valid(columns: Columns, classes: int) -> tuple[np.ndarray, np.ndarray]:
  """Rows and places of the detections that are there."""
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
  """The run lengths of some detections."""
  texts = [text.split(" ") if text else [] for text in columns["masks"]]
  lengths = np.array([len(text) for text in texts])
  if np.any(place >= lengths[row]):
    lacking = row[np.argmax(place >= lengths[row])]
    raise errors.UserError(
      f"Image {columns['image_id'][lacking]}: {lengths[lacking]} masks of more"
      " detections. The cell is damaged: compute it again."
    )
  return [texts[r][p] for r, p in zip(row, place)]


def voc_ap50(columns: Columns, truth: Truth) -> float:
  """VOC2007's AP50 of one cell."""
  row, place = _valid(columns, len(truth["categories"]))
  return voc_ap50_of_boxes(
    truth,
    set(columns["image_id"].tolist()),
    image=columns["image_id"][row],
    label=columns["classes"][row, place],
    box=columns["boxes"][row, place].astype(np.float64),
    score=columns["scores"][row, place],
  )


def voc_ap50_of_boxes(
  truth: Truth,
  image_ids: Collection[int],
  *,
  image: np.ndarray,
  label: np.ndarray,
  box: np.ndarray,
  score: np.ndarray,
) -> float:
  """VOC2007's AP50 of some detections.

  Args:
    truth: COCO instances dict.
    image_ids: of all images that the detector was shown.
    image: int `[D]`, the detections' images.
    label: int `[D]`, places among the truth's categories.
    box: float64 `[D, 4]`, x1, y1, x2, y2 of pixels' borders.
    score: float `[D]`.
  """
  # Boxes of pixels' borders become inclusive: the last pixel is inside.
  inclusive = box - np.array([0.0, 0.0, 1.0, 1.0])
  results = [
    {"image": int(i), "label": int(c), "bbox": b, "score": float(s)}
    for i, c, b, s in zip(image, label, inclusive.tolist(), score)
  ]
  objects = _voc_objects(truth, image_ids)
  names = [c["name"] for c in truth["categories"]]
  return detection.voc_ap50(objects, results, names)["mean"]


def _voc_objects(truth: Truth, image_ids: Collection[int]) -> list[dict]:
  label = {c["id"]: i for i, c in enumerate(truth["categories"])}
  return [
    {
      "image": a["image_id"],
      "label": label[a["category_id"]],
      "bbox": _inclusive(a["bbox"]),
      "difficult": a.get("difficult", 0),
    }
    for a in truth["annotations"]
    if a["image_id"] in image_ids
  ]


def _inclusive(box: Sequence[float]) -> list[float]:
  x, y, width, height = box
  return [x, y, x + width - 1, y + height - 1]
