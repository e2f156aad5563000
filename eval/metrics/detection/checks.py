"""Checks of rows that COCO's tools would accept silently.

Ids are numbered from 1.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from robust_tfds import errors
from robust_tfds.coco import rle
from robust_tfds.coco import rows as coco_rows

_MAX_EXACT = 1 << 53  # whole numbers below are exact in float64
_OUTSIDE_PX = 1.0  # annotators round, VOC counts from 1


class Truth(dict):
  """A COCO instances dict that was checked; it is not checked again.

  Attributes:
    sizes: (height, width) by image id, None if the image does not state it.
    category_ids: ids in the order of the categories.
    has_masks: whether the annotations' masks were checked too.
    columns: the columns that `objects.truth_objects` made from its annotations.
  """

  sizes: dict[int, tuple[int, int] | None]
  category_ids: list[int]
  has_masks: bool = False
  columns: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Detections:
  """A COCO results list that was checked, as columns.

  Attributes:
    image_id: image of each detection.
    category_id: category of each detection.
    score: float64 `[N]`.
    bbox: x, y, width, height, float64 `[N, 4]`; None for masks.
    masks: {size, counts} of each, COCO's compressed string; None for boxes.
  """

  image_id: list[int]
  category_id: list[int]
  score: np.ndarray
  bbox: np.ndarray | None = None
  masks: list[Any] | None = None

  def check_masks(self) -> None:
    """Refuse masks that C code must not be given."""
    rows = [{"segmentation": mask} for mask in self.masks or []]
    sizes = [rle.check_size(mask["size"]) for mask in self.masks or []]
    coco_rows.Rows(rows, "Detection").masks(sizes, polygons=drawn)

  def check_boxes(self, truth: Mapping[str, Any]) -> None:
    """Refuse boxes, scores and ids that `coco.coco_ap` refuses."""
    rows = self.rows()
    if isinstance(rows, np.ndarray):
      detection_array(truth, rows)
    else:
      detections(truth, rows, "bbox")

  def rows(self) -> Any:
    """Return the input of COCO's tools: an array of boxes, or a list of masks."""
    most = max((*self.image_id, *self.category_id), default=0)
    if self.bbox is not None and most < _MAX_EXACT:
      ids = np.array([self.image_id, self.category_id], np.float64)
      return np.column_stack([ids[0], self.bbox, self.score, ids[1]])
    key, shapes = "segmentation", self.masks
    if self.bbox is not None:
      key, shapes = "bbox", self.bbox.tolist()
    return [
      {"image_id": i, "category_id": c, "score": s, key: shape}
      for i, c, s, shape in zip(
        self.image_id, self.category_id, self.score.tolist(), shapes or []
      )
    ]


def ground_truth(gt: Mapping[str, Any], iou_type: str = "bbox") -> Truth:
  """Return a checked copy of a COCO instances dict, annotations numbered from 1.

  Boxes of zero area stay, as in COCO's own files: they are objects that hardly
  any detection can match.

  Args:
    gt: the dict; a checked one is not copied.
    iou_type: `segm` checks the masks too.

  Raises:
    UserError: see `coco.coco_ap`.
  """
  truth = gt if isinstance(gt, Truth) else _truth(gt)
  if iou_type == "segm" and not truth.has_masks:
    _need_masks(truth)
  return truth


def check_masks(truth: Truth) -> None:
  """Refuse broken masks of the annotations that have one.

  Boxes are scored without them; yet a file with broken ones is a broken file.

  Raises:
    UserError: see `coco.coco_ap`.
  """
  rows, sizes = [], []
  for annotation in truth["annotations"]:
    size = truth.sizes[annotation["image_id"]]
    if annotation.get("segmentation") and size is not None:
      rows.append(annotation)
      sizes.append(size)
  coco_rows.Rows(rows, "Annotation", "id").masks(sizes, polygons=_sound)


def detections(
  truth: Mapping[str, Any], dt: Sequence[Mapping[str, Any]], iou_type: str
) -> Detections:
  """Return a checked COCO results list: its boxes, or its masks.

  Raises:
    UserError: see `coco.coco_ap`.
  """
  truth = ground_truth(truth)
  rows = coco_rows.Rows.from_list(dt, "Detection")
  image_id = rows.known_ids("image_id", "image", truth.sizes)
  category_id = rows.known_ids("category_id", "category", truth.category_ids)
  score = rows.numbers("score", "scores must be finite numbers")
  if iou_type == "bbox":
    return Detections(image_id, category_id, score, bbox=rows.boxes())
  sizes = [truth.sizes[i] for i in image_id]
  masks = rows.masks(sizes, polygons=drawn)
  return Detections(image_id, category_id, score, masks=masks)


def detection_array(truth: Mapping[str, Any], dt: np.ndarray) -> np.ndarray:
  """Return `[N, 7]`: image_id, x, y, w, h, score, category_id, checked."""
  if dt.ndim != 2 or dt.shape[1] != 7 or dt.dtype.kind not in "iuf":
    raise errors.UserError(
      "Detections as an array are numbers [N, 7] (image_id, x, y, w, h, score,"
      f" category_id), got {dt.dtype} {list(dt.shape)}."
    )
  out = np.asarray(dt, np.float64)
  bad = ~np.isfinite(out).all(axis=1) | (out[:, 3:5] < 0).any(axis=1)
  bad |= (np.abs(out[:, 1:5]) > coco_rows.FARTHEST_PX).any(axis=1)
  for column, kind in ((0, "images"), (6, "categories")):
    known = np.array([x["id"] for x in truth[kind]], np.float64)
    bad |= ~np.isin(out[:, column], known) | (out[:, column] >= _MAX_EXACT)
  if bad.any():
    i = int(np.argmax(bad))
    raise errors.UserError(
      f"Detection {i}, {out[i].tolist()}: every number must be finite, sides"
      f" not negative, no side beyond {coco_rows.FARTHEST_PX:.0f} px, image and"
      " category known to the ground truth."
    )
  return out


