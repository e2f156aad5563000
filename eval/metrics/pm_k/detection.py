"""pm-k for detection and localisation: mAP on each anchor's worst frame.

For every anchor the frame with the lowest AP of its own is chosen among it and
its similar frames; mAP is computed once on the anchors and once on the chosen
frames (Shankar et al. 2019, section 2.2). What the paper leaves open is settled
as in docs/specs/detection.md section 6:

* AP is COCO's (101 recalls) at one IoU, 100 detections an image and category;
* a frame's AP is the mean over the categories in its own ground truth (crowds do
  not count), so detections of absent categories do not influence the choice;
* a frame with objects and no detections has AP 0; one without objects is no
  candidate, and where none is left the anchor stays;
* equal APs (to 1e-12): the nearest frame, then the earlier one.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from robust_tfds import conditions, errors
from robust_tfds.eval.metrics import arguments

_RECALLS = np.linspace(0, 1, 101)  # pycocotools, Params.recThrs
_MAX_DETECTIONS = 100  # pycocotools, Params.maxDets
_EPSILON = np.spacing(1)  # pycocotools, COCOeval.accumulate
_DIGITS = 12  # APs closer than this are one: docs/specs/detection.md section 6
_OF_GT = frozenset({"image_id", "category_id", "bbox"})
_OF_DT = _OF_GT | {"score"}
_FARTHEST = 1e9  # px: beyond any picture
_ALL = -1  # the only category where classes are ignored


@dataclasses.dataclass(frozen=True)
class _Matched:
  """Detections of one image and category, best first.

  Attributes:
    score: float64 `[D]`.
    hit: bool `[D]`, matched to an object.
    skip: bool `[D]`, matched to a crowd: neither right nor wrong.
    objects: number of objects that are not crowds.
  """

  score: np.ndarray
  hit: np.ndarray
  skip: np.ndarray
  objects: int


_Frames = Mapping[Any, Mapping[Any, _Matched]]


def detection(
  gt: Iterable[Mapping],
  dt: Iterable[Mapping],
  anchors: Sequence[Mapping],
  frame_index: Mapping,
  *,
  iou: float = 0.5,
  class_agnostic: bool = False,
) -> dict:
  """mAP on the anchors and on their worst frames.

  Args:
    gt: COCO annotation rows: `image_id`, `category_id`, `bbox` [x, y, w, h] in
      pixels, optionally `iscrowd`.
    dt: COCO result rows: `image_id`, `category_id`, `bbox`, `score`.
    anchors: `{"anchor": image id, "candidates": [image ids]}` each; the anchor
      itself always is a candidate. Images of no set are left out.
    frame_index: image id -> number of the frame in its video; ties are broken
      by it.
    iou: a detection fits an object from this overlap on.
    class_agnostic: merge all categories into one: localisation.

  Returns:
    `map_orig` and `map_pmk`, fractions (nan where no frame has objects), and
    `selected`, anchor id -> chosen image id. `map_pmk <= map_orig` is usual, not
    guaranteed: frames are chosen by their own AP, not by the pooled one.

  Raises:
    UserError: no anchors, an anchor twice, a frame without a frame index, an
      IoU outside (0, 1], a row that lacks a field or whose box, score, ids or
      `iscrowd` are none, a row of an unknown image.
  """
  arguments.flag("class_agnostic", class_agnostic)
  if not 0 < arguments.number("iou", iou) <= 1:
    raise errors.UserError(f"iou must lie in (0, 1], got {iou}.")
  sets = _checked_anchors(anchors)
  index = _indices(sets, arguments.mapping("frame_index", frame_index))
  gt, dt = _rows(gt, dt)
  _check_known(gt, frame_index, "ground truth")
  _check_known(dt, frame_index, "list of detections")
  frames = _match(gt, dt, index, iou, class_agnostic)
  selected = {
    anchor: _worst(anchor, candidates, index, frames)
    for anchor, candidates in sets.items()
  }
  return {
    "map_orig": _mean_ap(frames, selected.keys()),
    "map_pmk": _mean_ap(frames, selected.values()),
    "selected": selected,
  }


def frame_ap(
  gt: Iterable[Mapping],
  dt: Iterable[Mapping],
  *,
  iou: float = 0.5,
  class_agnostic: bool = False,
) -> dict:
  """AP of each frame alone: image id -> fraction; frames with objects only.

  Args:
    gt: as in `detection`.
    dt: as in `detection`.
    iou: as in `detection`.
    class_agnostic: as in `detection`.
  """
  frames = _match(*_rows(gt, dt), None, iou, class_agnostic)
  every = {image: _frame_ap(of) for image, of in frames.items()}
  return {image: ap for image, ap in every.items() if ap is not None}


def _worst(
  anchor: Any,
  candidates: Sequence[Any],
  index: Mapping[Any, int],
  frames: _Frames,
) -> Any:
  """The candidate with the lowest AP of its own."""
  ranked = []
  for image in candidates:
    ap = _frame_ap(frames.get(image, {}))
    if ap is not None:
      distance = abs(index[image] - index[anchor])
      ranked.append((round(ap, _DIGITS), distance, index[image], image))
  return min(ranked)[-1] if ranked else anchor


def _frame_ap(of: Mapping[Any, _Matched]) -> float | None:
  aps = [_average_precision([m]) for m in of.values() if m.objects]
  return float(np.mean(aps)) if aps else None


def _mean_ap(frames: _Frames, images: Iterable) -> float:
  """Mean over categories; an image that stands for two anchors counts once."""
  pools = collections.defaultdict(list)
  for image in sorted(set(images)):
    for category, matched in frames.get(image, {}).items():
      pools[category].append(matched)
  pooled = [p for p in pools.values() if any(m.objects for m in p)]
  return float(np.mean([_average_precision(p) for p in pooled] or [np.nan]))


def _average_precision(pool: Sequence[_Matched]) -> float:
  """COCO's AP at one IoU: `COCOeval.accumulate`."""
  score = np.concatenate([m.score for m in pool])
  order = np.argsort(-score, kind="stable")
  hit = np.concatenate([m.hit for m in pool])[order]
  skip = np.concatenate([m.skip for m in pool])[order]
  right, wrong = np.cumsum(hit), np.cumsum(~hit & ~skip)
  recall = right / sum(m.objects for m in pool)
  precision = right / (wrong + right + _EPSILON)
  best = np.maximum.accumulate(precision[::-1])[::-1]
  at = np.searchsorted(recall, _RECALLS, side="left")
  return float(np.append(best, 0.0)[at].mean())


