"""`--plan`: data, steps, memory and disclosure of a training; touches nothing.

For a workdir it also says whether a training would begin, continue, or be
refused. The time is known from the first steps: a training prints what is left.
"""

import importlib
import math
import os
import re
from collections.abc import Iterator
from typing import Any

import jax
from etils import epath

from models.convert import sources
from models.model import NetworkModel
from models.training import disclosure, initial, recipes, run
from models.training import workdir as workdir_lib
from models.training.config import Config
from models.training.data import examples
from models.training.data.config import FOLDERS, KEPT_PX, check_folder
from models.training.optimization import (
  checkpoints,
  loop,
  optimizers,
  schedules,
  state,
)
from models.training.recipes import base
from robust_tfds import datasets, devices, errors
from robust_tfds.datasets import training
from robust_tfds.storage import disk, paths
from robust_tfds.user_data import tfds_set

_KEPT_BYTES = KEPT_PX * KEPT_PX * 4  # of a picture of 4:3
_NORMS = ", which batch norms see by itself"
# Examples of `train` and classes, from the sets' papers.
_PUBLISHED = {
  "cifar10": (50_000, 10),
  "cifar100": (50_000, 100),
  "imagenet2012": (1_281_167, 1000),
  "imagenet_resized": (1_281_167, 1000),
}


def describe(config: Config) -> str:
  """Return the plan as text.

  Raises:
    UserError: a training of the config would be refused before it reads data.
  """
  recipe = recipes.make_recipe(config.recipe)
  _check_data(config, recipe)
  disclosure.check(config, recipe)
  loop.check_devices(config, devices.mesh())
  model = run.network(config, _classes(config))
  optimizer = optimizers.make_optimizer(config.optimizer, model.decayed_paths())
  steps, count = steps_of(config, recipe) or 1 << 30, _examples(config)
  per_epoch = _per_epoch(config, recipe, count) if count else 1
  rate = config.optimizer.learning_rate
  schedules.make_schedule(config.schedule, rate, steps, per_epoch)
  like = jax.eval_shape(
    lambda: state.first(
      model,
      model.init(jax.random.key(0)),
      optimizer,
      config,
    )
  )
  shown = recipe.disclosure()
  seen = disclosure.seen_conditions(config, recipe)
  conditions = ", ".join(seen.names) or "none"
  if seen.levels and seen.names:
    conditions += f" at {', '.join(map(str, seen.levels))}"
  if seen.names:
    conditions += ", and its rows are marked"
  return "\n".join(
    [
      *_data(config, recipe),
      f"network: {model.name}, {model.count_parameters():,} parameters,"
      f" {config.model.dtype}, from {_begins_with(config)}{_frozen(config, model)}",
      f"recipe: {_settings(config.recipe)}",
      f"optimizer: {_settings(config.optimizer.model_dump(exclude_unset=True))};"
      f" schedule: {_settings(config.schedule.model_dump(exclude_unset=True))}",
      f"memory of a device: {_mib(like):,.0f} MiB of weights, gradients and"
      f" optimizer; activations come on top{_parts_note(config)}",
      f"disclosure: trained on {disclosure.data_in_words(config)}; conditions of"
      f" benchmarks: {conditions}; mixed in: {shown['pictures'] or 'nothing'}",
    ]
  )


def describe_workdir(config: Config, workdir: epath.Path) -> str:
  """Return whether a training of the config would begin or continue in a folder.

  Nothing is written. The examples, the checkpoints and the sha256 of an initial
  checkpoint are compared when the training continues.

  Raises:
    UserError: the training would be refused, in the same words.
  """
  words = "new"
  if workdir_lib.check(workdir, workdir_lib.facts(config)):
    words = "begun, without a checkpoint: it begins again"
    if disk.exists(workdir / checkpoints.FOLDER):
      words = "begun: it continues after its last checkpoint"
    if disk.exists(workdir / disclosure.FILE):
      words = "done"
  return f"workdir: {workdir}, {words}"


def _data(config: Config, recipe: base.Recipe) -> Iterator[str]:
  """Yield what is read, and how many steps that makes."""
  count = _examples(config)
  counted = "examples are counted when it is opened"
  if count:
    counted = f"{count:,} examples"
  held = config.data.validation
  held_out = f", {held:.3g} of them held out by id to choose on" * bool(held)
  kind, _, place = config.data.source.partition(":")
  where = f"{config.data.source} {config.data.split}"
  where += _not_here(place) if kind in FOLDERS else ""
  yield f"data: {where}, {counted}{held_out}"
  if config.data.cache:
    size = f", about {count * _KEPT_BYTES / 1e9:,.1f} GB" if count else ""
    yield f"cache: decoded pictures of {KEPT_PX} px in {config.data.cache}{size}"
  steps = steps_of(config, recipe)
  step_words = f"{steps:,} steps" if steps else "an unknown number of steps"
  if steps and not config.steps and held:
    step_words = f"about {step_words}"  # ids say how many are held out
  epochs = f"{config.epochs} epochs, " * bool(config.epochs)
  yield f"steps: {epochs}{step_words} of {config.batch_size} examples"


