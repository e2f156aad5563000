"""Torch detectors on the host: torchvision's, and those of `transformers`.

The arguments of a module's `forward` tell them apart: `pixel_values` belongs to
a model of `transformers`, whose pictures are resized and normalised by the
spec. Other modules are given a list of one picture in 0..1, like torchvision's
detectors, which resize and normalise by themselves.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from models.detection import label_ids, outputs
from models.detection.spec import DetectorSpec
from robust_tfds import errors, resizing

Function = Callable[[np.ndarray], outputs.Detections]


def function(
  net: Any, spec: DetectorSpec, name: str, labels: label_ids.Labels | None
) -> Function:
  """Return a detector as a function of one picture, for `adapters.OnHost`.

  Args:
    net: a `torch.nn.Module` in evaluation mode; it runs where its weights are.
    spec: spec, for `transformers`' models also with the resize rule
      (`short_px`, `long_px`) and the normalisation.
    name: name of the model, for errors.
    labels: meaning of its label ids, see `label_ids.classes`.

  Returns:
    A function from uint8 `[h, w, 3]` to `boxes`, `scores`, `classes`.

  Raises:
    UserError: `labels` are not understood.
  """
  known = label_ids.classes(name, spec, labels)
  if "pixel_values" in inspect.signature(net.forward).parameters:
    return lambda picture: _run_transformers(net, spec, name, known, picture)
  return lambda picture: _run_torchvision(net, name, known, picture)


def _run_torchvision(
  net: Any, name: str, classes_by_id: dict[int, int], picture: np.ndarray
) -> outputs.Detections:
  pixels = picture.transpose(2, 0, 1).astype(np.float32) / np.float32(255)
  answer = _call(net, lambda tensor: net([tensor]), pixels)
  listed = isinstance(answer, (list, tuple)) and len(answer) == 1
  if not listed or not isinstance(answer[0], Mapping):
    raise errors.UserError(
      f"{name} answered with a {type(answer).__name__} to a list of one picture"
      " [3, h, w] in 0..1, expected a list of one dict of boxes, scores and"
      " labels. Of another form, write a function of a picture:"
      " adapters.get('on_host')(function, spec)."
    )
  arrays = {key: value.cpu().numpy() for key, value in answer[0].items()}
  return outputs.from_boxes(name, arrays, classes_by_id)


def _run_transformers(
  net: Any,
  spec: DetectorSpec,
  name: str,
  classes_by_id: dict[int, int],
  picture: np.ndarray,
) -> outputs.Detections:
  resized = _resized(picture, spec)
  pixels = spec.normalize_on_host(resized).transpose(2, 0, 1)
  answer = _call(net, lambda tensor: net(pixel_values=tensor[None]), pixels)
  missing = [key for key in ("logits", "pred_boxes") if key not in answer]
  if missing:
    raise errors.UserError(
      f"{name} gave {', '.join(answer)}, without {', '.join(missing)}: it is no"
      " detector of boxes. Of another form, write a function of a picture:"
      " adapters.get('on_host')(function, spec)."
    )
  arrays = {
    key: answer[key][0].float().cpu().numpy()
    for key in ("logits", "pred_boxes")
  }
  labels = net.config.num_labels
  return outputs.from_queries(
    name, arrays, classes_by_id, labels, picture.shape[:2]
  )


def _call(net: Any, call: Callable[[Any], Any], pixels: np.ndarray) -> Any:
  """Call the module with a picture, on its device and in its dtype."""
  import torch

  weight = next(net.parameters(), torch.zeros(0))
  tensor = torch.from_numpy(np.ascontiguousarray(pixels))
  with torch.inference_mode():
    return call(tensor.to(weight.device, weight.dtype))


def _resized(picture: np.ndarray, spec: DetectorSpec) -> np.ndarray:
  """Resize a picture by the rule of DETR's transforms, bilinear and antialiased."""
  height, width = picture.shape[:2]
  high, wide = resized_px(height, width, spec)
  if (high, wide) == (height, width):
    return picture
  down, across = resizing.taps(height, high), resizing.taps(width, wide)
  return resizing.resized(picture, down, across)


def resized_px(height: int, width: int, spec: DetectorSpec) -> tuple[int, int]:
  """Return (height, width) after DETR's rule (its datasets/transforms.py).

  The shorter side becomes `short_px`, unless the longer one would exceed
  `long_px`: then the shorter one is rounded, the longer one floored.

  >>> resized_px(480, 640, DetectorSpec())
  (800, 1066)
  >>> resized_px(300, 900, DetectorSpec())
  (444, 1333)
  """
  if not spec.short_px:
    return height, width
  low, high = min(height, width), max(height, width)
  short = float(spec.short_px)
  if high / low * short > spec.long_px:
    short = spec.long_px * low / high
  long_px = int(short * high / low)
  short_px = round(short)
  if low == short_px:
    return height, width
  return (short_px, long_px) if height <= width else (long_px, short_px)