def _match(
  gt: Iterable[Mapping],
  dt: Iterable[Mapping],
  index: Mapping[Any, int] | None,
  iou: float,
  class_agnostic: bool,
) -> _Frames:
  """Greedy matching of every (image, category), as `COCOeval.evaluateImg`."""
  objects: dict = collections.defaultdict(list)
  detections: dict = collections.defaultdict(list)
  for rows, into in ((gt, objects), (dt, detections)):
    for row in rows:
      image = row["image_id"]
      if index is None or image in index:
        category = _ALL if class_agnostic else row["category_id"]
        into[image, category].append(row)
  frames: dict = collections.defaultdict(dict)
  for image, category in sorted(objects.keys() | detections.keys()):
    key = image, category
    frames[image][category] = _match_one(
      objects[key], detections[key], iou, key
    )
  return frames


def _rows(
  gt: Iterable[Mapping], dt: Iterable[Mapping]
) -> tuple[list[Mapping], list[Mapping]]:
  """Both lists, whose rows have their fields and ids of one kind."""
  out = []
  kinds: dict[str, set[str]] = {"image_id": set(), "category_id": set()}
  for what, rows, fields in (("gt", gt, _OF_GT), ("dt", dt, _OF_DT)):
    if isinstance(rows, (Mapping, str)) or not isinstance(rows, Iterable):
      raise errors.UserError(
        f"{what} must be a list of rows, got {type(rows).__name__}; of a COCO"
        " file take its 'annotations'."
      )
    listed = list(rows)
    try:
      fits = all(fields <= row.keys() for row in listed)
      fits = fits and {row.get("iscrowd", 0) for row in listed} <= {0, 1}
      for field, seen in kinds.items():
        seen |= {_kind(t) for t in {type(row[field]) for row in listed}}
    except (AttributeError, KeyError, TypeError):
      fits = False
    if not fits or "" in kinds["image_id"] | kinds["category_id"]:
      raise _row_fault(what, listed, fields)
    out.append(listed)
  for field, seen in kinds.items():
    if len(seen) > 1:
      raise errors.UserError(
        f"{field}: all ids must be whole numbers, or all texts; got both."
      )
  return out[0], out[1]


def _kind(of: type) -> str:
  """What ids of a type are; empty where they are none."""
  if issubclass(of, str):
    return "text"
  whole = issubclass(of, (int, np.integer)) and not issubclass(of, bool)
  return "number" if whole else ""


def _row_fault(
  what: str, rows: Sequence[Any], fields: frozenset[str]
) -> errors.UserError:
  """The first row that is at fault, in words."""
  for i, row in enumerate(rows):
    if not isinstance(row, Mapping):
      return errors.UserError(f"{what}, row {i}: a dict expected, got {row!r}.")
    for field in sorted(fields - row.keys()):
      return errors.UserError(f"{what}, row {i}: {field!r} is missing.")
    for field in ("image_id", "category_id"):
      if not _kind(type(row[field])):
        return errors.UserError(
          f"{what}, row {i}: {field} must be a whole number or a text, got"
          f" {row[field]!r}."
        )
    crowd = row.get("iscrowd", 0)
    if not isinstance(crowd, (int, float)) or crowd not in (0, 1):
      return errors.UserError(
        f"{what}, row {i}: iscrowd must be 0 or 1, got {crowd!r}."
      )
  return errors.UserError(f"{what}: its rows are no COCO rows.")


