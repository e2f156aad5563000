"""Matching of detections with objects by COCO's rules, for all pictures at once.

Per picture and class, by decreasing score, a detection takes the free object of
the largest overlap, at equal overlaps the later one, and an ignored object only
if no other fits; crowds absorb any number (docs/evidence/specs/detection.md section
3.2). Matches of a picture do not depend on other pictures: one pass gives AP
with any pictures left out (`left_out`).
"""

from __future__ import annotations

import dataclasses

import numpy as np

from eval.metrics.detection import overlaps

IOU_THRESHOLDS = np.linspace(0.5, 0.95, 10)
# px^2, both ends inclusive.
AREAS = {
  "": (0.0, 1e10),
  "s": (0.0, 32.0**2),
  "m": (32.0**2, 96.0**2),
  "l": (96.0**2, 1e10),
}
MOST_DETECTIONS = 100  # limit per picture and class
_HIGHEST = 1 - 1e-10  # upper limit of thresholds, as in pycocotools


@dataclasses.dataclass(frozen=True)
class Objects:
  """The ground truth's objects, as columns.

  Attributes:
    image: int64 `[G]`, places among the pictures.
    label: int64 `[G]`, places among the classes.
    box: x, y, width, height, float64 `[G, 4]`.
    area: float64 `[G]`, px^2.
    crowd: bool `[G]`.
    masks: {size, counts} of each; None for boxes.
  """

  image: np.ndarray
  label: np.ndarray
  box: np.ndarray
  area: np.ndarray
  crowd: np.ndarray
  masks: overlaps.Masks | None = None


@dataclasses.dataclass(frozen=True)
class Detected:
  """The detections as columns, in their file's order.

  Attributes:
    image: int64 `[D]`, places among the pictures.
    label: int64 `[D]`, places among the classes.
    score: float64 `[D]`.
    box: x, y, width, height, float64 `[D, 4]`; None for masks.
    masks: {size, counts} of each; None for boxes.
  """

  image: np.ndarray
  label: np.ndarray
  score: np.ndarray
  box: np.ndarray | None = None
  masks: overlaps.Masks | None = None

  def area(self) -> np.ndarray:
    """Return the areas: float64 `[D]`, px^2."""
    if self.box is None:
      return overlaps.mask_areas(self.masks or [])
    return self.box[:, 2] * self.box[:, 3]

  def select(self, rows: np.ndarray) -> Detected:
    """Return the detections at these rows, int `[N]`."""
    return Detected(
      self.image[rows],
      self.label[rows],
      self.score[rows],
      None if self.box is None else self.box[rows],
      None if self.masks is None else [self.masks[i] for i in rows.tolist()],
    )


@dataclasses.dataclass(frozen=True)
class Matches:
  """The part of a cell that its AP depends on, class by class, by decreasing score.

  Attributes:
    image: int64 `[D]`, places of the detections' pictures.
    label: int64 `[D]`, not decreasing.
    right: bool `[D, T]`, a hit at each of T thresholds.
    wrong: bool `[D, T]`, a false alarm; the others do not count.
    objects: int64 `[2, G]`, picture and class of the objects that count.
  """

  image: np.ndarray
  label: np.ndarray
  right: np.ndarray
  wrong: np.ndarray
  objects: np.ndarray

  def select(self, rows: np.ndarray) -> Matches:
    """Return the matches of some detections, bool `[D]`."""
    return dataclasses.replace(
      self,
      image=self.image[rows],
      label=self.label[rows],
      right=self.right[rows],
      wrong=self.wrong[rows],
    )


