"""`--plan`: data, steps, memory, disclosure and an estimate; touches nothing.

The estimate is the network's multiply-adds, three times for a step (forward, and
twice back), over a rate that a device is taken to have: a guess, to tell minutes
from days. Steps measured on a device say more.
"""

import importlib
import math
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from robust_tfds import datasets, durations
from robust_tfds.datasets import training
from robust_tfds.models import multiply_adds
from robust_tfds.models.model import NetworkModel
from robust_tfds.models.training import (
  activations,
  disclosure,
  optimizers,
  recipes,
  run,
  schedules,
  state,
)
from robust_tfds.models.training.config import Config
from robust_tfds.models.training.recipes import base

# Multiply-adds per second of a device, a guess: a core or two of a CPU, and a
# third of what an A100 does in bfloat16.
RATES = {"cpu": 2e10, "gpu": 5e13, "tpu": 5e13}
_BACK_TOO = 3
# Examples of `train`: the sets' own papers.
_PUBLISHED = {"cifar10": 50_000, "cifar100": 50_000, "imagenet2012": 1_281_167}


def describe(config: Config) -> str:
  """The plan as text.

  Raises:
    UserError: what a training of the config would refuse before it reads data.
  """
  recipe = recipes.of(config.recipe)
  disclosure.check(config, recipe)
  model = run.network(config, None)
  optimizer = optimizers.of(config.optimizer)
  steps = steps_of(config, recipe) or 1 << 30
  schedules.of(config.schedule, config.optimizer.learning_rate, steps, 1)
  like = jax.eval_shape(
    lambda: state.first(
      model,
      model.init(jax.random.key(0)),
      optimizer,
      config,
    )
  )
  shown = recipe.disclosure()
  seen = disclosure.shown(config, recipe)
  conditions = ", ".join(seen.names) or "none"
  if seen.levels and seen.names:
    conditions += f" at {', '.join(map(str, seen.levels))}"
  return "\n".join(
    [
      *_data(config, recipe),
      f"network: {model.name}, {model.count_parameters():,} parameters,"
      f" {config.model.dtype}, from {config.model.checkpoint or 'random weights'}",
      f"recipe: {_settings(config.recipe)}",
      f"optimizer: {_settings(config.optimizer.model_dump(exclude_unset=True))};"
      f" schedule: {_settings(config.schedule.model_dump(exclude_unset=True))}",
      f"memory of a device: {_mib(like):,.0f} MiB of weights, gradients and"
      f" optimizer, {_batch_mib(config, model):,.1f} MiB of pictures a batch, about"
      f" {activations.of(config, model, recipe, like) / 2**20:,.0f} MiB of"
      f" activations{_in_parts(config)}",
      f"disclosure: trained on {disclosure.data_in_words(config)}; conditions of"
      f" benchmarks: {conditions}; mixed in: {shown['pictures'] or 'nothing'}",
      _estimate(config, model, recipe),
    ]
  )


def _data(config: Config, recipe: base.Recipe) -> Iterator[str]:
  """What is read, and how many steps that is."""
  count = _examples(config)
  examples = "examples are counted when it is opened"
  if count:
    examples = f"{count:,} examples"
  held = config.data.validation
  held_out = f", {held:.3g} of them held out by id to choose on" * bool(held)
  yield f"data: {config.data.source} {config.data.split}, {examples}{held_out}"
  steps = steps_of(config, recipe)
  of_steps = f"{steps:,} steps" if steps else "an unknown number of steps"
  epochs = f"{config.epochs} epochs, " * bool(config.epochs)
  yield f"steps: {epochs}{of_steps} of {config.batch_size} examples"


def _examples(config: Config) -> int | None:
  """Of a set that code draws, or of a published one; None where nobody knows."""
  name = config.data.source
  if name in training.ROWS:
    of_list = config.data.split == training.TRAIN
    return training.ROWS[name].examples or None if of_list else None
  if name not in datasets.names():
    of_train = config.data.split == "train"
    return _PUBLISHED.get(name.removeprefix("tfds:")) if of_train else None
  module = importlib.import_module(datasets.builder_class(name).__module__)
  known = getattr(module, "labels", None)
  return len(known(config.data.split)) if known else None


def steps_of(config: Config, recipe: base.Recipe) -> int | None:
  """Of a training; None where nobody knows before the data are read."""
  count = _examples(config)
  if config.steps or not count:
    return config.steps or None
  trained = math.floor(count * (1 - config.data.validation))
  return config.epochs * (recipe.copies * trained // config.batch_size)


def _in_parts(config: Config) -> str:
  parts = config.optimizer.accumulate
  return f" (of one of {parts} parts of a batch)" if parts > 1 else ""


def _mib(like: state.State) -> float:
  """Of a state, and of the gradients beside it."""
  arrays = [*jax.tree.leaves(like), *like.parameters.values()]
  return sum(math.prod(x.shape) * x.dtype.itemsize for x in arrays) / 2**20


def _batch_mib(config: Config, model: NetworkModel) -> float:
  """Of float32 pictures, on one device; of detectors at their own scale."""
  shape = model.spec.batch_shape(config.batch_size, model.spec.usual_px)
  return (
    math.prod(shape)
    * np.dtype(np.float32).itemsize
    / 2**20
    / (jax.device_count())
  )


def _estimate(config: Config, model: NetworkModel, recipe: base.Recipe) -> str:
  steps, device = steps_of(config, recipe), jax.devices()[0].platform
  rate = RATES.get(device, RATES["gpu"]) * jax.device_count()
  step = step_adds(config, model, recipe) / rate
  words = f"estimate: {step:.3g} s a step"
  if steps:
    words += f", {durations.text(step * steps)} in all"
  return (
    f"{words}, at {rate:.0e} multiply-adds a second, a guess for"
    f" {jax.device_count()} {device} device(s); before transforms"
  )


def step_adds(
  config: Config, model: NetworkModel, recipe: base.Recipe
) -> float:
  """Multiply-adds of a step."""
  gradient = _BACK_TOO * multiply_adds.of_model(model)
  return recipe.passes * gradient * config.batch_size


def _settings(values: Any) -> str:
  """Those that are not zero or empty."""
  shown = {k: v for k, v in values.items() if v not in (0, "", (), False)}
  name = shown.pop("name", "")
  rest = ", ".join(f"{k} {v}" for k, v in shown.items())
  return f"{name} ({rest})" if rest else str(name)
