"""`--plan`: data, steps, memory, disclosure and an estimate; touches nothing.

The estimate is the network's multiply-adds, three times for a step (forward,
and twice back), over an assumed rate of the device: a guess, to tell minutes
from days. Measured steps are more precise. For a workdir it shows what a
training would find there, or why it would be refused.
"""

import errno
import importlib
import math
import os
import pathlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import numpy as np
from etils import epath

from models import multiply_adds
from models.convert import sources
from models.detection.detector import Detector
from models.model import NetworkModel
from models.training import disclosure, initial, recipes, run
from models.training import workdir as workdir_lib
from models.training.config import Config
from models.training.data import examples
from models.training.data.config import check_folder
from models.training.optimization import (
  activations,
  checkpoints,
  loop,
  optimizers,
  schedules,
  state,
)
from models.training.recipes import base
from robust_tfds import datasets, devices, durations, errors
from robust_tfds.datasets import training
from robust_tfds.storage import disk, paths
from robust_tfds.user_data import tfds_set

# Multiply-adds per second of a device, a guess: one or two cores of a CPU, and
# a third of the speed of an A100 in bfloat16.
RATES = {"cpu": 2e10, "gpu": 5e13, "tpu": 5e13}
_BACK_TOO = 3
_NORMS = ", which batch norms see by itself"
# Area on which a detector's multiply-adds are counted:
# `models/multiply_adds.py`.
_COUNTED_PX2 = 800 * 800
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
      f" optimizer, {_batch_mib(config, model):,.1f} MiB of pictures a batch, about"
      f" {activations.estimate(config, model, recipe, like) / 2**20:,.0f} MiB of"
      f" activations{_parts_note(config)}",
      f"disclosure: trained on {disclosure.data_in_words(config)}; conditions of"
      f" benchmarks: {conditions}; mixed in: {shown['pictures'] or 'nothing'}",
      _estimate(config, model, recipe),
    ]
  )


def describe_workdir(config: Config, workdir: epath.Path) -> str:
  """Return what a training of the config would find in a folder.

  Nothing is written.

  The examples, and the sha256 of an initial checkpoint, are compared when the
  training goes on: they are not read here.

  Raises:
    UserError: the training would be refused, in the same words.
  """
  with disk.writing(workdir):
    _check_writable(workdir)
  facts = workdir_lib.facts(config)
  begun = workdir_lib.check(workdir, facts)
  step = _last_step(config, workdir, facts)
  done = begun and disk.exists(workdir / disclosure.FILE)
  if step is None:
    words = "begun, without a checkpoint: it begins again" if begun else "new"
    if done:
      words = "done; without its checkpoints it is trained again"
  elif done:
    words = f"done: nothing is left to train at step {step:,}"
  else:
    words = f"begun: it goes on after step {step:,}"
  return f"workdir: {workdir}, {words}"


def _last_step(
  config: Config, workdir: epath.Path, facts: Mapping[str, Any]
) -> int | None:
  """Return the step of the last checkpoint, after reading it whole."""
  if not (config.keep.last and disk.exists(workdir / checkpoints.FOLDER)):
    return None
  kept = checkpoints.Checkpoints(workdir, config.keep, facts, read_only=True)
  step = kept.check(devices.mesh())
  kept.close()
  return step


def _check_writable(workdir: epath.Path) -> None:
  """Raise the system's error if the folder could not be written."""
  if not paths.is_local(workdir):
    return
  place = pathlib.Path(workdir).absolute()
  there = next(p for p in (place, *place.parents) if os.path.lexists(p))
  number = 0 if os.access(there, os.W_OK | os.X_OK) else errno.EACCES
  if number := number if there.is_dir() else errno.ENOTDIR:
    raise OSError(number, os.strerror(number), str(there))


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
  where += _not_here(place) if kind == "folder" else ""
  yield f"data: {where}, {counted}{held_out}"
  steps = steps_of(config, recipe)
  of_steps = f"{steps:,} steps" if steps else "an unknown number of steps"
  if steps and not config.steps and held:
    of_steps = f"about {of_steps}"  # ids say how many are held out
  epochs = f"{config.epochs} epochs, " * bool(config.epochs)
  yield f"steps: {epochs}{of_steps} of {config.batch_size} examples"


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
    of_list = split == training.TRAIN
    return training.ROWS[name].examples or None if of_list else None
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
  if name in training.ROWS:
    name = training.ROWS[name].of
  return datasets.classes(name) or _published(name)[1]


def _published(name: str) -> tuple[int, int] | tuple[None, None]:
  """Return examples of `train` and classes of `tfds:NAME`, for any version or
  config.
  """
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
  if not re.match("(folder|tfds):.", name):
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


def _batch_mib(config: Config, model: NetworkModel) -> float:
  """Return the MiB of a batch of float32 pictures on one device."""
  shape = activations.pictures_shape(config, model, config.batch_size)
  size = math.prod(shape) * np.dtype(np.float32).itemsize
  return size / 2**20 / jax.device_count()


def _estimate(config: Config, model: NetworkModel, recipe: base.Recipe) -> str:
  device, count = jax.devices()[0].platform, jax.device_count()
  guesses = [_guess(config, model, recipe, device, count)]
  if (
    device == "cpu"
  ):  # a training of weeks may be planned here for another machine
    guesses.append(_guess(config, model, recipe, "gpu", 1))
  return (
    f"estimate: {'; '.join(guesses)}; guesses of the steps alone: the start,"
    " compiling (a minute or less) and transforms come on top"
  )


def _guess(
  config: Config,
  model: NetworkModel,
  recipe: base.Recipe,
  device: str,
  count: int,
) -> str:
  steps, rate = steps_of(config, recipe), RATES.get(device, RATES["gpu"])
  step = step_adds(config, model, recipe) / (rate * count)
  words = f"{step:.3g} s a step"
  if steps:
    words += f", {_about(step * steps)} in all"
  return f"{words} on {count} {device} device(s) of {rate:.0e} multiply-adds a second"


def _about(seconds: float) -> str:
  return durations.text(seconds) if seconds >= 1 else "under a second"


def step_adds(
  config: Config, model: NetworkModel, recipe: base.Recipe
) -> float:
  """Return the multiply-adds of a step."""
  forward = float(multiply_adds.count_model(model))
  if isinstance(model, Detector):
    forward *= _area(config, model) / _COUNTED_PX2
  return recipe.passes * _BACK_TOO * forward * config.batch_size


def _area(config: Config, model: Detector) -> float:
  """Return the px² of a canvas that a detector sees after resizing."""
  _, height, width, _ = activations.pictures_shape(config, model, 1)
  short, long = sorted((height, width))
  spec = model.spec
  ratio = min(spec.short_px / short, spec.long_px / long)
  return height * width * (ratio**2 if spec.short_px else 1)


def _settings(values: Any) -> str:
  """Return the settings that are not zero or empty, in words."""
  shown = {k: v for k, v in values.items() if v not in (0, "", (), False)}
  name = shown.pop("name", "")
  rest = ", ".join(f"{k} {v}" for k, v in shown.items())
  return f"{name} ({rest})" if rest else str(name)
