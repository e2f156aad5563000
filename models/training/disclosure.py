"""disclosure.json: what a network was trained on and how, as boards show it.

The held-out rule: a network that saw a benchmark's condition in training is not
comparable with others. So a recipe that shows one is refused unless the config
says `allow_benchmark_conditions=True`, and then the conditions are listed here:
those of the recipe, of the data's names, and of the initial checkpoint. An
operation under another name, or in a user's own file, is the same operation.

These are no conditions [U]: rotations, shears and shifts of pictures, as AugMix
and PixMix draw them. ImageNet-P tests how answers move from frame to frame
under them, and random crops shift as well.
"""

from __future__ import annotations

import functools
import json
import operator
import os
import re
from typing import TYPE_CHECKING, Any

from etils import epath

from models import weights_file
from models.convert import sources
from models.training import named_conditions
from models.training.data.config import KEPT_PX
from models.training.named_conditions import Named
from robust_tfds import errors, reading
from robust_tfds.records import Record
from robust_tfds.storage import disk, paths

if TYPE_CHECKING:
  from models.training.config import Config
  from models.training.recipes import base

FILE = weights_file.DISCLOSURE
_STATES, _CONFIG = "checkpoints", "config.json"  # of a workdir
_RECIPE = "config.recipe.name"  # a key of a training's config.json
_TRAIN = "train"  # how the folder of a set's training pictures is often named
_NOT_STATED = "what that was trained on is not stated"

# Training data by patterns of torchvision's and timm's names of weights.
_OF_NAMES = (
  (re.compile(r"^torchvision:.*\.IMAGENET1K_"), "ImageNet-1k"),
  (re.compile(r"^torchvision:.*\.COCO_"), "COCO"),
  (re.compile(r"^torchvision:.*\.KINETICS400_"), "Kinetics-400"),
  (re.compile(r"^timm:.*in2[12]k_ft_in1k"), "ImageNet-21k, then ImageNet-1k"),
  (re.compile(r"^timm:[^_]*[._](?:\w+_)?in1k$"), "ImageNet-1k"),
)


class Disclosure(Record):
  """The contents of disclosure.json.

  Attributes:
    model: name of the network.
    classes: names in label order.
    data: the training data in words: `digits train`.
    examples: number of training examples.
    content: sha256 over ids and stored bytes of the examples of the split.
    conditions: sorted conditions of benchmarks that training showed.
    severities: their severities.
    pictures: pictures that were mixed in, in words.
    recipe: `config.recipe`.
    steps: number of training steps.
    batch_size: examples per step.
    seed: seed of the data's order, of all draws, of random initial weights.
    checkpoint: initial checkpoint; empty: random weights.
    before: training data of that checkpoint; empty if it is not stated.
    known: whether the conditions of the training and of all that it began with
      are known.
    head: why its head was drawn anew; empty if it was not.
    initial: sha256 of the initial weights.
    weights: sha256 of weights.npz.
    weights_ema: sha256 of weights_ema.npz, if there is one.
    code: version of the package.
  """

  model: str
  classes: list[str]
  data: str
  examples: int
  conditions: list[str]
  severities: list[int]
  pictures: str
  recipe: dict[str, Any]
  steps: int
  batch_size: int
  seed: int
  checkpoint: str
  initial: str
  weights: str
  before: str = ""
  known: bool = True
  content: str = ""
  head: str = ""
  weights_ema: str = ""
  code: str = ""

  @property
  def trained_on(self) -> str:
    """The training data and recipe in one line, as boards show them."""
    parts = [f"{self.data}: {self.recipe['name']}", self.pictures]
    if self.conditions:
      levels = ", ".join(map(str, self.severities))
      at = f" at {levels}" if levels else ""
      parts.append(f"on {', '.join(self.conditions)}{at}")
    parts.append(f"{self.steps:,} steps")
    if self.checkpoint:
      before = self.before or named_data(self.checkpoint) or _NOT_STATED
      parts.append(f"from {self.checkpoint} ({before})")
    return ", ".join(filter(None, parts))

  @property
  def corruptions_seen(self) -> list[str] | None:
    """The names of its conditions.

    They are None if those of its initial checkpoint are unknown.
    """
    return list(self.conditions) if self.known or self.conditions else None

  def write(self, workdir: epath.Path) -> None:
    """Write the file."""
    text = json.dumps(self.model_dump(), indent=1, sort_keys=True)
    disk.write_text(workdir / FILE, f"{text}\n")


def read(workdir: epath.Path) -> Disclosure | None:
  """Read the disclosure of a folder; None if there is none.

  Raises:
    UserError: the file is damaged.
  """
  path = workdir / FILE
  if not disk.exists(path):
    return None
  return reading.records(reading.json_file(path), Disclosure, str(path))


def named_data(checkpoint: str) -> str:
  """Return the training data that a torchvision or timm name states.

  The result is empty for other names.

  >>> named_data("timm:resnet50.a1_in1k"), named_data("/somewhere/resnet50.npz")
  ('ImageNet-1k', '')
  """
  for pattern, data in _OF_NAMES:
    if pattern.search(checkpoint):
      return data
  return ""


