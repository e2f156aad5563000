"""The objects of a checked ground truth as columns, made once for all cells."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from eval.metrics.detection import checks, matches


def detected(
  detections: checks.Detections, truth: checks.Truth, ids: np.ndarray
) -> matches.Detected:
  """Return a cell's detections with indices of their pictures and classes.

  Args:
    truth: the ground truth that defines the classes.
    ids: int64 `[I]`, sorted image ids of the pictures.
  """
  label = {c: i for i, c in enumerate(truth.category_ids)}
  return matches.Detected(
    np.searchsorted(ids, np.asarray(detections.image_id, np.int64)),
    np.array([label[c] for c in detections.category_id], np.int64),
    detections.score,
    detections.bbox,
    detections.masks,
  )


def truth_objects(
  truth: checks.Truth, image_ids: np.ndarray, iou_type: str = "bbox"
) -> matches.Objects:
  """Return the objects of some pictures.

  Args:
    truth: the checked ground truth; it keeps the columns of its annotations.
    image_ids: int64 `[I]`, sorted, each once; objects have indices into it.
      Labels are indices of the truth's categories.
    iou_type: `segm` for run lengths as well; polygons are drawn as COCO draws
      them.

  Raises:
    UserError: an annotation has no mask.
  """
  checks.ground_truth(truth, iou_type)
  if iou_type not in truth.columns:
    truth.columns[iou_type] = _columns(truth, iou_type)
  ids, every = truth.columns[iou_type]
  shown = np.flatnonzero(np.isin(ids, image_ids))
  masks = every.masks
  return matches.Objects(
    image=np.searchsorted(image_ids, ids[shown]),
    label=every.label[shown],
    box=every.box[shown],
    area=every.area[shown],
    crowd=every.crowd[shown],
    masks=None if masks is None else [masks[i] for i in shown.tolist()],
  )


def _columns(
  truth: checks.Truth, iou_type: str
) -> tuple[np.ndarray, matches.Objects]:
  """Return the ids of the objects' pictures, and the objects of all pictures."""
  annotations = truth["annotations"]
  label = {c: i for i, c in enumerate(truth.category_ids)}
  ids = np.array([a["image_id"] for a in annotations], np.int64)
  boxes = np.array([a["bbox"] for a in annotations], np.float64)
  masks = None
  if iou_type == "segm":
    masks = [_runs(a, truth.sizes[a["image_id"]]) for a in annotations]
  return ids, matches.Objects(
    image=ids,
    label=np.array([label[a["category_id"]] for a in annotations], np.int64),
    box=boxes.reshape(-1, 4),
    area=np.array([a["area"] for a in annotations], np.float64),
    crowd=np.array([a["iscrowd"] for a in annotations], bool),
    masks=masks,
  )


def _runs(annotation: Mapping[str, Any], size: Any) -> Any:
  mask = annotation["segmentation"]
  return mask if isinstance(mask, dict) else checks.drawn(mask, size)
