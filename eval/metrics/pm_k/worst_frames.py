"""pm-k for detection and localisation: mAP on each anchor's worst frame.

For every anchor, the frame with the lowest own AP is chosen from the anchor and
its similar frames; mAP is computed once on the anchors and once on the chosen
frames (Shankar et al. 2019, section 2.2). What the paper leaves open is settled
as in docs/evidence/specs/detection.md section 6:

* AP is COCO's (101 recalls) at one IoU, 100 detections an image and category;
* a frame's AP is the mean over the categories in its own ground truth (crowds do
  not count), so detections of absent categories do not influence the choice;
* a frame with objects and no detections has AP 0; a frame without objects is no
  candidate, and if no candidate is left the anchor stays;
* among equal APs (to 1e-12), the nearest frame is taken, then the earlier one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from eval.metrics import arguments
from eval.metrics.detection import left_out, matches
from robust_tfds import conditions, errors

IOU = 0.5  # the paper states none: docs/evidence/specs/detection.md section 6
# docs/evidence/specs/detection.md section 6: APs are compared to 12 digits.
_DIGITS = 12
_IDS = ("image_id", "category_id")
_OF_GT = frozenset({*_IDS, "bbox"})
_OF_DT = _OF_GT | {"score"}
_FARTHEST = 1e9  # px: beyond any picture
_ANY_AREA = (0.0, np.inf)


def detection(
  gt: Iterable[Mapping],
  dt: Iterable[Mapping],
  anchors: Sequence[Mapping],
  frame_index: Mapping,
  *,
  iou: float = IOU,
  class_agnostic: bool = False,
) -> dict:
  """Compute mAP on the anchors and on their worst frames.

  Args:
    gt: COCO annotation rows: `image_id`, `category_id`, `bbox` [x, y, w, h] in
      pixels, optionally `iscrowd`.
    dt: COCO result rows: `image_id`, `category_id`, `bbox`, `score`.
    anchors: `{"anchor": image id, "candidates": [image ids]}` each; the anchor
      itself is always a candidate. Images outside all sets are left out.
    frame_index: image id -> number of the frame in its video; it breaks ties.
    iou: the smallest overlap at which a detection fits an object.
    class_agnostic: whether to merge all categories into one: localisation.

  Returns:
    `map_orig` and `map_pmk`, fractions (nan where no frame has objects), and
    `selected`, anchor id -> chosen image id. `map_pmk <= map_orig` is usual,
    not guaranteed: frames are chosen by their own AP, not by the pooled AP.

  Raises:
    UserError: there are no anchors, an anchor is given twice, a frame has no
      frame index, the IoU is outside (0, 1], a row lacks a field, its box,
      score, ids or `iscrowd` are malformed, or its image is unknown.
  """
  arguments.flag("class_agnostic", class_agnostic)
  if not 0 < arguments.number("iou", iou) <= 1:
    raise errors.UserError(f"iou must lie in (0, 1], got {iou}.")
  sets = _checked_anchors(anchors)
  index = _indices(sets, arguments.mapping("frame_index", frame_index))
  gt, dt = _rows(gt, dt)
  _check_known(gt, frame_index, "ground truth")
  _check_known(dt, frame_index, "list of detections")
  gt, dt = ([r for r in rows if r["image_id"] in index] for rows in (gt, dt))
  frames = Frames.from_rows(gt, dt, iou, class_agnostic)
  selected = frames.worst(sets, index)
  return {
    "map_orig": frames.mean_ap(selected.keys()),
    "map_pmk": frames.mean_ap(selected.values()),
    "selected": selected,
  }


def frame_ap(
  gt: Iterable[Mapping],
  dt: Iterable[Mapping],
  *,
  iou: float = IOU,
  class_agnostic: bool = False,
) -> dict:
  """Compute the AP of each frame alone, by image id; frames with objects only.

  Args:
    gt: as in `detection`.
    dt: as in `detection`.
    iou: as in `detection`.
    class_agnostic: as in `detection`.
  """
  return Frames.from_rows(*_rows(gt, dt), iou, class_agnostic).aps()


def _worst(
  anchor: Any,
  candidates: Sequence[Any],
  index: Mapping[Any, int],
  aps: Mapping[Any, float],
) -> Any:
  """Return the candidate with the lowest own AP."""
  ranked = [
    (
      round(aps[image], _DIGITS),
      abs(index[image] - index[anchor]),
      index[image],
      image,
    )
    for image in candidates
    if image in aps
  ]
  return min(ranked)[-1] if ranked else anchor


@dataclasses.dataclass(frozen=True)
class Frames:
  """The frames whose detections were matched once.

  Attributes:
    images: sorted ids; the matches hold indices into it.
    categories: number of categories.
    matched: matches of detections with objects, at one IoU.
  """

  images: Sequence[Any]
  categories: int
  matched: matches.Matches

  @classmethod
  def from_objects(
    cls,
    images: Sequence[Any],
    categories: int,
    objects: matches.Objects,
    detected: matches.Detected,
    *,
    iou: float = IOU,
    class_agnostic: bool = False,
  ) -> Frames:
    """Match detections with the objects of their frame and category.

    Args:
      images: sorted ids.
      categories: number of categories; labels are below.
      objects: objects, with indices of their images.
      detected: detections, with indices of their images.
      iou: as in `detection`.
      class_agnostic: as in `detection`.
    """
    if class_agnostic:
      one, other = (np.zeros_like(x.label) for x in (objects, detected))
      objects = dataclasses.replace(objects, label=one)
      detected = dataclasses.replace(detected, label=other)
    matcher = matches.Matcher(objects, detected, np.array([float(iou)]))
    return cls(images, categories, matcher.within(_ANY_AREA))

  @classmethod
  def from_rows(
    cls,
    gt: Sequence[Mapping],
    dt: Sequence[Mapping],
    iou: float,
    class_agnostic: bool,
  ) -> Frames:
    """Match the detections and objects of COCO's rows, see `from_objects`.

    Raises:
      UserError: a box or a score is malformed.
    """
    images = sorted({row["image_id"] for row in (*gt, *dt)})
    names = sorted({row["category_id"] for row in (*gt, *dt)})
    place = {image: i for i, image in enumerate(images)}
    label = {name: i for i, name in enumerate(names)}

    def ids(rows: Sequence[Mapping]) -> tuple[np.ndarray, np.ndarray]:
      return (
        np.array([place[r["image_id"]] for r in rows], np.int64),
        np.array([label[r["category_id"]] for r in rows], np.int64),
      )

    boxes = _boxes(gt)
    crowd = np.array([bool(r.get("iscrowd", 0)) for r in gt], bool)
    return cls.from_objects(
      images,
      len(names),
      matches.Objects(*ids(gt), boxes, boxes[:, 2:].prod(1), crowd),
      matches.Detected(*ids(dt), _scores(dt), _boxes(dt)),
      iou=iou,
      class_agnostic=class_agnostic,
    )

  def worst(
    self, sets: Mapping[Any, Sequence], index: Mapping[Any, int]
  ) -> dict[Any, Any]:
    """Return the candidate with the lowest own AP, by anchor.

    Args:
      sets: the candidates of each anchor, itself among them.
      index: image id -> number of the frame in its video.
    """
    aps = self.aps()
    return {
      anchor: _worst(anchor, candidates, index, aps)
      for anchor, candidates in sets.items()
    }

  def aps(self) -> dict[Any, float]:
    """Compute the AP of each frame alone, the mean over its categories.

    Frames without objects are left out.
    """
    matched, number = self.matched, self.categories
    pair = matched.image * number + matched.label
    order = np.argsort(pair, kind="stable")
    image, label = matched.objects
    pairs = np.stack([image, image * number + label])
    alone = dataclasses.replace(matched.select(order), label=pair[order])
    got = left_out.numbers(
      dataclasses.replace(alone, objects=pairs),
      np.zeros(len(self.images), np.int64),
      number * len(self.images),
    )
    frame_precision = got.precision[:, 0, 0].reshape(len(self.images), number)
    return {
      self.images[i]: float(
        np.mean(frame_precision[i][~np.isnan(frame_precision[i])])
      )
      for i in np.unique(image).tolist()
    }

  def mean_ap(self, images: Iterable[Any]) -> float:
    """Compute the mean over categories.

    An image that stands for two anchors counts once.
    """
    one_block = np.zeros(len(self.images), np.int64)
    precision = self.precision(images, one_block).precision[:, 0, 0]
    defined = precision[~np.isnan(precision)]
    return float(np.mean(defined)) if len(defined) else float("nan")

  def precision(
    self, images: Iterable[Any], blocks: np.ndarray
  ) -> left_out.Numbers:
    """Compute AP over some of the images, and without each block of them.

    Args:
      images: ids; an image that stands for two anchors counts once.
      blocks: int `[I]`, the block of every image of `self.images`.
    """
    matched = self.matched
    shown = set(images)
    chosen = np.array([image in shown for image in self.images], bool)
    some = dataclasses.replace(
      matched.select(chosen[matched.image]),
      objects=matched.objects[:, chosen[matched.objects[0]]],
    )
    return left_out.numbers(some, blocks, self.categories)


def _rows(
  gt: Iterable[Mapping], dt: Iterable[Mapping]
) -> tuple[list[Mapping], list[Mapping]]:
  """Return both lists after checks of fields and ids."""
  out = []
  for what, rows, fields in (("gt", gt, _OF_GT), ("dt", dt, _OF_DT)):
    if isinstance(rows, (Mapping, str)) or not isinstance(rows, Iterable):
      raise errors.UserError(
        f"{what} must be a list of rows, got {type(rows).__name__}; from a COCO"
        " file take its 'annotations'."
      )
    out.append(list(rows))
    for i, row in enumerate(out[-1]):
      _check_row(f"{what}, row {i}", row, fields)
  for field in _IDS:
    if len({_kind(type(row[field])) for rows in out for row in rows}) > 1:
      raise errors.UserError(
        f"{field}: all ids must be whole numbers, or all texts; got both."
      )
  return out[0], out[1]


def _kind(id_type: type) -> str:
  """Return the kind of ids of a type; '' if it is no type of ids."""
  if issubclass(id_type, str):
    return "text"
  whole = issubclass(id_type, (int, np.integer)) and not issubclass(
    id_type, bool
  )
  return "number" if whole else ""


def _check_row(where: str, row: Any, fields: frozenset[str]) -> None:
  """Refuse a row without its fields, or with malformed ids or `iscrowd`."""
  if not isinstance(row, Mapping):
    raise errors.UserError(f"{where}: a dict expected, got {row!r}.")
  for field in sorted(fields - row.keys()):
    raise errors.UserError(f"{where}: {field!r} is missing.")
  for field in _IDS:
    if not _kind(type(row[field])):
      raise errors.UserError(
        f"{where}: {field} must be a whole number or a text, got"
        f" {row[field]!r}."
      )
  crowd = row.get("iscrowd", 0)
  if not isinstance(crowd, Hashable) or crowd not in (0, 1):
    raise errors.UserError(f"{where}: iscrowd must be 0 or 1, got {crowd!r}.")


def _check_known(
  rows: Iterable[Mapping], frame_index: Mapping, kind: str
) -> None:
  for image in {row["image_id"] for row in rows}:
    if image not in frame_index and str(image) not in frame_index:
      raise errors.UserError(
        f"The {kind} holds image {image!r}, which has no frame index. Ids must"
        " be those of the anchors and candidates."
      )


def _scores(rows: Sequence[Mapping]) -> np.ndarray:
  """Return the scores: float64 `[N]`."""
  scores = _column(rows, "score", ())
  if scores is not None and np.isfinite(scores).all():
    return scores
  each = ((r["image_id"], _column([r], "score", ())) for r in rows)
  image = next(i for i, s in each if s is None or not np.isfinite(s).all())
  raise errors.UserError(f"A score of image {image!r} is no finite number.")


def _boxes(rows: Sequence[Mapping]) -> np.ndarray:
  """Return the boxes x, y, width, height: float64 `[N, 4]`."""
  boxes = _column(rows, "bbox", (4,))
  if boxes is None:
    row = next(r for r in rows if _column([r], "bbox", (4,)) is None)
    raise errors.UserError(
      f"A box of image {row['image_id']!r} is not [x, y, w, h] in pixels:"
      f" {row['bbox']}."
    )
  wrong = ~(np.abs(boxes) < _FARTHEST).all(1) | (boxes[:, 2:] < 0).any(1)
  if wrong.any():
    i = int(np.argmax(wrong))
    raise errors.UserError(
      f"A box of image {rows[i]['image_id']!r} is not finite, or its width or"
      f" height is below 0: {boxes[i].tolist()}."
    )
  return boxes


def _column(
  rows: Sequence[Mapping], field: str, shape: tuple[int, ...]
) -> np.ndarray | None:
  """Return a field of all rows: float64 `[N, ...]`; None if a shape is wrong."""
  try:
    values = np.array([row[field] for row in rows], np.float64)
  except (TypeError, ValueError):
    return None
  if not rows:
    return values.reshape(0, *shape)
  return values if values.shape == (len(rows), *shape) else None


def _checked_anchors(anchors: Sequence[Mapping]) -> dict[Any, list]:
  if not anchors:
    raise errors.UserError("pm-k needs at least one anchor, got none.")
  sets = {}
  for i, entry in enumerate(anchors):
    if not isinstance(entry, Mapping) or not {"anchor", "candidates"} <= set(
      entry
    ):
      raise errors.UserError(
        f"anchors, entry {i}: {{'anchor': id, 'candidates': [ids]}} expected, got"
        f" {entry!r}."
      )
    anchor = entry["anchor"]
    if not isinstance(entry["candidates"], (list, tuple)):
      raise errors.UserError(
        f"anchors, entry {i}: candidates must be a list of image ids, got"
        f" {entry['candidates']!r}."
      )
    if anchor in sets:
      raise errors.UserError(f"Anchor {anchor!r} is given twice.")
    sets[anchor] = list(dict.fromkeys([anchor, *entry["candidates"]]))
  return sets


def _indices(
  sets: Mapping[Any, Sequence], frame_index: Mapping
) -> dict[Any, int]:
  """Return the frame numbers; keys may be strings, as JSON has them."""
  out = {}
  for anchor, candidates in sets.items():
    for image in candidates:
      number = frame_index.get(image, frame_index.get(str(image)))
      if number is None:
        raise errors.UserError(
          f"Image {image!r} of the set of anchor {anchor!r} has no frame index."
        )
      whole = conditions.whole_number(number)
      if whole is None:
        raise errors.UserError(
          f"The frame index of image {image!r} must be a whole number, got"
          f" {number!r}."
        )
      out[image] = whole
  return out
