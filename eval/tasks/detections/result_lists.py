"""Cells of COCO results lists: columns of detections, exact to the last bit.

One row per detection, `D` in all:

  example_id   str          the image's id
  group_id     str          the same
  frame        int32        the detection's place in its image
  position     int64        its place in the list: it breaks ties in AP
  image_id     int64
  category_id  int64        as in the ground truth
  score        float64
  bbox         float64 [4]  x, y, width, height; absent if the list has none
  segmentation strings      COCO's mask as JSON; absent if the list has none
"""

import collections
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eval.metrics.detection import checks
from eval.tasks.detections.detected_columns import Corners
from robust_tfds import errors, reading
from robust_tfds.coco import rows as coco_rows

Columns = Mapping[str, np.ndarray]
# COCO's name of what is compared -> the key that holds it.
_KEYS = {"bbox": "bbox", "segm": "segmentation"}


def columns(results: Any, truth: Mapping[str, Any]) -> dict[str, np.ndarray]:
  """Return a results list as columns, checked.

  Args:
    results: COCO results: image_id, category_id, score, bbox or segmentation
      (or both).
    truth: COCO instances dict.

  Raises:
    UserError: not a results list, a detection without a box or mask while
      others have one, or one that does not fit the ground truth; the message
      names the first.
  """
  if not isinstance(results, list):
    raise errors.UserError(
      f"A COCO results list expected, got {coco_rows.quoted(results)}."
    )
  truth = checks.ground_truth(truth)
  detections_by_kind = {
    kind: checks.detections(truth, results, kind)
    for kind in _rows_kinds(results)
  }
  one = next(iter(detections_by_kind.values()))
  names = np.array([str(i) for i in one.image_id], np.str_)
  count: collections.Counter[int] = collections.Counter()
  places = []
  for image in one.image_id:
    places.append(count[image])
    count[image] += 1
  out = {
    "example_id": names,
    "group_id": names,
    "frame": np.array(places, np.int32),
    "position": np.arange(len(results), dtype=np.int64),
    "image_id": np.array(one.image_id, np.int64),
    "category_id": np.array(one.category_id, np.int64),
    "score": one.score,
  }
  for detections in detections_by_kind.values():
    if detections.bbox is not None:
      out["bbox"] = detections.bbox
    else:
      texts = [_text(mask) for mask in detections.masks or []]
      out["segmentation"] = np.array(texts, np.dtypes.StringDType())
  return out


def holds_results(columns_of_cell: Columns) -> bool:
  """Return whether a cell's columns are those of a results list."""
  return "category_id" in columns_of_cell


def kinds(columns_of_cell: Columns, truth: checks.Truth) -> list[str]:
  """Return the IoU types of a cell's detections: `bbox`, `segm`."""
  return [kind for kind, key in _KEYS.items() if key in columns_of_cell]


def _rows_kinds(results: Sequence[Any]) -> list[str]:
  """Return the IoU types that all detections have; `bbox` for an empty list."""
  rows = coco_rows.Rows.from_list(results, "Detection").rows
  out = []
  for kind, key in _KEYS.items():
    has_key = [key in d for d in rows]
    if any(has_key) and not all(has_key):
      raise errors.UserError(
        f"Detection {has_key.index(False)} has no {key!r}, detection"
        f" {has_key.index(True)} has one; all or none expected."
      )
    if any(has_key):
      out.append(kind)
  if rows and not out:
    raise errors.UserError("Detection 0 has neither a bbox nor a segmentation.")
  return out or ["bbox"]


def _text(mask: Mapping[str, Any]) -> str:
  """Return a mask as JSON."""
  height, width = mask["size"]
  counts = mask["counts"].replace("\\", "\\\\")  # the only one JSON escapes
  return f'{{"size": [{height}, {width}], "counts": "{counts}"}}'


def image_ids(columns_of_cell: Columns, truth: Mapping[str, Any]) -> np.ndarray:
  """Return the image ids of all pictures of the truth: int64 `[I]`."""
  return np.array([i["id"] for i in truth["images"]], np.int64)


def detections(
  kind: str, columns_of_cell: Columns, truth: Mapping[str, Any]
) -> checks.Detections:
  """Return the boxes or masks of the list, in its order.

  Args:
    kind: `bbox` or `segm`.
    columns_of_cell: the result of `columns`.
    truth: unused: the list was checked when it was read.
  """
  order = np.argsort(columns_of_cell["position"], kind="stable")
  image, category = (
    columns_of_cell[name][order].tolist()
    for name in ("image_id", "category_id")
  )
  score = columns_of_cell["score"][order]
  if kind == "bbox":
    box = columns_of_cell["bbox"][order]
    return checks.Detections(image, category, score, bbox=box)
  texts = columns_of_cell["segmentation"][order].tolist()
  masks = reading.json_text(f"[{','.join(texts)}]", "segmentation")
  return checks.Detections(image, category, score, masks=masks)


def corners(columns_of_cell: Columns, truth: Mapping[str, Any]) -> Corners:
  """Return the list's boxes for VOC's rules, in its order.

  Raises:
    UserError: the list has only masks.
  """
  if "bbox" not in columns_of_cell:
    raise errors.UserError("VOC's AP50 needs boxes; the results have masks.")
  label = {c["id"]: i for i, c in enumerate(truth["categories"])}
  order = np.argsort(columns_of_cell["position"], kind="stable")
  box = columns_of_cell["bbox"][order]
  box[:, 2:] += box[:, :2]
  categories = columns_of_cell["category_id"][order].tolist()
  return Corners.from_boxes(
    columns_of_cell["image_id"][order],
    np.array([label[c] for c in categories], np.int64),
    box,
    columns_of_cell["score"][order],
  )
