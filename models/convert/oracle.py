"""Reference implementations in torch, only for parity reports and tests.

A family's `oracles` names them: model -> `torchvision:resnet18`, `timm:...`,
`pretrainedmodels:...` or `pytorchcv:file.function:argument=1,...`. Nothing here
runs when models are used.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np

from models.convert import formats
from models.convert.match import Loaded
from models.model import Classifier, NetworkModel


def build(model: NetworkModel, **options: Any) -> Any:
  """Build the reference of a model with random weights, in evaluation mode.

  Args:
    model: from `models.get`.
    **options: options of the reference's constructor.

  Returns:
    A torch module, or None if the family names none for this model.

  Raises:
    ImportError: torch or the reference's package is not installed.
    RuntimeError: the package does not load beside this torch.
  """
  oracles = model.family.oracles
  if model.name not in oracles:
    return None
  package, _, name = oracles[model.name].partition(":")
  classes = model.spec.num_classes
  if package == "torchvision":
    library = importlib.import_module("torchvision.models")
    if name in ("inception_v3", "googlenet"):
      options = {"init_weights": False, **options}
    if name.startswith("vit_"):
      options = {"image_size": model.spec.fixed_px, **options}
    module = getattr(library, name)(
      weights=None, num_classes=classes, **options
    )
  elif package == "timm":
    library = importlib.import_module("timm")
    module = library.create_model(name, num_classes=classes, **options)
  elif package == "pytorchcv":
    where, _, given = name.partition(":")
    file, _, function = where.partition(".")
    folder = importlib.import_module("pytorchcv.models")
    library = importlib.import_module(f"{folder.__name__}.{file}")
    pairs = (pair.split("=") for pair in given.split(",") if pair)
    options = {**{key: int(value) for key, value in pairs}, **options}
    module = getattr(library, function)(num_classes=classes, **options)
  else:
    library = importlib.import_module("pretrainedmodels")
    module = getattr(library, name)(num_classes=classes, pretrained=None)
  return module.eval()


def logits(module: Any, batch: np.ndarray, *, as_array: bool = True) -> Any:
  """Return the reference's logits for float32 `[B, H, W, 3]`.

  Args:
    module: a torch module of pictures `[B, 3, H, W]`.
    batch: preprocessed pictures.
    as_array: whether the answer is logits to return as a numpy array; otherwise
      the module is run for its side effects (statistics in training mode).
  """
  import torch

  pixels = np.ascontiguousarray(batch.transpose(0, 3, 1, 2))
  with torch.no_grad():
    answer = module(torch.from_numpy(pixels))
  return answer.numpy() if as_array else None


def compare(
  model: Classifier,
  loaded: Loaded,
  module: Any,
  checkpoint: str | os.PathLike[str],
) -> dict[str, float]:
  """Compare our logits with the reference's on two seeded pictures of noise:
  max |d| and scale.
  """
  import torch

  state = {
    name: torch.from_numpy(np.ascontiguousarray(array))
    for name, array in formats.read(checkpoint).items()
  }
  module.load_state_dict(state)
  side = model.spec.input_px
  rng = np.random.default_rng(0)
  batch = rng.standard_normal((2, side, side, 3), np.float32)
  want = logits(module, batch)
  got = np.asarray(model.apply(loaded.variables, batch))
  return {
    "max_difference": float(np.abs(got - want).max()),
    "logit_scale": float(np.abs(want).max()),
  }
