"""Lets torchvision import beside a CPU torch, whose ops its wheel lacks.

torchvision registers fakes for operators of its C extension while it is
imported; where the extension does not load, their schemas must be defined
first. No kernel is needed by the classification models. Import this first.
"""

import torch

_SCHEMAS = {
  "nms": "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
  "qnms": ("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"),
  "roi_align": (
    "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt"
    " pooled_height, SymInt pooled_width, int sampling_ratio, bool aligned)"
    " -> Tensor"
  ),
}
# The definitions live as long as this object.
LIBRARY = torch.library.Library("torchvision", "FRAGMENT")


def _known(name: str) -> bool:
  try:
    return bool(getattr(torch.ops.torchvision, name))
  except (AttributeError, RuntimeError):
    return False


def define() -> None:
  """Defines the schemas that are missing; does nothing the second time."""
  for name, schema in _SCHEMAS.items():
    if not _known(name):
      LIBRARY.define(schema)


define()
