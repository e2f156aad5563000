"""What a run's model was trained on, as far as somebody says it.

The config says it (`trained_on`, `corruptions_seen` of a model's entry); of a model
that the run trains its recipe does, of one that `robust-tfds train` made its
disclosure.json, and its checkpoint's name where that is one of torchvision's or timm's.
Otherwise nobody knows.
"""

from __future__ import annotations

import os
import re
import typing

from robust_tfds.eval.cells import cell_facts
from robust_tfds.eval.run.config import Model
from robust_tfds.models import weights_file
from robust_tfds.models.convert import sources
from robust_tfds.storage import paths

if typing.TYPE_CHECKING:
  from robust_tfds.models.training.disclosure import Disclosure

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
  disclosed = of_training(entry)
  if disclosed:
    return disclosed.trained_on
  checkpoint = os.fspath(entry.checkpoint or entry.name)
  for pattern, data in _OF_NAMES:
    if pattern.search(checkpoint):
      return data
  return None


def of_training(entry: Model) -> Disclosure | None:
  """What `robust-tfds train` wrote beside the checkpoint; None of others.

  Raises:
    UserError: it is damaged.
  """
  from robust_tfds.models.training import disclosure, handover

  text = os.fspath(entry.checkpoint or "")
  if not text or sources.is_fetched(text):
    return None
  place = paths.of(text, "config.model.checkpoint")
  if place.name in (weights_file.FILE, handover.EMA_FILE):
    place = place.parent
  return disclosure.read(place)


def corruptions_seen(entry: Model) -> list[str] | None:
  """Names of the conditions it was trained on; None where nobody says them.

  Raises:
    UserError: a name that is no corruption or perturbation.
  """
  stated = entry.corruptions_seen
  if not stated:
    disclosed = of_training(entry)
    if disclosed:
      return list(disclosed.conditions)
    return [] if entry.train else None  # recipes flip and crop alone
  names = stated.split(",") if isinstance(stated, str) else list(stated)
  return cell_facts.conditions_seen(names, "config.model.corruptions_seen")
