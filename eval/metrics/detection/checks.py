"""What COCO's tools take without a word, refused; ids numbered from 1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np

from robust_tfds import errors


def ground_truth(gt: Mapping[str, Any], iou_type: str) -> dict[str, Any]:
  """A checked copy of a COCO instances dict, annotations numbered from 1.

  Boxes of zero area stay, as in COCO's own files: they are objects that hardly
  any detection can match.

  Raises:
    UserError: see `coco.coco_ap`.
  """
  for part in ("images", "annotations", "categories"):
    if part not in gt:
      raise errors.UserError(
        f"The ground truth has no {part!r}; it is no COCO dict."
      )
  images = _unique("image", gt["images"])
  categories = _unique("category", gt["categories"])
  _unique("annotation", gt["annotations"])
  annotations = []
  for number, annotation in enumerate(gt["annotations"], 1):
    what = f"Annotation {annotation['id']!r}"
    image = _known(what, "image", annotation["image_id"], images)
    _known(what, "category", annotation["category_id"], categories)
    box = _box(what, annotation.get("bbox"))
    copy = {
      **annotation,
      "id": number,
      "bbox": box,
      "area": float(annotation.get("area", box[2] * box[3])),
      "iscrowd": int(annotation.get("iscrowd", 0)),
    }
    if iou_type == "segm":
      _mask(what, annotation.get("segmentation"), image)
    annotations.append(copy)
  return {
    "info": {},
    "licenses": [],
    "images": list(gt["images"]),
    "annotations": annotations,
    "categories": list(gt["categories"]),
  }


def detections(
  truth: Mapping[str, Any], dt: Sequence[Mapping[str, Any]], iou_type: str
) -> list[dict[str, Any]]:
  """A checked copy of a COCO results list."""
  images = {i["id"]: i for i in truth["images"]}
  categories = {c["id"]: c for c in truth["categories"]}
  out = []
  for number, row in enumerate(dt):
    what = f"Detection {number}"
    for key in ("image_id", "category_id", "score"):
      if key not in row:
        raise errors.UserError(
          f"{what} has no {key!r}; it has {', '.join(row)}."
        )
    image = _known(what, "image", row["image_id"], images)
    _known(what, "category", row["category_id"], categories)
    if not math.isfinite(row["score"]):
      raise errors.UserError(
        f"{what} (image {row['image_id']!r}) has the score"
        f" {row['score']}; scores must be finite."
      )
    # COCO's tools read boxes before masks: only what is compared is passed on.
    copy = {k: row[k] for k in ("image_id", "category_id", "score")}
    if iou_type == "segm":
      _mask(what, row.get("segmentation"), image)
      copy["segmentation"] = row["segmentation"]
    else:
      copy["bbox"] = _box(what, row.get("bbox"))
    out.append(copy)
  return out


def detection_array(truth: Mapping[str, Any], dt: np.ndarray) -> np.ndarray:
  """A checked `[N, 7]` array of image_id, x, y, w, h, score, category_id."""
  if dt.ndim != 2 or dt.shape[1] != 7:
    raise errors.UserError(
      "Detections as an array are [N, 7] (image_id, x, y, w, h, score,"
      f" category_id), got {list(dt.shape)}."
    )
  out = np.asarray(dt, np.float64)
  bad = ~np.isfinite(out).all(axis=1) | (out[:, 3:5] < 0).any(axis=1)
  for column, kind in ((0, "images"), (6, "categories")):
    known = np.array([x["id"] for x in truth[kind]], np.float64)
    bad |= ~np.isin(out[:, column], known)
  if bad.any():
    i = int(np.argmax(bad))
    raise errors.UserError(
      f"Detection {i}, {out[i].tolist()}: every number must be finite, sides"
      " not negative, image and category known to the ground truth."
    )
  return out


def known_images(
  truth: Mapping[str, Any], image_ids: Sequence[int]
) -> list[int]:
  """Sorted ids; UserError for one that the ground truth does not have."""
  known = {i["id"] for i in truth["images"]}
  for i in image_ids:
    if i not in known:
      raise errors.UserError(f"image_ids: the ground truth has no image {i!r}.")
  return sorted(set(image_ids))


def _unique(
  kind: str, rows: Sequence[Mapping[str, Any]]
) -> dict[Any, Mapping[str, Any]]:
  out: dict[Any, Mapping[str, Any]] = {}
  for row in rows:
    if row["id"] in out:
      raise errors.UserError(f"Two {kind} entries have the id {row['id']!r}.")
    out[row["id"]] = row
  return out


def _known(what: str, kind: str, got: Any, known: Mapping[Any, Any]) -> Any:
  if got not in known:
    listed = ", ".join(map(repr, list(known)[:10]))
    more = " ..." if len(known) > 10 else ""
    raise errors.UserError(
      f"{what} is of {kind} {got!r}, which the ground truth does not have. Its"
      f" ids: {listed}{more}."
    )
  return known[got]


def _box(what: str, box: Any) -> list[float]:
  if box is None or len(box) != 4:
    raise errors.UserError(f"{what}: bbox [x, y, w, h] expected, got {box!r}.")
  numbers = [float(x) for x in box]
  if not all(map(math.isfinite, numbers)) or min(numbers[2:]) < 0:
    raise errors.UserError(
      f"{what}: bbox [x, y, w, h] with finite numbers and sides >= 0 expected,"
      f" got {box!r}."
    )
  return numbers


def _mask(what: str, mask: Any, image: Mapping[str, Any]) -> None:
  if isinstance(mask, Mapping):
    size = [image["height"], image["width"]]
    if list(mask.get("size", ())) != size:
      raise errors.UserError(
        f"{what}: a mask of size {mask.get('size')}, but image"
        f" {image['id']!r} is {size} (height, width)."
      )
  elif not mask:
    raise errors.UserError(
      f"{what} has no segmentation, which iou_type 'segm' needs."
    )
