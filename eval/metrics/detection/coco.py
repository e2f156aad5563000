"""COCO's average precision and recall, by pycocotools or by hotcoco.

Both give the same numbers to 1e-9; hotcoco is some forty times faster. Ids of
annotations are renumbered from 1 first: pycocotools takes a match with id 0 for
no match (docs/evidence/specs/detection.md section 3.2). Definitions: 10 IoU thresholds
from .50 to .95, 101 recall points, at most 100 detections an image and
category; crowds absorb detections. -1 stands for what is not defined (no object
in the range).
"""

import contextlib
import importlib.util
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eval.metrics.detection import checks
from robust_tfds import errors

STATS = (
  "AP",
  "AP50",
  "AP75",
  "APs",
  "APm",
  "APl",
  "AR1",
  "AR10",
  "AR100",
  "ARs",
  "ARm",
  "ARl",
)
BACKENDS = ("pycocotools", "hotcoco")
_ALL_AREAS, _MAX_DETECTIONS = 0, 2  # positions in the evaluation's arrays


def coco_ap(
  gt: Mapping[str, Any],
  dt: Sequence[Mapping[str, Any]] | np.ndarray | checks.Detections,
  iou_type: str = "bbox",
  *,
  use_categories: bool = True,
  image_ids: Sequence[int] | None = None,
  iou_thresholds: Sequence[float] | None = None,
  backend: str = "pycocotools",
) -> dict[str, Any]:
  """Compute COCO's 12 numbers, and AP of every category.

  Args:
    gt: COCO instances: `images` (id, width, height), `annotations` (id, image_id,
      category_id, bbox `[x, y, w, h]`, area, iscrowd, segmentation), `categories`
      (id, name). `area` defaults to that of the box, `iscrowd` to 0.
    dt: COCO results: image_id, category_id, score and bbox (or segmentation, run
      lengths or polygons); or an array `[N, 7]` of image_id, x, y, w, h, score,
      category_id; or what `checks.detections` made of them. May be empty. A score
      is any finite number.
    iou_type: `bbox` or `segm`.
    use_categories: False merges all categories into one (localisation).
    image_ids: the images to score; None: all.
    iou_thresholds: thresholds instead of .50:.05:.95; AP50 and AP75 are -1 if
      their threshold is not among them.
    backend: `pycocotools` or `hotcoco`.

  Returns:
    AP AP50 AP75 APs APm APl AR1 AR10 AR100 ARs ARm ARl, each in [0, 1] or -1; and
    `per_class`, category id -> AP, AP50, AR100 (empty without categories).

  Raises:
    MissingPackageError: the backend is not installed.
    UserError: the message names the first of these. An annotation or detection
      belongs to an image or category that `gt` does not have; an id is no whole
      number, or a duplicate; `iscrowd` is not 0 or 1; a box has negative or
      infinite sides, is beyond a million px, or lies outside its image; an area
      or score is not finite; a mask has another size than its image, its runs
      do not fill it, or its polygons lie far outside; or the iou_type, backend
      or a threshold is unknown.
  """
  if iou_type not in ("bbox", "segm"):
    raise errors.UserError(f"iou_type is 'bbox' or 'segm', got {iou_type!r}.")
  if backend not in BACKENDS:
    raise errors.UserError(f"backend is one of {BACKENDS}, got {backend!r}.")
  truth = checks.ground_truth(gt, iou_type)
  if isinstance(dt, np.ndarray):
    if iou_type == "segm":
      raise errors.UserError("Arrays hold boxes; masks need a list of results.")
    detections: Any = checks.detection_array(truth, dt)
  elif isinstance(dt, checks.Detections):
    if backend == "pycocotools":  # hotcoco is not C: broken masks do no harm
      dt.check_masks()
    detections = dt.rows()
  else:
    detections = checks.detections(truth, dt, iou_type).rows()
  load, evaluator = _backend(backend)
  with contextlib.redirect_stdout(io.StringIO()):
    theirs = load(truth)
    nothing = {**truth, "annotations": []}
    ours = theirs.loadRes(detections) if len(detections) else load(nothing)
    run = evaluator(theirs, ours, iou_type)
    run.params.useCats = int(use_categories)
    if image_ids is not None:
      run.params.imgIds = checks.known_images(truth, image_ids)
    if iou_thresholds is not None:
      run.params.iouThrs = checks.thresholds(iou_thresholds)
    run.evaluate()
    run.accumulate()
    precision = np.asarray(run.eval["precision"])
    recall = np.asarray(run.eval["recall"])
  thresholds = np.asarray(run.params.iouThrs)
  out: dict[str, Any] = _numbers(precision, recall, thresholds)
  ids = sorted(c["id"] for c in truth["categories"]) if use_categories else []
  out["per_class"] = {
    i: _class_numbers(precision[:, :, k], recall[:, k], thresholds)
    for k, i in enumerate(ids)
  }
  return out


def fastest() -> str:
  """Return the fast backend if it is installed, else the default one."""
  return "hotcoco" if importlib.util.find_spec("hotcoco") else "pycocotools"


def _numbers(
  precision: np.ndarray, recall: np.ndarray, thresholds: np.ndarray
) -> dict[str, float]:
  """Compute COCOeval's summary.

  The axes are threshold, recall, category, area and detections.
  """
  ap = {
    name: _mean(_select(precision, thresholds, iou)[..., area, _MAX_DETECTIONS])
    for name, iou, area in (
      ("AP", None, 0),
      ("AP50", 0.5, 0),
      ("AP75", 0.75, 0),
      ("APs", None, 1),
      ("APm", None, 2),
      ("APl", None, 3),
    )
  }
  ar = {
    name: _mean(recall[..., area, most])
    for name, area, most in (
      ("AR1", 0, 0),
      ("AR10", 0, 1),
      ("AR100", 0, 2),
      ("ARs", 1, 2),
      ("ARm", 2, 2),
      ("ARl", 3, 2),
    )
  }
  return {**ap, **ar}


def _class_numbers(
  precision: np.ndarray, recall: np.ndarray, thresholds: np.ndarray
) -> dict[str, float]:
  whole = precision[..., _ALL_AREAS, _MAX_DETECTIONS]
  return {
    "AP": _mean(whole),
    "AP50": _mean(_select(whole, thresholds, 0.5)),
    "AR100": _mean(recall[..., _ALL_AREAS, _MAX_DETECTIONS]),
  }


def _select(
  values: np.ndarray, thresholds: np.ndarray, iou: float | None
) -> np.ndarray:
  return values if iou is None else values[np.isclose(thresholds, iou)]


def _mean(values: np.ndarray) -> float:
  defined = values[values > -1]
  return float(np.mean(defined)) if defined.size else -1.0


def _backend(name: str) -> tuple[Callable[[dict], Any], Any]:
  """Return the function that loads a COCO dict, and the class that evaluates."""
  try:
    if name == "hotcoco":
      import hotcoco

      return hotcoco.COCO, hotcoco.COCOeval
    from pycocotools import coco, cocoeval
  except ImportError as e:
    raise errors.missing_package_error(name, "detection", "COCO AP") from e

  def load(dataset: dict) -> Any:
    loaded = coco.COCO()
    loaded.dataset = dataset
    loaded.createIndex()
    return loaded

  return load, cocoeval.COCOeval
