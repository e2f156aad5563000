"""TensorFlow detectors on the host, with the outputs of tf-models-official.

Its RetinaNet and Mask R-CNN suppress by themselves and answer with
`detection_boxes`, `detection_scores`, `detection_classes` and `num_detections`
(official/vision/modeling/retinanet_model.py). Pictures are prepared as its parsers
do (official/vision/ops/preprocess_ops.py, resize_and_crop_image): normalised,
resized to fit a square canvas, in its top-left corner.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from models.detection import label_ids, outputs
from models.detection.spec import DetectorSpec
from robust_tfds import errors

_KEYS = (
  "detection_boxes",
  "detection_scores",
  "detection_classes",
  "num_detections",
)


def function(
  model: Callable[..., Any],
  spec: DetectorSpec,
  name: str,
  labels: label_ids.Labels | None,
  options: Mapping[str, Any],
) -> Callable[[np.ndarray], outputs.Detections]:
  """Return a detector as a function of one picture, for `adapters.OnHost`.

  Args:
    model: maps (float32 `[1, S, S, 3]`, image_shape=`[[S, S]]`) to a dict of
      the above, with boxes (y1, x1, y2, x2) in px of the canvas.
    spec: spec whose `long_px` is S, with the normalisation.
    name: name of the model, for errors.
    labels: meaning of its label ids, see `label_ids.classes`.
    options: options of every call.

  Returns:
    A function from uint8 `[h, w, 3]` to `boxes`, `scores`, `classes`.

  Raises:
    UserError: `labels` are not understood.
  """
  import tensorflow as tf

  known = label_ids.classes(name, spec, labels)

  def detect(picture: np.ndarray) -> outputs.Detections:
    canvas, scale = _prepared(picture, spec)
    # Its tasks pass the canvas's size too (image_info[1] of the parser).
    shape = tf.constant([canvas.shape[:2]])
    answer = model(tf.constant(canvas[None]), image_shape=shape, **options)
    arrays = _arrays(name, answer)
    count = int(arrays["num_detections"])
    boxes = arrays["detection_boxes"][:count] / np.tile(scale, 2)
    listed = {
      "boxes": boxes[:, [1, 0, 3, 2]],
      "scores": arrays["detection_scores"][:count],
      "labels": arrays["detection_classes"][:count],
    }
    return outputs.from_boxes(name, listed, known)

  return detect


def _prepared(
  picture: np.ndarray, spec: DetectorSpec
) -> tuple[np.ndarray, np.ndarray]:
  """Return the canvas, and the picture's scale along each axis."""
  import tensorflow as tf

  side = spec.long_px
  old = np.asarray(picture.shape[:2], np.float32)
  # Halves to even, as tf.round does.
  size = np.round(old * np.min(side / old)).astype(np.int32)
  resized = tf.image.resize(spec.normalize_on_host(picture), size)
  canvas = np.zeros((side, side, 3), np.float32)
  canvas[: size[0], : size[1]] = resized.numpy()
  return canvas, size / old


def _arrays(name: str, answer: Any) -> dict[str, np.ndarray]:
  """Return the first picture's arrays."""
  missing = [k for k in _KEYS if not isinstance(answer, Mapping)]
  missing = missing or [k for k in _KEYS if k not in answer]
  if missing:
    raise errors.UserError(
      f"{name} answered with a {type(answer).__name__} without"
      f" {', '.join(missing)}. Call it with training=False; of another form,"
      " write a function of a picture: adapters.get('on_host')(function, spec)."
    )
  return {key: np.asarray(answer[key])[0] for key in _KEYS}
