"""Boxes of frame sets as COCO rows, for detection pm-k.

  ds = tfds.load("imagenet_vid_robust/reviewed", split="test") boxes =
  frame_boxes.coco(tfds.as_numpy(ds)) pm_k.detection(boxes.gt, dt,
  boxes.anchors, boxes.frame_index)

with `dt` COCO result rows whose `image_id` is `boxes.image_id[example_id]`.
`truth` returns the same as one COCO instances dict, which runs store as
`truth.json` and `eval.score --truth` reads; `Sets` are the sets of its images.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from robust_tfds import errors, strings
from robust_tfds.coco import format as coco_format
from robust_tfds.reading import pictures


@dataclasses.dataclass(frozen=True)
class Coco:
  """The inputs of `pm_k.detection` except the detections.

  Attributes:
    gt: COCO annotation rows, ids from 1, boxes [x, y, w, h] in pixels.
    anchors: a list of `{"anchor": image id, "candidates": [image ids]}`; only
      reviewed frames, in the order of their offsets.
    frame_index: image id -> number of the frame, 1000 frames apart between sets.
    image_id: example id -> image id, from 1 in the order of the ids.
  """

  gt: list[dict[str, Any]]
  anchors: list[dict[str, Any]]
  frame_index: dict[int, int]
  image_id: dict[str, int]


_APART = 1000  # far beyond the ten frames that a set reaches
_OF_SETS = ("group_id", "frame", "reviewed")  # of an image, besides COCO's


@dataclasses.dataclass(frozen=True)
class Sets:
  """The anchor sets of a ground truth's images.

  Attributes:
    candidates: anchor's image id -> ids of its reviewed frames, itself among
      them, in the order of their offsets.
    frame: image id -> its offset from the anchor, of these frames.
  """

  candidates: dict[int, list[int]]
  frame: dict[int, int]

  @classmethod
  def from_images(cls, images: Sequence[Mapping[str, Any]]) -> Sets:
    """Create the sets of `truth(...)["images"]`, in the order of their anchors'
    paths.

    Raises:
      UserError: images without set keys, or whose anchor is missing.
    """
    for image in images:
      lacks = [key for key in _OF_SETS if key not in image]
      if lacks:
        raise errors.UserError(
          f"Image {image.get('file_name', image['id'])!r} has no {lacks[0]!r}:"
          " expected the ground truth of frames, as truth.json of a run has it or"
          " robust_tfds.building.frame_boxes.truth makes it."
        )
    ids = {image["file_name"]: image["id"] for image in images}
    reviewed = [image for image in images if image["reviewed"]]
    groups = sorted({image["group_id"] for image in reviewed})
    lost = [group for group in groups if group not in ids]
    if lost:
      raise errors.UserError(
        f"The anchor {lost[0]!r} is not among the examples."
      )
    candidates: dict[int, list[int]] = {ids[group]: [] for group in groups}
    for image in sorted(reviewed, key=lambda image: image["frame"]):
      candidates[ids[image["group_id"]]].append(image["id"])
    return cls(candidates, {i["id"]: i["frame"] for i in reviewed})


def coco(examples: Iterable[Mapping[str, Any]]) -> Coco:
  """Return COCO rows of the frames of a natural-video set.

  Args:
    examples: examples of a config of whole frames, as numpy; boxes are those of
      `objects`, class ids those of the data set.

  Raises:
    UserError: see `truth`.
  """
  images, gt = _images_and_rows(examples)
  sets = Sets.from_images(images)
  index = {image["id"]: -_APART for image in images}
  for place, of_set in enumerate(sets.candidates.values()):
    index |= {i: _APART * place + sets.frame[i] for i in of_set}
  return Coco(
    gt=gt,
    anchors=[
      {"anchor": anchor, "candidates": of_set}
      for anchor, of_set in sets.candidates.items()
    ],
    frame_index=index,
    image_id={image["file_name"]: image["id"] for image in images},
  )


def truth(
  examples: Iterable[Mapping[str, Any]], names: Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
  """Return a COCO instances dict of the frames of a natural-video set.

  Args:
    examples: examples of a config of whole frames, as numpy; pictures may be
      the stored bytes, of which only the header is read.
    names: class names by label.

  Returns:
    `images`, from 1 in the order of the examples' ids, with `group_id` (the
    anchor's `file_name`), `frame` and `reviewed` besides COCO's keys;
    `annotations`; `categories`, whose ids are label + 1.

  Raises:
    UserError: no frames, crops (which have no boxes), frames without any box, or a
      reviewed frame whose anchor is not among the examples.
  """
  images, rows = _images_and_rows(examples)
  Sets.from_images(images)
  if not rows:
    raise errors.UserError(
      "No frame has a box. Of ImageNet-Vid-Robust they are in ILSVRC's"
      " Annotations/VID: put them into the manual dir, remove the prepared set and"
      " run again."
    )
  ids = coco_format.category_ids(names)
  return {
    "images": images,
    "annotations": [{**r, "category_id": ids[r["category_id"]]} for r in rows],
    "categories": [{"id": i, "name": n} for i, n in zip(ids, names)],
  }


def _images_and_rows(
  examples: Iterable[Mapping[str, Any]],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
  """Return images, and their annotations with labels as categories."""
  listed = sorted(examples, key=lambda e: strings.text(e["example_id"]))
  if not listed:
    raise errors.UserError("No frames were given.")
  if "objects" not in listed[0]:
    raise errors.UserError(
      "These frames are crops, which have no boxes; take the config `reviewed`"
      " or `all` as it is."
    )
  images: list[dict[str, Any]] = []
  rows: list[dict[str, Any]] = []
  for number, e in enumerate(listed, 1):
    height, width = _size(e["image"])
    images.append(
      {
        "id": number,
        "file_name": strings.text(e["example_id"]),
        "height": height,
        "width": width,
        "group_id": strings.text(e["group_id"]),
        "frame": int(e["frame"]),
        "reviewed": bool(e["reviewed"]),
      }
    )
    rows += _annotations(e["objects"], images[-1], len(rows) + 1)
  return images, rows


def _size(picture: Any) -> tuple[int, int]:
  """Return (height, width) of pixels or of a stored picture."""
  if isinstance(picture, bytes):
    return pictures.size(picture, ignore_orientation=True)
  height, width = np.shape(picture)[:2]
  return height, width


def _annotations(
  objects: Mapping[str, Any], image: Mapping[str, Any], first: int
) -> list[dict[str, Any]]:
  height, width = image["height"], image["width"]
  out = []
  for i, (box, label) in enumerate(zip(objects["bbox"], objects["label"])):
    ymin, xmin, ymax, xmax = (float(v) for v in box)
    w, h = (xmax - xmin) * width, (ymax - ymin) * height
    out.append(
      {
        "id": first + i,
        "image_id": image["id"],
        "category_id": int(label),
        "bbox": [xmin * width, ymin * height, w, h],
        "area": w * h,
        "iscrowd": 0,
      }
    )
  return out
