"""An example as it enters a batch: pixels of one size, boxes padded to one
number.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from models.training.data import crops, examples
from models.training.data.config import Config
from robust_tfds import errors
from robust_tfds.building import objects, videos
from robust_tfds.building.sources import mask_labels
from robust_tfds.coco import rle
from robust_tfds.corruptions import canvas, seeding
from robust_tfds.reading import videos as video_files

Item = Mapping[str, Any]
_STREAM = 0x434C4950  # where a clip starts, apart from other draws


def make(
  row: Mapping[str, Any],
  kind: str,
  config: Config,
  *,
  rule: str,
  key: np.ndarray,
  name: str,
) -> Item:
  """Return an example's arrays.

  Args:
    row: the example, see `examples.Examples.read`.
    kind: kind of the example.
    rule: rule of the crop; empty for none.
    key: uint32 `[2]`; not used by a rule that draws nothing.
    name: the example's id.

  Returns:
    `image` uint8 `[H, W, 3]` or `video` uint8 `[T, H, W, 3]`, and `label`; for
    pictures with masks `image` and `class_map` uint8 `[H, W]`, cut alike, or on
    the config's canvas, black and without a class beyond the picture; for
    pictures with objects `size` int32 `[2]`, `boxes` float32 `[G, 4]` (x0, y0,
    x1, y1 in px) and `labels` int32 `[G]`, -1 for padding, and `masks` bool
    `[G, H, W]` if `config.masks` is set.

  Raises:
    UserError: the example does not fit the clip, crop or canvas.
  """
  if kind == examples.OBJECTS:
    return _make_objects(row, config, name)
  if kind == examples.MASKS:
    if not rule and config.canvas:
      return _make_class_map(row, config, name)
    rule = rule or "whole"
    image = crops.apply(row["image"], rule, key, name=name)
    class_map = crops.apply_to_mask(row["class_map"], rule, key, name=name)
    return {"image": image, "class_map": class_map}
  label = np.int32(row["label"])
  if kind == examples.PICTURES:
    image = crops.apply(row["image"], rule or "whole", key, name=name)
    return {"image": image, "label": label}
  with errors.prefixed(name):
    frames = _clip(row, config, rule, key)
  video = crops.apply(frames, rule or "whole", key, name=name)
  return {"video": video, "label": label}


def _clip(
  row: Mapping[str, Any], config: Config, rule: str, key: np.ndarray
) -> np.ndarray:
  """Cut a clip: anywhere if the crop is random, else from the middle."""
  if not config.frames:
    raise errors.UserError(
      "a video, of which data.frames=0 are asked for. Expected the frames of the"
      " network's clip, and data.rate, the stride between them at 30 fps."
    )
  video = row["video"]
  at = 0.5
  if crops.is_random(rule):
    (own,) = seeding.frame_keys(key, np.array([_STREAM]))
    at = float(seeding.words(own, 1)[0]) * 2.0**-32

  def numbers(count: int) -> np.ndarray:
    clip = (count, row["fps"], config.frames, config.rate, np.array([at]))
    return videos.clip_numbers(*clip)[0]

  if isinstance(video, bytes):
    return _decoded(video, numbers)
  return video[numbers(len(video))]


def _decoded(
  video: bytes, numbers_of: Callable[[int], np.ndarray]
) -> np.ndarray:
  """Decode the frames of a clip.

  Only these frames are converted to RGB, in one pass over the file.
  """
  shown: list[int] = []

  def chosen(count: int) -> set[int]:
    shown.extend(numbers_of(count).tolist())
    return {*shown}

  frames = dict(video_files.frames_at(video, chosen))
  return np.stack([frames[number] for number in shown])


def _make_objects(row: Mapping[str, Any], config: Config, name: str) -> Item:
  """Place a picture with its objects in the corner of a canvas.

  Crowds and difficult objects are left out.
  """
  padded, size = _on_canvas(row["image"], config, name)
  known = [o for o in row["objects"] if not (o.is_crowd or o.is_difficult)]
  if len(known) > config.boxes:
    raise errors.UserError(
      f"{name}: {len(known)} objects, data.boxes={config.boxes}. Name as many as a"
      " picture may have."
    )
  boxes = np.zeros((config.boxes, 4), np.float32)
  labels = np.full(config.boxes, -1, np.int32)
  for i, each in enumerate(known):
    x, y, width, height = each.box
    boxes[i], labels[i] = (x, y, x + width, y + height), each.label
  item = {"image": padded, "size": size, "boxes": boxes, "labels": labels}
  if config.masks:
    item["masks"] = _masks(known, config, name)
  return item


def _make_class_map(row: Mapping[str, Any], config: Config, name: str) -> Item:
  """Place a picture and its class map in the corner of a canvas."""
  padded, _ = _on_canvas(row["image"], config, name)
  class_map = np.full(config.canvas, mask_labels.IGNORE, np.uint8)
  height, width = row["class_map"].shape
  class_map[:height, :width] = row["class_map"]
  return {"image": padded, "class_map": class_map}


def _on_canvas(
  image: np.ndarray, config: Config, name: str
) -> tuple[np.ndarray, np.ndarray]:
  """Place a picture in the corner of the config's canvas, and return its size."""
  rows, columns = config.canvas
  if image.shape[0] > rows or image.shape[1] > columns:
    raise errors.UserError(
      f"{name}: {image.shape[1]} x {image.shape[0]} px, the canvas has {columns} x"
      f" {rows}. Name one that holds every picture: data.canvas=(rows, columns)."
    )
  return canvas.pad(image, (rows, columns))


def _masks(
  listed_objects: Sequence[objects.Object], config: Config, name: str
) -> np.ndarray:
  """Return the objects' masks, bool `[G, H, W]` on the canvas."""
  masks = np.zeros((config.boxes, *config.canvas), bool)
  for i, each in enumerate(listed_objects):
    if each.mask is None:
      raise errors.UserError(
        f"{name}: object {each.id} has no mask, which the network learns from."
        " Name a set with masks, or a network without."
      )
    rows, columns = each.mask.size
    masks[i, :rows, :columns] = rle.decode(each.mask)
  return masks
