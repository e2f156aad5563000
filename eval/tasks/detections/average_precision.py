"""Average precision of a cell and its jackknife replicates, from one matching pass.

Blocks are the same in all conditions and for all models on the same pictures
(`resampling.Draws`). AP is not a mean over pictures, so it has no draws: its
interval is the jackknife's. It is an interval of the AP on very many pictures;
the AP on few pictures is biased, and half-samples estimate by how much
(`Replicates.bias`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from eval.metrics import resampling
from eval.metrics.detection import checks, left_out, objects, voc
from eval.metrics.detection import coco as backend
from eval.tasks.detections.detected_columns import Corners

Replicates = resampling.Replicates


@dataclasses.dataclass(frozen=True)
class Pictures:
  """The pictures that a detector was shown.

  Attributes:
    ids: int64 `[I]`, image ids, sorted.
    blocks: int64 `[I]`, the block of each.
    groups: number of groups that they are drawn in.
  """

  ids: np.ndarray
  blocks: np.ndarray
  groups: int

  @classmethod
  def from_ids(
    cls, ids: np.ndarray, group_ids: np.ndarray, draws: resampling.Draws
  ) -> Pictures:
    """Create the pictures of some draws.

    Args:
      ids: int64 `[I]`, unique.
      group_ids: texts `[I]`.
    """
    order = np.argsort(ids)
    blocks = draws.blocks_of(group_ids[order])
    return cls(ids[order], blocks, len(draws.ids))

  def replicates(self, numbers: np.ndarray) -> Replicates:
    """Return the replicates of an array from `left_out`: `[1 + J + H]`."""
    blocks = int(self.blocks.max(initial=-1)) + 1
    value, without, halves = np.split(numbers, [1, 1 + blocks])
    return Replicates(value[0], None, without, self.groups, halves)

  def places(self, image_ids: Any) -> np.ndarray:
    """Return the places of some image ids: int64 `[N]`."""
    return np.searchsorted(self.ids, np.asarray(image_ids, np.int64))


def coco(
  iou_type: str,
  detections: checks.Detections,
  truth: checks.Truth,
  pictures: Pictures,
) -> dict[str, Replicates]:
  """Return COCO's 12 numbers, `<iou_type>/AP` and others, without undefined ones.

  Args:
    iou_type: `bbox` or `segm`.
    truth: ground truth of the pictures, and perhaps of others.
    pictures: the pictures that the detector was shown.
  """
  if detections.masks and backend.fastest() == "pycocotools":
    detections.check_masks()  # before C code sees them
  numbers = left_out.coco_numbers(
    objects.truth_objects(truth, pictures.ids, iou_type),
    objects.detected(detections, truth, pictures.ids),
    pictures.blocks,
    len(truth.category_ids),
  )
  return _defined(
    {f"{iou_type}/{name}": numbers[name] for name in backend.STATS}, pictures
  )


def voc_ap50(
  detected: Corners, truth: Mapping[str, Any], pictures: Pictures
) -> dict[str, Replicates]:
  """Return `bbox/AP50` by VOC's rules; nothing if there is no object.

  Args:
    truth: ground truth of the pictures, and perhaps of others.
    pictures: the pictures that the detector was shown.
  """
  shown = set(pictures.ids.tolist())
  rows = [a for a in truth["annotations"] if a["image_id"] in shown]
  label = {c["id"]: i for i, c in enumerate(truth["categories"])}
  boxes = np.array([row["bbox"] for row in rows], np.float64).reshape(-1, 4)
  boxes[:, 2:] += boxes[:, :2]
  boxes[:, 2:] -= 1  # the last pixel is inside
  matched = voc.match(
    voc.Boxes(
      pictures.places([row["image_id"] for row in rows]),
      np.array([label[row["category_id"]] for row in rows], np.int64),
      boxes,
    ),
    np.array([row.get("difficult", 0) for row in rows], bool),
    voc.Boxes(pictures.places(detected.image), detected.label, detected.box),
    detected.score,
  )
  classes = len(truth["categories"])
  values = left_out.voc_ap50(matched, pictures.blocks, classes)
  return _defined({"bbox/AP50": values}, pictures)


def _defined(
  numbers: Mapping[str, np.ndarray], pictures: Pictures
) -> dict[str, Replicates]:
  return {
    name: pictures.replicates(values)
    for name, values in numbers.items()
    if not np.isnan(values[0])
  }
