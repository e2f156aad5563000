"""A detector that is a Python function of one picture, called picture by picture.

Each picture is cut from its canvas, so that the function sees it at its own
size. It answers with a dict of `boxes` `[n, 4]` (x1, y1, x2, y2 in px),
`scores` `[n]` and `classes` `[n]` in 0..num_classes-1; n may differ from
picture to picture and be 0. If there are more than `spec.detections`, the best
are taken. If it finds masks, `masks` are `[n, h, w]` (bool, or probabilities:
0.5 and above is the object), or a list of COCO's run lengths (`{"size": [h, w],
"counts": text}`).
"""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from models.checks import arguments
from models.detection.spec import DetectorSpec
from robust_tfds import errors

# Name -> axes of one detection.
_EACH: dict[str, tuple[int, ...]] = {"boxes": (4,), "scores": (), "classes": ()}

_THRESHOLD = 0.5  # as in torchvision

Detections = dict[str, np.ndarray]


def detections(
  name: str,
  spec: DetectorSpec,
  function: Callable[[np.ndarray], Mapping[str, Any]],
  canvases: np.ndarray,
  sizes: np.ndarray | None = None,
) -> Detections:
  """Return detections of a batch, in the form of all detectors.

  Args:
    name: name of the model, for errors.
    spec: spec with the numbers of classes and of detections.
    function: maps uint8 `[h, w, 3]` RGB to its detections.
    canvases: uint8 `[B, H, W, 3]`, pictures in their top-left corners.
    sizes: int `[B, 2]`, (height, width) of each picture; None: the whole
      canvas.

  Returns:
    `boxes` float32 `[B, N, 4]`, `scores` float32 `[B, N]` by decreasing value,
    `classes` int32 `[B, N]`, `valid` bool `[B, N]`; if there are masks, `masks`
    `[B, N]`, texts: COCO's compressed run lengths, empty without a detection.

  Raises:
    UserError: canvases or sizes have a wrong shape; arrays are missing, differ
      in length, have a wrong shape or dtype, or are not finite; a class is out
      of range; or only some pictures have masks.
  """
  spec.check_shape(name, canvases.shape)
  each = []
  pairs = np.asarray(arguments.sizes(name, sizes, canvases))
  for canvas, (high, wide) in zip(canvases, pairs):
    answer = function(np.ascontiguousarray(canvas[:high, :wide]))
    each.append(_padded(name, spec, answer, (int(high), int(wide))))
  with_masks = sum("masks" in arrays for arrays in each)
  if with_masks not in (0, len(each)):
    raise errors.UserError(
      f"{name} gave masks for {with_masks} of {len(each)} pictures, expected them"
      " for all or none; for a picture without detections, an empty list."
    )
  return {key: np.stack([arrays[key] for arrays in each]) for key in each[0]}


def _padded(
  name: str, spec: DetectorSpec, answer: Any, size: tuple[int, int]
) -> Detections:
  """Return the best detections of a picture, padded to the spec's number."""
  if not isinstance(answer, Mapping):
    raise errors.UserError(
      f"{name} answered with a {type(answer).__name__} for a picture, expected a"
      f" dict of {', '.join(_EACH)}."
    )
  if "keypoints" in answer:
    text = f"{name} gives keypoints, which are not evaluated: its boxes are."
    warnings.warn(text, stacklevel=2)
  missing = [key for key in _EACH if key not in answer]
  if missing:
    raise errors.UserError(
      f"{name} gave {', '.join(map(str, answer)) or 'nothing'} for a picture,"
      f" without {', '.join(missing)}."
    )
  boxes, scores, classes = (
    _picture_array(name, key, answer[key], axes) for key, axes in _EACH.items()
  )
  if not len(boxes) == len(scores) == len(classes):
    raise errors.UserError(
      f"{name} gave {len(boxes)} boxes, {len(scores)} scores and {len(classes)}"
      " classes of one picture, expected as many of each."
    )
  last = spec.num_classes - 1
  if len(classes) and not 0 <= classes.min() <= classes.max() <= last:
    raise errors.UserError(
      f"{name} gave classes {classes.min():g}..{classes.max():g}, expected"
      f" 0..{last}: map your label ids first."
    )
  best = np.argsort(-scores, kind="stable")[: spec.detections]
  spare = spec.detections - len(best)
  padded = {
    "boxes": np.pad(boxes[best], ((0, spare), (0, 0))),
    "scores": np.pad(scores[best], (0, spare)),
    "classes": np.pad(classes[best], (0, spare)).astype(np.int32),
    "valid": np.arange(spec.detections) < len(best),
  }
  if "masks" in answer:
    texts = _texts(name, answer["masks"], len(scores), best, size)
    padded["masks"] = np.array([*texts, *[""] * spare], np.object_)
  return padded


