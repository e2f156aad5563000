"""A detector that is a Python function of one picture, called picture by picture.

Each picture is cut from its canvas, so that the function sees it at its own
size. It answers with a dict of `boxes` `[n, 4]` (x1, y1, x2, y2 in px),
`scores` `[n]` and `classes` `[n]` in 0..num_classes-1; n may differ from picture
to picture and be 0. Of more than `spec.detections` the best are taken.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

import numpy as np

from robust_tfds import errors
from robust_tfds.models.detection.spec import DetectorSpec

# Of a picture -> axes of one detection.
_EACH: dict[str, tuple[int, ...]] = {"boxes": (4,), "scores": (), "classes": ()}

Detections = dict[str, np.ndarray]


def detections(
  name: str,
  spec: DetectorSpec,
  function: Callable[[np.ndarray], Mapping[str, Any]],
  canvases: np.ndarray,
  sizes: np.ndarray | None = None,
) -> Detections:
  """Detections of a batch, in the form of all detectors.

  Args:
    name: of the model, for errors.
    spec: says how many classes, and how many detections are taken.
    function: uint8 `[h, w, 3]` RGB -> detections of it.
    canvases: uint8 `[B, H, W, 3]`, pictures in their top-left corners.
    sizes: int `[B, 2]`, the (height, width) of each; None: all of its canvas.

  Returns:
    `boxes` float32 `[B, N, 4]`, `scores` float32 `[B, N]` by decreasing value,
    `classes` int32 `[B, N]`, `valid` bool `[B, N]`.

  Raises:
    UserError: canvases or sizes of another shape; arrays that are missing, of
      unequal length, another shape or dtype, not finite, or a class outside of
      the range.
  """
  if canvases.ndim != 4 or canvases.shape[-1] != 3:
    raise errors.UserError(
      f"{name} got a batch of shape {canvases.shape}, expected [B, H, W, 3]."
    )
  if sizes is None:
    sizes = np.tile(canvases.shape[1:3], (len(canvases), 1))
  sizes = np.asarray(sizes)
  if sizes.shape != (len(canvases), 2) or sizes.dtype.kind not in "iu":
    raise errors.UserError(
      f"{name} got sizes {sizes.dtype} {list(sizes.shape)}, expected int32"
      f" {[len(canvases), 2]}: the (height, width) of each picture in px."
    )
  each = [
    _padded(name, spec, function(np.ascontiguousarray(canvas[:high, :wide])))
    for canvas, (high, wide) in zip(canvases, sizes)
  ]
  return {key: np.stack([arrays[key] for arrays in each]) for key in each[0]}


def _padded(name: str, spec: DetectorSpec, answer: Any) -> Detections:
  """The best detections of a picture, as many as the spec says."""
  if not isinstance(answer, Mapping):
    raise errors.UserError(
      f"{name} answered with a {type(answer).__name__} for a picture, expected a"
      f" dict of {', '.join(_EACH)}."
    )
  missing = [key for key in _EACH if key not in answer]
  if missing:
    raise errors.UserError(
      f"{name} gave {', '.join(map(str, answer)) or 'nothing'} for a picture,"
      f" without {', '.join(missing)}."
    )
  boxes, scores, classes = (
    _of_picture(name, key, answer[key], axes) for key, axes in _EACH.items()
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
  return {
    "boxes": np.pad(boxes[best], ((0, spare), (0, 0))),
    "scores": np.pad(scores[best], (0, spare)),
    "classes": np.pad(classes[best], (0, spare)).astype(np.int32),
    "valid": np.arange(spec.detections) < len(best),
  }


def _of_picture(
  name: str, key: str, value: Any, axes: tuple[int, ...]
) -> np.ndarray:
  """float32 `[n, *axes]`; an empty list is none of any shape."""
  try:
    array = np.asarray(value)
  except (TypeError, ValueError, RuntimeError) as e:
    # Lists of unequal length; tensors of a device, or with a gradient.
    raise errors.UserError(
      f"{name} gave {key} that are no array: {errors.of_user(e)}"
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