def read_checkpoint(text: str) -> Disclosure | None:
  """Return the disclosure that training wrote beside the weights that a
  checkpoint names.

  Args:
    text: a workdir of a training, or weights in one; or a link to either.

  Returns:
    The disclosure; None for other checkpoints.

  Raises:
    UserError: it is damaged or of other weights, or it is gone from a training's
      workdir.
  """
  _check_ended(paths.resolved(paths.parse(text, "checkpoint")))
  names = {
    weights_file.FILE: "weights",
    weights_file.EMA_FILE: "weights_ema",
  }
  folder = weights_file.folder_of(text)
  disclosed = read(folder)
  if disclosed is None:
    _check_no_training(folder)
    return None
  for name, field in names.items():
    digest = getattr(disclosed, field)
    if digest and disk.exists(folder / name):
      _check_weights(folder / name, digest)
  return disclosed


def _check_ended(place: epath.Path) -> None:
  """Refuse the state of an unfinished training: nothing is disclosed yet."""
  for folder in (place, *place.parents):
    if folder.name == _STATES and disk.exists(folder.parent / _CONFIG):
      raise errors.UserError(
        f"{place}: the state of a training under way, which discloses nothing. Let"
        f" it end, and name its workdir: {folder.parent}."
      )


def _check_no_training(folder: epath.Path) -> None:
  """Refuse weights in a training's workdir whose disclosure is gone."""
  file = folder / _CONFIG
  if not (disk.exists(file) and any(folder.glob("*.npz"))):
    return  # an unfinished training has no weights to load
  config = reading.json_file(file)
  if isinstance(config, dict) and _RECIPE in config:
    raise errors.UserError(
      f"{folder}: {_CONFIG} is of a training (recipe {config[_RECIPE]}), but"
      f" {FILE}, which says what the weights were trained on, is missing. Bring it"
      " back, train anew, or keep the weights in a folder of their own and say"
      " config.model.trained_on and config.model.corruptions_seen."
    )


def _check_weights(file: epath.Path, digest: str) -> None:
  if paths.sha256(file) != digest:
    raise errors.UserError(
      f"{file}: these are not the weights that {FILE} beside it is of (sha256"
      f" {digest}). Bring back the ones that training wrote, or keep other weights"
      " in a folder of their own and say config.model.trained_on."
    )


def data_in_words(config: Config) -> str:
  """Return the data in words: `digits train`.

  A path gives its last name, or the last two as in `pets/train`. Pixels of
  `data.cache` are said.
  """
  kind, colon, place = config.data.source.partition(":")
  parts = place.rstrip("/").split("/") if colon else [kind]
  two = kind == "tfds" or parts[-1].casefold().startswith(_TRAIN)
  name = "/".join(parts[-2:] if two else parts[-1:])
  name = name if parts[-1] == _TRAIN else f"{name} {config.data.split}"
  return name + f" at {KEPT_PX} px" * bool(config.data.cache)


def check(config: Config, recipe: base.Recipe) -> None:
  """Refuse a training on conditions of a benchmark, unless it is allowed.

  Raises:
    UserError: the training is refused; the message names the conditions and
      their origin.
  """
  if config.allow_benchmark_conditions:
    return
  for key, brought in _seen_by_key(config, recipe).items():
    if not brought.names:
      continue
    names = ", ".join(brought.names)
    words, other = f"it trains on {names}", ""
    if brought.text:
      words = f"by its name, {brought.text!r}, {words}"
      other = " If the folder holds something else, rename it."
    raise errors.UserError(
      f"{key}: {words}, which benchmarks test on."
      " A network that saw them is not comparable with others. Say"
      " --config.allow_benchmark_conditions=True where that is what you study:"
      f" its rows are marked then, and name them.{other}"
    )


def seen_conditions(config: Config, recipe: base.Recipe) -> Named:
  """Return every condition of a benchmark that the network will have seen."""
  every = _seen_by_key(config, recipe).values()
  return functools.reduce(operator.or_, every)


def _seen_by_key(config: Config, recipe: base.Recipe) -> dict[str, Named]:
  """Return the conditions that each key of the config brings."""
  before, shown = before_of(config), recipe.disclosure()
  names = named_conditions.benchmark_conditions(shown["conditions"])
  out = {
    "config.recipe": Named(names, shown["severities"]),
    "config.model.checkpoint": Named(before.conditions, before.severities)
    if before
    else Named(),
  }
  kind, _, place = config.data.source.partition(":")
  places = {"config.data.source": place or kind, **recipe.folders}
  for key, path in places.items():
    out[key] = named_conditions.place_conditions(path)
  return out


def before_of(config: Config) -> Disclosure | None:
  """Return the disclosure of the initial checkpoint."""
  text = os.fspath(config.model.checkpoint or "")
  if not text or sources.is_fetched(text):
    return None
  return read_checkpoint(text)