def _check_known(
  rows: Iterable[Mapping], frame_index: Mapping, kind: str
) -> None:
  for image in {row["image_id"] for row in rows}:
    if image not in frame_index and str(image) not in frame_index:
      raise errors.UserError(
        f"The {kind} holds image {image!r}, which has no frame index. Ids must"
        " be those of the anchors and candidates."
      )


def _match_one(
  objects: Sequence[Mapping],
  detections: Sequence[Mapping],
  iou: float,
  key: tuple[Any, Any],
) -> _Matched:
  score = _scores(detections, key)
  order = np.argsort(-score, kind="stable")[:_MAX_DETECTIONS]
  crowd = np.array([bool(o.get("iscrowd", 0)) for o in objects], bool)
  sort = np.argsort(crowd, kind="stable")  # crowds last
  crowd = crowd[sort]
  boxes = _boxes(objects, key)[sort]
  overlap = _overlap(_boxes(detections, key)[order], boxes, crowd)
  hit, skip = np.zeros(len(order), bool), np.zeros(len(order), bool)
  least = min(iou, 1 - 1e-10)
  free = np.ones(len(boxes), bool)
  likely = (overlap >= least).any(axis=1) if len(boxes) else hit
  for d in np.flatnonzero(likely):
    index = _choose(overlap[d], free & ~crowd, least)
    if index < 0:
      index = _choose(overlap[d], crowd, least)  # absorbs any number
      skip[d] = index >= 0
    else:
      hit[d], free[index] = True, False
  return _Matched(score[order], hit, skip, int((~crowd).sum()))


def _choose(overlap: np.ndarray, allowed: np.ndarray, least: float) -> int:
  """The best allowed object; the later one of equals, -1 if none fits."""
  value = np.where(allowed, overlap, -1.0)
  last = len(value) - 1 - int(np.argmax(value[::-1])) if len(value) else -1
  return last if last >= 0 and value[last] >= least else -1


def _overlap(
  detections: np.ndarray, objects: np.ndarray, crowd: np.ndarray
) -> np.ndarray:
  """IoU `[D, G]`; over the detection's area alone for crowds."""
  low = np.maximum(detections[:, None, :2], objects[None, :, :2])
  ends = detections[:, :2] + detections[:, 2:], objects[:, :2] + objects[:, 2:]
  high = np.minimum(ends[0][:, None], ends[1][None])
  both = np.clip(high - low, 0, None).prod(axis=-1)
  area, other = detections[:, 2:].prod(axis=-1), objects[:, 2:].prod(axis=-1)
  union = area[:, None] + np.where(crowd, 0, other[None] - both)
  return np.divide(both, union, out=np.zeros_like(both), where=union > 0)


def _scores(detections: Sequence[Mapping], key: tuple[Any, Any]) -> np.ndarray:
  try:
    score = np.array([d["score"] for d in detections], np.float64)
  except (TypeError, ValueError):
    score = np.array([np.nan])
  if score.ndim != 1 or not np.isfinite(score).all():
    raise errors.UserError(f"A score of image {key[0]!r} is no finite number.")
  return score


def _boxes(rows: Sequence[Mapping], key: tuple[Any, Any]) -> np.ndarray:
  if not rows:
    return np.zeros((0, 4))
  try:
    boxes = np.array([r["bbox"] for r in rows], np.float64)
  except (TypeError, ValueError):
    boxes = np.zeros(0)
  if boxes.shape != (len(rows), 4):
    raise errors.UserError(
      f"A box of image {key[0]!r} is not [x, y, w, h] in pixels: "
      f"{[r['bbox'] for r in rows][:3]}."
    )
  if not (np.abs(boxes) < _FARTHEST).all() or (boxes[:, 2:] < 0).any():
    raise errors.UserError(
      f"A box of image {key[0]!r} is not finite, or its width or height is below"
      f" 0: {boxes.tolist()[:3]}."
    )
  return boxes


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
  """Frame numbers; keys may be strings, as JSON has them."""
  out = {}
  for anchor, candidates in sets.items():
    for image in candidates:
      number = frame_index.get(image, frame_index.get(str(image)))
      if number is None:
        raise errors.UserError(
          f"Image {image!r} of the set of anchor {anchor!r} has no frame index."
        )
      whole = conditions.whole(number)
      if whole is None:
        raise errors.UserError(
          f"The frame index of image {image!r} must be a whole number, got"
          f" {number!r}."
        )
      out[image] = whole
  return out
