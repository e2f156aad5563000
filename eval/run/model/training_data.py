"""What a run's model was trained on, as far as somebody says it.

The config says it (`trained_on`, `corruptions_seen` of a model's entry); of a model
that the run trains its recipe does, and its checkpoint's name where that is one of
torchvision's or timm's. Otherwise nobody knows.
"""

import os
import re

from robust_tfds.eval.cells import cell_facts
from robust_tfds.eval.run.config import Model

# How torchvision's and timm's names of weights say what they were trained on.
_OF_NAMES = (
  (re.compile(r"^torchvision:.*\.IMAGENET1K_"), "ImageNet-1k"),
  (re.compile(r"^torchvision:.*\.COCO_"), "COCO"),
  (re.compile(r"^torchvision:.*\.KINETICS400_"), "Kinetics-400"),
  (re.compile(r"^timm:.*in2[12]k_ft_in1k"), "ImageNet-21k, then ImageNet-1k"),
  (re.compile(r"^timm:[^_]*[._](?:\w+_)?in1k$"), "ImageNet-1k"),
)


def words(entry: Model) -> str | None:
  """The training data in words; None where nobody says them.

  Also how a last layer was fitted, where the run does it.
  """
  of_network = _of_network(entry)
  if not entry.last_layer:
    return of_network
  recipe = ", ".join(
    f"{k} {v}" for k, v in entry.last_layer.model_dump().items()
  )
  return f"{of_network or 'nobody says what'}; last layer: {recipe}"


def _of_network(entry: Model) -> str | None:
  if entry.trained_on:
    return entry.trained_on
  if entry.train:
    return f"{entry.train.dataset} {entry.train.split}"
  checkpoint = os.fspath(entry.checkpoint or entry.name)
  for pattern, data in _OF_NAMES:
    if pattern.search(checkpoint):
      return data
  return None


def corruptions_seen(entry: Model) -> list[str] | None:
  """Names of the conditions it was trained on; None where nobody says them.

  Raises:
    UserError: a name that is no corruption or perturbation.
  """
  stated = entry.corruptions_seen
  if not stated:
    return [] if entry.train else None  # recipes flip and crop alone
  names = stated.split(",") if isinstance(stated, str) else list(stated)
  return cell_facts.conditions_seen(names, "config.model.corruptions_seen")
