"""Overlap of detections with objects of the same picture and class.

It is COCO's intersection over union of boxes or run lengths; for a crowd it is
the intersection over the detection's own area (pycocotools, `maskApi.c`).
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from robust_tfds import errors

Masks = Sequence[Any]


class Placed(Protocol):
  """The protocol of objects or detections by picture and class."""

  @property
  def image(self) -> np.ndarray:
    """The indices of the pictures, int64 `[N]`."""

  @property
  def label(self) -> np.ndarray:
    """The indices of the classes, int64 `[N]`."""


@dataclasses.dataclass(frozen=True)
class Pairs:
  """The pairs of detections and objects that may belong together.

  Attributes:
    detection: int64 `[P]`, places of the detections, not decreasing.
    thing: int64 `[P]`, places of the objects.
  """

  detection: np.ndarray
  thing: np.ndarray

  @classmethod
  def from_keys(
    cls, detection_keys: np.ndarray, thing_keys: np.ndarray
  ) -> Pairs:
    """Return all pairs of equal keys, which stand for a picture and a class.

    Args:
      detection_keys: int64 `[D]`.
      thing_keys: int64 `[G]`.

    >>> pairs = Pairs.from_keys(np.array([4, 7, 4]), np.array([7, 4, 4]))
    >>> pairs.detection.tolist(), pairs.thing.tolist()
    ([0, 0, 1, 2, 2], [1, 2, 0, 1, 2])
    """
    order = np.argsort(thing_keys, kind="stable")
    keys = thing_keys[order]
    first = np.searchsorted(keys, detection_keys, "left")
    number = np.searchsorted(keys, detection_keys, "right") - first
    detection = np.repeat(np.arange(len(detection_keys)), number)
    before = np.repeat(np.cumsum(number) - number, number)
    place = np.arange(len(detection)) - before + np.repeat(first, number)
    return cls(detection, order[place])

  @classmethod
  def from_classes(cls, detected: Placed, objects: Placed) -> Pairs:
    """Return all pairs of the same picture and class."""
    labels = (objects.label.max(initial=0), detected.label.max(initial=0))
    classes = 1 + int(max(labels))
    return cls.from_keys(
      detected.image * classes + detected.label,
      objects.image * classes + objects.label,
    )

  def where(self, chosen: np.ndarray) -> Pairs:
    """Return the chosen pairs; bool or int `[P]`."""
    return Pairs(self.detection[chosen], self.thing[chosen])


def box_overlaps(
  pairs: Pairs, detected: np.ndarray, objects: np.ndarray, crowd: np.ndarray
) -> np.ndarray:
  """Compute the overlap of every pair of boxes: float64 `[P]`, 0 where they do
  not touch.

  Args:
    pairs: pairs of D detections and G objects.
    detected: x, y, width, height, float64 `[D, 4]`.
    objects: the same for objects, `[G, 4]`.
    crowd: bool `[G]`.

  >>> pairs = Pairs.from_keys(np.zeros(1, int), np.zeros(2, int))
  >>> box = np.array([[0.0, 0.0, 2.0, 2.0]])
  >>> two = np.array([[1.0, 0.0, 2.0, 2.0], [1.0, 0.0, 9.0, 9.0]])
  >>> box_overlaps(pairs, box, two, np.array([False, True])).tolist()
  [0.3333333333333333, 0.5]
  """
  one, two = detected[pairs.detection].T, objects[pairs.thing].T
  width = np.minimum(one[2] + one[0], two[2] + two[0]) - np.maximum(
    one[0], two[0]
  )
  height = np.minimum(one[3] + one[1], two[3] + two[1]) - np.maximum(
    one[1], two[1]
  )
  touch = (width > 0) & (height > 0)
  both = np.where(touch, width * height, 0.0)
  area = one[2] * one[3]
  whole = np.where(crowd[pairs.thing], area, area + two[2] * two[3] - both)
  return np.divide(both, whole, out=np.zeros_like(both), where=touch)


def mask_overlaps(
  pairs: Pairs, detected: Masks, objects: Masks, crowd: np.ndarray
) -> np.ndarray:
  """Compute the overlap of every pair of run lengths: float64 `[P]`.

  Args:
    pairs: pairs of D detections and G objects.
    detected: COCO's {size, counts} of every detection, checked.
    objects: the same for every object, checked.
    crowd: bool `[G]`.
  """
  iou, out = _coco_mask().iou, np.zeros(len(pairs.thing))
  edges = np.flatnonzero(np.diff(pairs.detection, prepend=-1, append=-1))
  things = pairs.thing.tolist()
  for first, last in zip(edges[:-1].tolist(), edges[1:].tolist()):
    one = detected[pairs.detection[first]]
    near = things[first:last]
    flags = [int(crowd[g]) for g in near]
    out[first:last] = iou([one], [objects[g] for g in near], flags)[0]
  return out


def mask_areas(masks: Masks) -> np.ndarray:
  """Count the pixels of checked run lengths: float64 `[N]`."""
  if not len(masks):
    return np.zeros(0)
  return np.asarray(_coco_mask().area(list(masks)), np.float64)


def _coco_mask() -> Any:
  """Return COCO's tools for run lengths, from the installed package."""
  for package in ("hotcoco", "pycocotools"):
    if importlib.util.find_spec(package):
      return importlib.import_module(f"{package}.mask")
  raise errors.missing_package_error(
    "pycocotools", "detection", "Overlap of masks"
  )
