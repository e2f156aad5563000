"""Bring your own detector: a callable becomes what the evaluator runs.

  def build():  # --config.model.name=my_module:build
    return own.traced(predict, num_classes=80)

`traced` takes a function of JAX arrays, `on_host` any Python function of numpy
arrays (a torch module, a remote service). Detectors with masks: `traced`, or
results lists in COCO's format (`python -m eval.score`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import errors
from robust_tfds.models import answers
from robust_tfds.models.detection.spec import DetectorSpec
from robust_tfds.models.model import Model

# Of a picture -> axes of one detection.
_EACH: dict[str, tuple[int, ...]] = {"boxes": (4,), "scores": (), "classes": ()}


@dataclasses.dataclass(frozen=True, eq=False)
class OwnDetector(Model):
  """A detector from elsewhere, behind the contract of `models.detection`.

  Attributes:
    name: what reports call it.
    spec: how many classes, of which label space.
    predict: (images uint8 `[B, H, W, 3]`, sizes int32 `[B, 2]`) -> arrays by
      name, see `traced`.
  """

  spec: DetectorSpec
  predict: Callable[[jax.Array, jax.Array], Mapping[str, jax.Array]]

  def init(self, key: jax.Array) -> dict[str, jax.Array]:
    """No weights: the function closes over them."""
    del key
    return {}

  def apply(
    self,
    variables: Any,
    batch: jax.typing.ArrayLike,
    sizes: jax.typing.ArrayLike,
  ) -> dict[str, jax.Array]:
    """Detections of a batch, checked.

    Raises:
      UserError: an array is missing or of another shape or dtype; says which.
    """
    del variables
    images = jnp.asarray(batch)
    answer = self.predict(images, jnp.asarray(sizes))
    return answers.detections(self.name, answer, len(images))


def traced(
  predict: Callable[[jax.Array, jax.Array], Mapping[str, jax.Array]],
  num_classes: int,
  *,
  label_space: str = "custom",
  name: str = "own",
) -> OwnDetector:
  """A detector that JAX can trace; it runs on the accelerators, sharded.

  Args:
    predict: (images uint8 `[B, H, W, 3]` RGB on canvases, sizes int32 `[B, 2]`,
      the valid (height, width) of each) -> `boxes` float32 `[B, N, 4]` (x1, y1,
      x2, y2 in px of the canvas), `scores` float32 `[B, N]`, `classes` int32
      `[B, N]` in 0..num_classes-1, `valid` bool `[B, N]`, and where it makes
      them `masks` float32 `[B, N, M, M]`, chances within each box.
    num_classes: must be the dataset's.
    label_space: whose classes; for the record.
    name: what reports call it.
  """
  if not callable(predict):
    raise errors.UserError(
      f"Got {type(predict).__name__}, expected a function of pictures."
    )
  spec = DetectorSpec(
    num_classes=num_classes, label_space=label_space, short_px=0
  )
  return OwnDetector(name, spec, predict)


def on_host(
  predict: Callable[[np.ndarray], Mapping[str, np.ndarray]],
  num_classes: int,
  *,
  detections: int = 100,
  label_space: str = "custom",
  name: str = "own",
) -> OwnDetector:
  """A detector in plain Python, called picture by picture on the host.

  Args:
    predict: uint8 `[h, w, 3]` RGB, one corrupted picture of its own size ->
      `boxes` `[n, 4]` (x1, y1, x2, y2 in px), `scores` `[n]`, `classes` `[n]`
      in 0..num_classes-1; n may differ from picture to picture and be 0.
    num_classes: must be the dataset's.
    detections: the best so many of each picture are kept.
    label_space: whose classes; for the record.
    name: what reports call it.

  Raises (when it runs):
    UserError: arrays of unequal length, a class outside the range.
  """
  if not callable(predict):
    raise errors.UserError(
      f"Got {type(predict).__name__}, expected a function of a picture."
    )

  def batch(images: np.ndarray, sizes: np.ndarray) -> dict[str, np.ndarray]:
    pictures = [
      np.asarray(image)[:h, :w]
      for image, (h, w) in zip(images, np.asarray(sizes), strict=True)
    ]
    each = [_padded(predict(p), detections, num_classes) for p in pictures]
    return {key: np.stack([arrays[key] for arrays in each]) for key in each[0]}

  def call(images: jax.Array, sizes: jax.Array) -> dict[str, jax.Array]:
    shape = (len(images), detections)
    kinds = {
      "boxes": jax.ShapeDtypeStruct((*shape, 4), jnp.float32),
      "scores": jax.ShapeDtypeStruct(shape, jnp.float32),
      "classes": jax.ShapeDtypeStruct(shape, jnp.int32),
      "valid": jax.ShapeDtypeStruct(shape, jnp.bool_),
    }
    arrays: dict[str, jax.Array] = jax.pure_callback(
      batch, kinds, images, sizes
    )
    return arrays

  return traced(call, num_classes, label_space=label_space, name=name)


def _padded(
  detections: Mapping[str, jax.typing.ArrayLike | Sequence[Any]],
  most: int,
  num_classes: int,
) -> dict[str, np.ndarray]:
  """The best `most` of a picture's detections, padded."""
  if not isinstance(detections, Mapping):
    raise errors.UserError(
      f"Got a {type(detections).__name__} for a picture, expected a dict of"
      f" {', '.join(_EACH)}."
    )
  missing = [key for key in _EACH if key not in detections]
  if missing:
    raise errors.UserError(
      f"Got {', '.join(map(str, detections)) or 'nothing'} for a picture, without"
      f" {', '.join(missing)}."
    )
  boxes, scores, classes = (
    _of_picture(key, detections[key], axes) for key, axes in _EACH.items()
  )
  if not len(boxes) == len(scores) == len(classes):
    raise errors.UserError(
      f"Got {len(boxes)} boxes, {len(scores)} scores and {len(classes)}"
      " classes of one picture, expected as many of each."
    )
  if len(classes) and not 0 <= classes.min() <= classes.max() < num_classes:
    raise errors.UserError(
      f"Got classes {classes.min():g}..{classes.max():g}, expected"
      f" 0..{num_classes - 1}: map your label ids first."
    )
  best = np.argsort(-scores, kind="stable")[:most]
  spare = most - len(best)
  return {
    "boxes": np.pad(boxes[best], ((0, spare), (0, 0))),
    "scores": np.pad(scores[best], (0, spare)),
    "classes": np.pad(classes[best], (0, spare)).astype(np.int32),
    "valid": np.arange(most) < len(best),
  }


def _of_picture(key: str, value: Any, axes: tuple[int, ...]) -> np.ndarray:
  """float32 `[n, *axes]`; an empty list is none of any shape."""
  try:
    array = np.asarray(value)
  except ValueError as e:  # lists of unequal length
    raise errors.UserError(f"Got {key} that are no array: {e}.") from e
  if not array.size:
    return np.zeros((0, *axes), np.float32)
  if array.dtype.kind not in "fiu" or array.shape[1:] != axes or not array.ndim:
    raise errors.UserError(
      f"Got {key} of {array.dtype} {list(array.shape)} for a picture, expected"
      f" real numbers {['n', *axes]}."
    )
  if not np.isfinite(array).all():
    raise errors.UserError(
      f"Got {key} for a picture with NaN or infinite values."
    )
  if key == "classes" and (array != np.trunc(array)).any():
    raise errors.UserError(
      f"Got classes {array[array != np.trunc(array)][0]} for a picture, expected"
      " whole numbers."
    )
  return array.astype(np.float32)
