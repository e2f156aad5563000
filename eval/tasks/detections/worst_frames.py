"""A cell's mAP on anchors and on worst frames, and without each block of videos."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from eval.metrics import pm_k, replicates
from eval.metrics.detection import checks, left_out, objects
from eval.tasks.detections import (
  average_precision,
  detected_columns,
  result_lists,
)
from robust_tfds import errors
from robust_tfds.building import frame_boxes

# Before a metric's name -> whether all classes are merged into one.
KINDS = {"": False, "localization/": True}
Columns = Mapping[str, np.ndarray]
Counted = tuple[replicates.Replicates, int]  # and of how many anchors


def numbered(columns: Columns, truth: Mapping[str, Any]) -> Columns:
  """Return a cell's columns with the image ids of its frames in the ground truth.

  Raises:
    UserError: the frames differ from the ground truth's.
  """
  ids = {i["file_name"]: i["id"] for i in truth["images"]}
  names = columns["example_id"].tolist()
  strange = sorted(ids.keys() ^ set(names))
  if strange:
    raise errors.UserError(
      f"Frames and ground truth differ: {strange[0]!r} is in only one of them"
      f" ({len(strange):,} are). Both must be of one run."
    )
  return {**columns, "image_id": np.array([ids[n] for n in names], np.int64)}


@dataclasses.dataclass(frozen=True)
class Scored:
  """The numbers of detection, or of localization, of one cell.

  Attributes:
    kind: a key of `KINDS`.
    frames: the matched frames.
    sets: the sets of the frames.
    pictures: the same frames and the blocks that they are drawn in.
    selected: anchor -> its worst frame.
    classes: label -> anchors that show the class.
  """

  kind: str
  frames: pm_k.Frames
  sets: frame_boxes.Sets
  pictures: average_precision.Pictures
  selected: Mapping[int, int]
  classes: Mapping[int, int]

  def means(self) -> dict[str, Counted]:
    """Return `map_orig`, `map_pmk` and `drop`; nothing if there is no object."""
    first, worst = (
      precision.mean_precision(0) for precision in self._precision()
    )
    if np.isnan(first[0]) or np.isnan(worst[0]):
      return {}
    orig, pmk = (self.pictures.replicates(x) for x in (first, worst))
    drop = replicates.combine(np.subtract, orig, pmk)
    listed = zip(("map_orig", "map_pmk", "drop"), (orig, pmk, drop))
    return {f"{self.kind}{m}": (x, len(self.selected)) for m, x in listed}

  def numbers(self) -> dict[str, Counted]:
    """Return `means` and, for detection, AP of each class that anchors show."""
    out = self.means()
    if KINDS[self.kind]:
      return out
    for metric, precision in zip(("map_orig", "map_pmk"), self._precision()):
      for label, n in self.classes.items():
        values = precision.precision[label, 0]
        if not np.isnan(values[0]):
          number = self.pictures.replicates(values)
          out[f"{metric}/class={label}"] = number, n
    return out

  def _precision(self) -> tuple[left_out.Numbers, left_out.Numbers]:
    """Return the numbers of the anchors, and of the worst frames."""
    precision = self.frames.precision
    blocks = self.pictures.blocks
    chosen = self.selected
    return precision(chosen.keys(), blocks), precision(chosen.values(), blocks)

  def offsets(self) -> np.ndarray:
    """Return the offset of each set's worst frame: int64 `[A]`."""
    return np.array([self.sets.frame[i] for i in self.selected.values()])

  def largest_drops(self, most: int) -> list[tuple[int, int]]:
    """Return anchor and worst frame of the sets with the largest drop in AP."""
    aps = self.frames.aps()
    falls = [
      (aps[worst] - aps[anchor], anchor, worst)
      for anchor, worst in self.selected.items()
      if anchor in aps and worst != anchor
    ]
    return [(anchor, worst) for _, anchor, worst in sorted(falls)[:most]]


def scored(
  columns: Columns,
  truth: checks.Truth,
  sets: frame_boxes.Sets,
  pictures: average_precision.Pictures,
) -> list[Scored]:
  """Return the numbers of detection, then of localization.

  Args:
    columns: a cell's columns with `image_id`, or a results list.
    truth: ground truth of frames.
    sets: the sets of the truth.
    pictures: the frames of the sets.

  Raises:
    UserError: a detection or a frame that does not fit the ground truth.
  """
  source: Any = detected_columns
  if result_lists.holds_results(columns):
    source = result_lists
  ids, number = pictures.ids, len(truth.category_ids)
  detections = source.detections("bbox", columns, truth)
  shown = np.flatnonzero(np.isin(detections.image_id, ids))
  detected = objects.detected(detections, truth, ids).select(shown)
  every = objects.truth_objects(truth, ids)
  is_anchor = np.isin(ids[every.image], list(sets.candidates))
  shows = np.stack([every.label, every.image])[:, is_anchor & ~every.crowd]
  labels = np.unique(shows, axis=1)[0].tolist()
  classes = dict(sorted(collections.Counter(labels).items()))
  out = []
  for kind, agnostic in KINDS.items():
    frames = pm_k.Frames.from_objects(
      ids.tolist(), number, every, detected, class_agnostic=agnostic
    )
    selected = frames.worst(sets.candidates, sets.frame)
    out.append(Scored(kind, frames, sets, pictures, selected, classes))
  return out
