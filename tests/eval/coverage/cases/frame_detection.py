"""Detection pm-k: mAP on anchors, on worst frames, and what lies between."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from eval.cells.cell import Cell
from eval.tasks import base, frame_detection
from eval.tasks.detections import result_lists
from robust_tfds.conditions import Condition
from tests.eval.coverage import case as case_lib

WORDS = (
  "Sets of an anchor and four neighbours that show one object; what makes a video and"
  " an anchor hard is shared by its frames, false alarms are not. The truth is that of"
  " 20,000 anchors, which lies below that of few. Whole videos are left out."
)
_OFFSETS = np.array([0, -2, -1, 1, 2])
_CLASSES = 4
_VIDEO, _ANCHOR, _FRAME = 0.7, 0.5, 0.7  # standard deviations of the effects
_SEEN, _ALARMS = 0.8, 0.8  # above it nothing is found; false alarms of a frame
_OBJECT, _ELSEWHERE = [10.0, 10.0, 40.0, 40.0], [70.0, 70.0, 20.0, 20.0]
_FIELDS = {
  name: {"metric": metric, "config": "clean"}
  for name, metric in (
    ("mAP, anchors", "map_orig"),
    ("mAP, worst frames", "map_pmk"),
    ("drop", "drop"),
    ("localization, worst frames", "localization/map_pmk"),
    ("localization, drop", "localization/drop"),
    ("AP of a class, worst frames", "map_pmk/class=0"),
  )
}

# Of `many`; its error is 0.07 of that of 100 anchors. Classes are alike.
_TRUTH = {
  "mAP, anchors": 0.632058,
  "mAP, worst frames": 0.367829,
  "drop": 0.264229,
  "localization, worst frames": 0.312014,
  "localization, drop": 0.319491,
  "AP of a class, worst frames": 0.367829,
}


@dataclasses.dataclass(frozen=True)
class Videos:
  """How the data sets are.

  Attributes:
    videos: how many.
    anchors: of each.
  """

  videos: int
  anchors: int

  @property
  def words(self) -> str:
    """For the table."""
    return f"{self.videos:,} videos with {self.anchors} anchors each"

  def draw(self, rng: np.random.Generator) -> tuple[dict[str, Any], list]:
    """Ground truth of frames, and a detector's results."""
    video = np.repeat(np.arange(self.videos), self.anchors)
    hard = rng.normal(0, _VIDEO, self.videos)[video]
    hard = hard + rng.normal(0, _ANCHOR, len(video))
    label = rng.integers(0, _CLASSES, self.videos)[video]
    frames = np.repeat(np.arange(len(video)), len(_OFFSETS))
    hard = hard[frames] + rng.normal(0, _FRAME, len(frames))
    hit = np.flatnonzero(hard < _SEEN)
    of_alarms = np.repeat(
      np.arange(len(frames)), rng.poisson(_ALARMS, len(frames))
    )
    image = np.append(hit, of_alarms)
    labels = np.append(
      label[frames[hit]], rng.integers(0, _CLASSES, len(of_alarms))
    )
    scores = np.append(
      1 - hard[hit] / 2 + rng.normal(0, 0.6, len(hit)),
      rng.normal(0, 0.9, len(of_alarms)),
    )
    boxes = [_OBJECT] * len(hit) + [_ELSEWHERE] * len(of_alarms)
    listed = zip(image.tolist(), labels.tolist(), scores.tolist(), boxes)
    results = [
      {"image_id": i + 1, "category_id": c + 1, "score": s, "bbox": b}
      for i, c, s, b in listed
    ]
    return _truth(video, label, frames), results


def _truth(
  video: np.ndarray, label: np.ndarray, frames: np.ndarray
) -> dict[str, Any]:
  names = [f"a/v{v}_{i}/frame-1.jpg" for i, v in enumerate(video.tolist())]
  offsets = np.tile(_OFFSETS, len(video)).tolist()
  sets = frames.tolist()
  images = [
    {
      "id": i,
      "file_name": names[of] if offset == 0 else f"f{i}",
      "group_id": names[of],
      "frame": offset,
      "reviewed": True,
    }
    for i, (of, offset) in enumerate(zip(sets, offsets), 1)
  ]
  objects = {"bbox": _OBJECT, "area": 1600.0, "iscrowd": 0}
  annotations = [
    {"id": i, "image_id": i, "category_id": int(label[of]) + 1, **objects}
    for i, of in enumerate(sets, 1)
  ]
  kinds = [{"id": c + 1, "name": f"c{c}"} for c in range(_CLASSES)]
  return {"images": images, "annotations": annotations, "categories": kinds}


def _intervals(
  of: Videos, rng: np.random.Generator
) -> Mapping[str, case_lib.Interval]:
  truth, results = of.draw(rng)
  task = frame_detection.FrameDetection(base.Setting("ytbb_robust"))
  columns = result_lists.columns(results, truth)
  cell = Cell("m", "ytbb_robust", Condition())
  return case_lib.of_rows(task.measure(cell, columns, truth).rows, _FIELDS)


def many(anchors: int = 20_000) -> Mapping[str, float]:
  """Of very many anchors: what `_TRUTH` is, two minutes of a core."""
  drawn = _intervals(Videos(anchors, 1), np.random.default_rng(2021))
  return {name: number.value for name, number in drawn.items()}


CASES = tuple(
  case_lib.Case(of.words, lambda: _TRUTH, functools.partial(_intervals, of))
  for of in (Videos(100, 1), Videos(50, 3))
)
