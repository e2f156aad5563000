"""Lets torchvision import beside a CPU torch, whose ops its wheel lacks.

torchvision registers fakes for operators of its C extension while it is
imported; where the extension does not load, their schemas must be defined
first. No kernel is needed by the classification models.
"""

import importlib
from typing import Any

from absl.testing import absltest

_SCHEMAS = {
  "nms": "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
  "qnms": "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
  "roi_align": (
    "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt"
    " pooled_height, SymInt pooled_width, int sampling_ratio, bool aligned)"
    " -> Tensor"
  ),
}
_LIBRARIES: list = []  # a definition lives as long as its library object


def define() -> None:
  """Defines what is missing; call before importing torchvision.

  A torchvision whose extension loads is only imported: an operator that is
  defined before its extension loads ends the process.

  Raises:
    ImportError: torch is not installed.
  """
  import torch

  try:
    importlib.import_module("torchvision")
  except (ImportError, RuntimeError):
    pass
  else:
    return

  def known(name: str) -> bool:
    try:
      return bool(getattr(torch.ops.torchvision, name))
    except (AttributeError, RuntimeError):
      return False

  missing = [schema for name, schema in _SCHEMAS.items() if not known(name)]
  if missing:
    library = torch.library.Library("torchvision", "FRAGMENT")
    for schema in missing:
      library.define(schema)
    _LIBRARIES.append(library)


def package(name: str = "torch") -> Any:
  """torch, or a package on it; skips the test where one of them is missing."""
  try:
    torch = importlib.import_module("torch")
    define()
    module = importlib.import_module(name)
  except ImportError as error:
    raise absltest.unittest.SkipTest(
      f"The extra `convert` is not installed: {error}"
    ) from error
  torch.set_num_threads(2)
  return module