def _texts(
  name: str, masks: Any, count: int, best: np.ndarray, size: tuple[int, int]
) -> list[str]:
  """Return the best masks of a picture as compressed run lengths.

  Args:
    name: name of the model, for errors.
    masks: see the top of this file.
    count: number of detections.
    best: indices of the best detections.
    size: (height, width) of the picture.
  """
  from robust_tfds.coco import rle

  if not count and not len(masks):
    return []
  if len(masks) and isinstance(masks[0], Mapping):
    return _given_texts(name, [masks[i] for i in best], size)
  array = np.asarray(masks)
  if array.shape != (count, *size) or array.dtype.kind not in "biuf":
    raise errors.UserError(
      f"{name} gave masks of {array.dtype} {list(array.shape)} for a picture,"
      f" expected real numbers {[count, *size]}: a mask of the whole picture for"
      " each box."
    )
  return [rle.encode(array[i] >= _THRESHOLD).counts for i in best]


def _given_texts(
  name: str, masks: list[Mapping[str, Any]], size: tuple[int, int]
) -> list[str]:
  """Return the texts of masks that are run lengths already."""
  from robust_tfds.coco import rle

  texts = []
  for mask in masks:
    counts = mask.get("counts")
    text = counts.decode("ascii") if isinstance(counts, bytes) else counts
    if not isinstance(text, str) or list(mask.get("size", ())) != list(size):
      raise errors.UserError(
        f"{name} gave a mask of size {mask.get('size')} with counts of type"
        f" {type(counts).__name__}, expected size {list(size)}, the picture's,"
        " and compressed counts (text)."
      )
    texts.append(text)
  fault = rle.first_broken(texts, [size] * len(texts))
  if fault:
    raise errors.UserError(
      f"{name} gave mask {fault[0]} that is broken: {fault[1]}"
    )
  return texts


def _picture_array(
  name: str, key: str, value: Any, axes: tuple[int, ...]
) -> np.ndarray:
  """Return values as float32 `[n, *axes]`; an empty list has any shape."""
  try:
    array = np.asarray(value)
  except (TypeError, ValueError, RuntimeError) as e:
    # Lists of unequal length; tensors of a device, or with a gradient.
    raise errors.UserError(
      f"{name} gave {key} that are no array: {errors.user_fault(e)}"
    ) from e
  if not array.size:
    return np.zeros((0, *axes), np.float32)
  if array.dtype.kind not in "fiu" or array.shape[1:] != axes or not array.ndim:
    raise errors.UserError(
      f"{name} gave {key} of {array.dtype} {list(array.shape)} for a picture,"
      f" expected real numbers {['n', *axes]}."
    )
  if not np.isfinite(array).all():
    raise errors.UserError(
      f"{name} gave {key} for a picture with NaN or infinite values."
    )
  if key == "classes" and (array != np.trunc(array)).any():
    raise errors.UserError(
      f"{name} gave classes {array[array != np.trunc(array)][0]} for a picture,"
      " expected whole numbers."
    )
  return array.astype(np.float32)