class Matcher:
  """A matcher of detections with the objects of their pictures and classes.

  Attributes:
    rank: int64 `[D]`, rank of each matched detection among those of its picture
      and class, from 0.
    score: float64 `[D]`, score of each matched detection.
  """

  def __init__(
    self,
    objects: Objects,
    detected: Detected,
    thresholds: np.ndarray = IOU_THRESHOLDS,
  ):
    """Find the pairs that overlap enough for the lowest threshold.

    Args:
      objects: objects of the pictures that the detector was shown.
      thresholds: float64 `[T]`, increasing.
    """
    self._objects = objects
    self._thresholds = np.minimum(thresholds, _HIGHEST)
    self._detected, self._rank = _most_certain(detected)
    self._area = self._detected.area()
    self._pairs, self._iou = self._near()
    self._order = np.lexsort(
      (self._detected.image, -self._detected.score, self._detected.label)
    )
    self.rank = self._rank[self._order]
    self.score = self._detected.score[self._order]

  def within(self, area: tuple[float, float]) -> Matches:
    """Return the matches with objects outside a range of areas ignored.

    Args:
      area: the range in px^2, see `AREAS`.
    """
    objects, order = self._objects, self._order
    ignored = objects.crowd | _outside_range(objects.area, area)
    place = self._choose(ignored)
    hit = place >= 0
    ignored_hits = np.append(ignored, False)[place]  # -1: no object
    ignored_hits |= ~hit & _outside_range(self._area, area)[:, None]
    return Matches(
      image=self._detected.image[order],
      label=self._detected.label[order],
      right=(hit & ~ignored_hits)[order],
      wrong=(~hit & ~ignored_hits)[order],
      objects=np.stack([objects.image, objects.label])[:, ~ignored],
    )

  def _near(self) -> tuple[overlaps.Pairs, np.ndarray]:
    objects, detected = self._objects, self._detected
    pairs = overlaps.Pairs.from_classes(detected, objects)
    if detected.box is not None:
      iou = overlaps.box_overlaps(
        pairs, detected.box, objects.box, objects.crowd
      )
    else:
      iou = overlaps.mask_overlaps(
        pairs, detected.masks or [], objects.masks or [], objects.crowd
      )
    enough = iou >= self._thresholds[0]
    return pairs.where(enough), iou[enough]

  def _choose(self, ignored: np.ndarray) -> np.ndarray:
    """Choose the object that each detection takes: int64 `[D, T]`, -1 for none.

    Detections of equal rank belong to different pictures or classes: they
    choose at once. A detection's pairs are sorted by increasing preference,
    which does not depend on what is free: it takes the last free one.
    """
    crowd, thresholds = self._objects.crowd, self._thresholds
    place = np.full((len(self._rank), len(thresholds)), -1, np.int64)
    free = np.ones((len(crowd), len(thresholds)), bool)
    pairs, iou, ranks = self._sorted_pairs(ignored)
    fits = iou[:, None] >= thresholds
    edges = np.searchsorted(ranks, np.arange(ranks.max(initial=-1) + 2))
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist()):
      if first == last:
        continue
      thing, one = pairs.thing[first:last], pairs.detection[first:last]
      usable = fits[first:last] & (free[thing] | crowd[thing, None])
      starts = np.flatnonzero(np.diff(one, prepend=-1))
      numbers = np.where(usable, np.arange(last - first)[:, None], -1)
      best = np.maximum.reduceat(numbers, starts, axis=0)
      place[one[starts]] = np.where(best >= 0, thing[best], -1)
      row, column = np.nonzero(best >= 0)
      free[thing[best[row, column]], column] = False
    return place

  def _sorted_pairs(
    self, ignored: np.ndarray
  ) -> tuple[overlaps.Pairs, np.ndarray, np.ndarray]:
    """Return pairs by rank, detection and preference; their overlaps and ranks."""
    pairs, iou = self._pairs, self._iou
    ranks = self._rank[pairs.detection]
    real = ~ignored[pairs.thing]
    order = np.lexsort((pairs.thing, iou, real, pairs.detection, ranks))
    return pairs.where(order), iou[order], ranks[order]


def _outside_range(area: np.ndarray, limits: tuple[float, float]) -> np.ndarray:
  return (area < limits[0]) | (area > limits[1])


def _most_certain(detected: Detected) -> tuple[Detected, np.ndarray]:
  """Return at most 100 detections a picture and class, and their ranks."""
  order = np.lexsort((-detected.score, detected.label, detected.image))
  keys = np.stack([detected.image, detected.label])[:, order]
  new = np.ones(len(order), bool)
  new[1:] = np.any(keys[:, 1:] != keys[:, :-1], axis=0)
  first = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
  rank = np.arange(len(order)) - first
  few = rank < MOST_DETECTIONS
  return detected.select(order[few]), rank[few]