def _begins_with(config: Config) -> str:
  text = os.fspath(config.model.checkpoint or "")
  if not text:
    return "random weights (config.model.checkpoint names others)"
  return text if sources.is_fetched(text) else f"{text}{_not_here(text)}"


def _frozen(config: Config, model: NetworkModel) -> str:
  """Return which parts of the network are not trained; empty if all are."""
  words = [initial.frozen_at_random(config)]
  if config.model.frozen_stages and not words[0]:
    words = [f"the first {config.model.frozen_stages} of its stages are frozen"]
  if model.statistics() and state.frozen_norms(model, config):
    words.append("statistics of its norms are frozen")
  return "".join(f"; {each}" for each in words if each)


def _not_here(place: str) -> str:
  """Return a note if a path is not here: a plan may be for another machine."""
  path = paths.parse(place)
  return "" if not paths.is_local(path) or path.exists() else " (not here)"


def _examples(config: Config) -> int | None:
  """Return the number of examples of a generated or published set.

  The result is None if it is unknown.
  """
  name, split = config.data.source, config.data.split
  if name in training.ROWS:
    is_list = split == training.TRAIN
    return training.ROWS[name].examples or None if is_list else None
  if name not in datasets.names():
    return _published(name)[0] if split == "train" else None
  if split not in datasets.builder_class(name).splits():
    return None  # a part of one
  module = importlib.import_module(datasets.builder_class(name).__module__)
  known = getattr(module, "labels", None)
  if known:
    return len(known(split))
  counts = getattr(getattr(module, "scenes", None), "COUNTS", {})
  return counts.get(split)


def _classes(config: Config) -> int | None:
  """Return the number of classes of the data; None if unknown before reading."""
  name = config.data.source
  if config.data.classes:
    return len(config.data.classes)
  if name in training.ROWS:
    name = training.ROWS[name].of
  return datasets.classes(name) or _published(name)[1]


def _published(name: str) -> tuple[int, int] | tuple[None, None]:
  """Return examples of `train` and classes of `tfds:NAME`, if published."""
  kind, _, place = name.partition(":")
  known = _PUBLISHED.get(re.split("[/:]", place)[0]) if kind == "tfds" else None
  return known or (None, None)


def steps_of(config: Config, recipe: base.Recipe) -> int | None:
  """Return the number of steps of a training.

  The result is None if it is unknown until the data is read.
  """
  count = _examples(config)
  if config.steps or not count:
    return config.steps or None
  return config.epochs * _per_epoch(config, recipe, count)


def _per_epoch(config: Config, recipe: base.Recipe, count: int) -> int:
  return _epoch_examples(config, recipe, count) // config.batch_size


def _epoch_examples(config: Config, recipe: base.Recipe, count: int) -> int:
  """Return the examples that an epoch shows, for `count` examples of the split."""
  return recipe.copies * math.floor(count * (1 - config.data.validation))


def _check_data(config: Config, recipe: base.Recipe) -> None:
  """Refuse a wrong config of the data before the data has to be here."""
  name = config.data.source
  if not re.match("(folder|masks|tfds):.", name):
    examples.check_name(name)
    if name not in training.ROWS:
      splits = datasets.builder_class(name).splits()
      for split in tfds_set.split_names(config.data.split):
        if split not in splits:
          raise errors.unknown_error(f"split of {name}", split, splits)
  for key, place in recipe.folders.items():
    check_folder(key, place)
  count = _examples(config)
  if count:
    loop.Lengths.from_config(config, _epoch_examples(config, recipe, count))


def _parts_note(config: Config) -> str:
  parts = config.optimizer.accumulate
  return f" (of one of {parts} parts of a batch{_NORMS})" if parts > 1 else ""


def _mib(like: state.State) -> float:
  """Return the MiB of a state and of its gradients."""
  arrays = [*jax.tree.leaves(like), *like.parameters.values()]
  return sum(math.prod(x.shape) * x.dtype.itemsize for x in arrays) / 2**20


def _settings(values: Any) -> str:
  """Return the settings that are not zero or empty, in words."""
  shown = {k: v for k, v in values.items() if v not in (0, "", (), False)}
  name = shown.pop("name", "")
  rest = ", ".join(f"{k} {v}" for k, v in shown.items())
  return f"{name} ({rest})" if rest else str(name)
