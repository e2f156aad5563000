"""Boxes of frame sets as COCO rows, for detection pm-k.

  ds = tfds.load("imagenet_vid_robust/reviewed", split="test")
  boxes = frame_boxes.coco(tfds.as_numpy(ds))
  pm_k.detection(boxes.gt, dt, boxes.anchors, boxes.frame_index)

with `dt` COCO result rows whose `image_id` is `boxes.image_id[example_id]`.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from robust_tfds import errors, strings


@dataclasses.dataclass(frozen=True)
class Coco:
  """What `pm_k.detection` takes, but for the detections.

  Attributes:
    gt: COCO annotation rows, ids from 1, boxes [x, y, w, h] in pixels.
    anchors: `{"anchor": image id, "candidates": [image ids]}` each; only
      reviewed frames, in the order of their offsets.
    frame_index: image id -> number of the frame, 1000 frames apart between sets.
    image_id: example id -> image id, from 1 in the order of the ids.
  """

  gt: list[dict[str, Any]]
  anchors: list[dict[str, Any]]
  frame_index: dict[int, int]
  image_id: dict[str, int]


_APART = 1000  # far beyond the ten frames that a set reaches


def coco(examples: Iterable[Mapping[str, Any]]) -> Coco:
  """COCO rows of the frames of a natural-video set.

  Args:
    examples: of a config of whole frames, as numpy; boxes are those of
      `objects`, class ids those of the data set.

  Raises:
    UserError: no frames, crops (which have no boxes), or a reviewed frame whose
      anchor is not among the examples.
  """
  rows = sorted(examples, key=lambda e: strings.text(e["example_id"]))
  if not rows:
    raise errors.UserError("No frames were given.")
  if "objects" not in rows[0]:
    raise errors.UserError(
      "These frames are crops, which have no boxes; take the config `reviewed`"
      " or `all` as it is."
    )
  ids = {strings.text(e["example_id"]): i for i, e in enumerate(rows, 1)}
  sets: dict[str, list[tuple[int, int]]] = {}
  gt: list[dict[str, Any]] = []
  for e in rows:
    image = ids[strings.text(e["example_id"])]
    gt += _annotations(e, image, len(gt) + 1)
    if bool(e["reviewed"]):
      group = sets.setdefault(strings.text(e["group_id"]), [])
      group.append((int(e["frame"]), image))
  lost = [g for g in sets if g not in ids]
  if lost:
    raise errors.UserError(f"The anchor {lost[0]!r} is not among the examples.")
  order = {g: i for i, g in enumerate(sorted(sets))}
  return Coco(
    gt=gt,
    anchors=[
      {"anchor": ids[g], "candidates": [i for _, i in sorted(sets[g])]}
      for g in order
    ],
    frame_index={
      image: _APART * order[g] + offset
      for g, frames in sets.items()
      for offset, image in frames
    }
    | {
      ids[strings.text(e["example_id"])]: -_APART
      for e in rows
      if not bool(e["reviewed"])
    },
    image_id=ids,
  )


def _annotations(
  example: Mapping[str, Any], image: int, first: int
) -> list[dict[str, Any]]:
  height, width = np.shape(example["image"])[:2]
  objects = example["objects"]
  out = []
  for i, (box, label) in enumerate(zip(objects["bbox"], objects["label"])):
    ymin, xmin, ymax, xmax = (float(v) for v in box)
    w, h = (xmax - xmin) * width, (ymax - ymin) * height
    out.append(
      {
        "id": first + i,
        "image_id": image,
        "category_id": int(label),
        "bbox": [xmin * width, ymin * height, w, h],
        "area": w * h,
        "iscrowd": 0,
      }
    )
  return out