def known_images(truth: Mapping[str, Any], image_ids: Any) -> list[int]:
  """Return sorted ids; UserError for one that the ground truth does not have."""
  if isinstance(image_ids, (str, bytes)) or not isinstance(image_ids, Iterable):
    raise errors.UserError(
      f"image_ids: a list of ids expected, got {coco_rows.quoted(image_ids)}."
    )
  rows = coco_rows.Rows([{"id": i} for i in image_ids], "image_ids")
  known = {i["id"] for i in truth["images"]}
  ids = sorted(set(rows.ids("id")))
  for i in ids:
    if i not in known:
      raise errors.UserError(f"image_ids: the ground truth has no image {i!r}.")
  return ids


def thresholds(iou_thresholds: Any) -> np.ndarray:
  """Return IoU thresholds as float64 `[N]`.

  Raises:
    UserError: there are none, or they are not increasing numbers above 0 and up
      to 1.
  """
  try:
    values = np.asarray(iou_thresholds)
  except ValueError:  # lists of unequal lengths
    values = np.array(None)
  if (
    values.dtype.kind not in "iuf"
    or values.ndim != 1
    or not len(values)
    or not np.all((values > 0) & (values <= 1))
    or np.any(np.diff(values) <= 0)
  ):
    raise errors.UserError(
      "iou_thresholds: increasing numbers above 0 and up to 1 expected, got"
      f" {coco_rows.quoted(iou_thresholds)}."
    )
  return values.astype(np.float64)


def _truth(gt: Any) -> Truth:
  for part in ("images", "annotations", "categories"):
    if not isinstance(gt, Mapping) or part not in gt:
      raise errors.UserError(
        f"The ground truth has no {part!r}; it is no COCO dict of images,"
        " annotations and categories."
      )
  images = coco_rows.Rows.from_list(gt["images"], "Image", field="images")
  categories = coco_rows.Rows.from_list(
    gt["categories"], "Category", field="categories"
  )
  sizes = dict(zip(images.unique("id"), images.sizes(), strict=True))
  category_ids = categories.unique("id")
  truth = Truth(
    info={},
    licenses=[],
    images=_numbered(images, sizes),
    annotations=_annotations(gt["annotations"], sizes, category_ids),
    categories=_numbered(categories, category_ids),
  )
  truth.sizes, truth.category_ids = sizes, category_ids
  truth.columns = {}
  return truth


def _numbered(rows: coco_rows.Rows, ids: Any) -> list[dict[str, Any]]:
  return [{**row, "id": i} for row, i in zip(rows.rows, ids, strict=True)]


def _annotations(
  listed_rows: Any, sizes: Mapping[int, Any], category_ids: Sequence[int]
) -> list[dict[str, Any]]:
  rows = coco_rows.Rows.from_list(
    listed_rows, "Annotation", "id", "annotations"
  )
  rows.unique("id")
  image_id = rows.known_ids("image_id", "image", sizes)
  category_id = rows.known_ids("category_id", "category", category_ids)
  boxes = rows.boxes()
  _check_inside(rows, boxes, [sizes[i] for i in image_id])
  crowd = rows.flags("iscrowd")
  areas = rows.areas(boxes)
  if any("difficult" in row for row in rows.rows):
    rows.flags("difficult")
  return [
    {
      **row,
      "id": number,
      "image_id": image,
      "category_id": category,
      "bbox": box,
      "area": area,
      "iscrowd": int(is_crowd),
    }
    for number, (row, image, category, box, area, is_crowd) in enumerate(
      zip(
        rows.rows, image_id, category_id, boxes.tolist(), areas.tolist(), crowd
      ),
      1,
    )
  ]


def _check_inside(
  rows: coco_rows.Rows,
  boxes: np.ndarray,
  sizes: Sequence[tuple[int, int] | None],
) -> None:
  """Refuse objects beside their picture; they may reach out of it."""
  if not len(boxes):
    return
  far = (np.inf, np.inf)
  height, width = np.array([far if s is None else s for s in sizes]).T
  x, y, w, h = boxes.T
  outside = (x > width + _OUTSIDE_PX) | (y > height + _OUTSIDE_PX)
  outside |= (x + w < -_OUTSIDE_PX) | (y + h < -_OUTSIDE_PX)
  if outside.any():
    i = int(np.argmax(outside))
    raise errors.UserError(
      f"{rows.name(i)}: bbox {boxes[i].tolist()} lies outside its image of"
      f" {width[i]:.0f} x {height[i]:.0f} px. Is it another image's?"
    )


def _need_masks(truth: Truth) -> None:
  rows = coco_rows.Rows.from_list(truth["annotations"], "Annotation", "id")
  sizes = [truth.sizes[a["image_id"]] for a in truth["annotations"]]
  masks = rows.masks(sizes, polygons=_sound)
  for annotation, mask in zip(truth["annotations"], masks, strict=True):
    annotation["segmentation"] = mask
  truth.has_masks = True


def _sound(polygons: Any, size: tuple[int, int]) -> Any:
  """Return the polygons, which COCO's tools draw themselves, after checks."""
  rle.check_polygons(polygons, size)
  return polygons


def drawn(polygons: Any, size: tuple[int, int]) -> dict[str, Any]:
  """Draw polygons as run lengths, as COCO's tools take detections."""
  mask = rle.from_polygons(polygons, size)
  return {"size": list(mask.size), "counts": mask.counts}
