"""The typed config of a training: its keys and the values that they take.

The values of a recipe are in `configs/train_*.py`; keys that a file leaves out
have the defaults written here, which are no paper's.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import ml_collections
import pydantic

from models import spec_fields
from models.training import recipes
from models.training.data import config as data_config
from models.training.monitoring import tensorboard
from robust_tfds import errors, settings

_Dtype = Annotated[
  Literal["float32", "bfloat16"],
  pydantic.Field(description="'float32' or 'bfloat16'"),
]
_Factor = Annotated[
  float | int,
  pydantic.Field(gt=0, le=1, description="a number above 0 and up to 1"),
]


def _ascending(places: Sequence[int]) -> Sequence[int]:
  if list(places) != sorted(set(places)):
    raise ValueError
  return places


_Places = Annotated[
  list[settings.Positive] | tuple[settings.Positive, ...],
  pydantic.AfterValidator(_ascending),
  pydantic.Field(description="whole numbers from 1, ascending, each once"),
]


class Model(settings.Group):
  """The network's part of the config.

  Attributes:
    num_classes: number of classes; 0 takes the data's.
    checkpoint: initial weights, as `models.convert.load` takes them; empty:
      random weights from the seed.
    dtype: dtype of its computations; weights, statistics and updates are
      float32.
    frozen_norms: whether batch norms keep their running statistics; None: as
      published networks of its kind were trained: those of detectors do.
    frozen_stages: number of first stages that stay in evaluation mode and are
      not trained; their norms' statistics stay, too.
    spec: fields of its spec to override, e.g. a detector's `short_px`.
  """

  name: settings.Name
  num_classes: settings.Classes = 0
  checkpoint: settings.Path = ""
  dtype: _Dtype = "float32"
  frozen_norms: settings.Flag | None = None
  frozen_stages: settings.From0 = 0
  spec: dict[str, Any] = {}


class Optimizer(settings.Group):
  """The optimizer's part of the config: `models/training/optimization/optimizers.py`.

  Attributes:
    name: `sgd` and `adam` are torch's, `adamw` decouples the decay from the
      gradient, `rmsprop` is TensorFlow's.
    momentum: momentum of `sgd` and `rmsprop`.
    dampening: dampening of `sgd`: the share of a gradient that its momentum
      leaves out.
    beta1: beta 1 of `adam` and `adamw`; likewise `beta2`.
    rho: decay of the mean square of `rmsprop`.
    epsilon: 0 takes the optimizer's own.
    weight_decay: this times the weights is added to the gradient; with `adamw`
      to the step.
    decay_all: whether norms, biases, tokens and positions decay too, as with
      torch's optimizers; else kernels alone.
    clip_norm: largest norm of the gradient; 0: no limit.
    accumulate: number of parts into which a batch is cut, whose gradients are
      averaged; batch norms see one part after the other, as in a torch loop.
    ema: decay of an exponential moving average of weights and running
      statistics, which is then what validation judges and what the workdir
      stands for; 0: none.
  """

  name: settings.Name = "sgd"
  learning_rate: settings.Rate
  momentum: settings.Share = 0.0
  nesterov: settings.Flag = False
  dampening: settings.Share = 0.0
  beta1: settings.Share = 0.9
  beta2: settings.Share = 0.999
  rho: settings.Share = 0.9
  epsilon: settings.NotNegative = 0.0
  weight_decay: settings.NotNegative = 0.0
  decay_all: settings.Flag = True
  clip_norm: settings.NotNegative = 0.0
  accumulate: settings.Positive = 1
  ema: settings.Share = 0.0


class Schedule(settings.Group):
  """The learning rate schedule's part of the config:
  `models/training/optimization/schedules.py`.

  Attributes:
    name: `constant`, `cosine`, `step` or `plateau`.
    floor: rate at which `cosine` ends.
    at: epochs after which `step` multiplies by `factor`.
    every: period in epochs after which `step` multiplies; 0: those of `at`.
    at_steps: steps after which `step` multiplies.
    factor: factor by which `step` and `plateau` multiply.
    patience: epochs without a lower validation loss that `plateau` waits.
    warmup: steps of a linear rise from 0 to the rate, before the rest.
  """

  name: settings.Name = "constant"
  floor: settings.NotNegative = 0.0
  at: _Places = ()
  every: settings.From0 = 0
  at_steps: _Places = ()
  factor: _Factor = 0.1
  patience: settings.From0 = 10
  warmup: settings.From0 = 0


class Keep(settings.Group):
  """The part of the config that says what is kept during training.

  Attributes:
    every: steps between checkpoints; 0: one epoch.
    last: number of last checkpoints to keep; 0: none at all, not even the best,
      for trainings of seconds.
    best: number of best checkpoints to keep, by validation error; by validation
      loss for detectors.
    log: steps between the lines of metrics.csv; 0: about 200 lines.
    tensorboard: whether these lines, and the first pictures, are written for
      TensorBoard too: `models/training/monitoring/tensorboard.py`.
  """

  every: settings.From0 = 0
  last: settings.From0 = 2
  best: settings.From0 = 1
  log: settings.From0 = 0
  tensorboard: settings.Flag = False


class Config(settings.Group):
  """The config of a training."""

  model: Model
  data: data_config.Config
  recipe: dict[str, Any]
  optimizer: Optimizer
  schedule: Schedule = Schedule()
  keep: Keep = Keep()
  steps: settings.From0 = 0
  epochs: settings.From0 = 0
  batch_size: settings.Batch
  seed: settings.Seed = 0
  allow_benchmark_conditions: settings.Flag = False


def defaults(
  config: ml_collections.ConfigDict, groups: Sequence[str]
) -> dict[str, Any]:
  """Return the defaults of the keys of a group.

  Args:
    config: the config of a file; it names the recipe of the keys.
    groups: names that lead to the group: `("optimizer",)`; none: the top.
  """
  if [*groups] == ["model", "spec"]:
    return settings.placeholders(spec_fields.kinds())
  if [*groups] == ["recipe"]:
    return recipes.defaults(config.get("recipe", {}).get("name", ""))
  kind: Any = Config
  for name in groups:
    field = kind.model_fields.get(name)
    if not field or not settings.is_group(field.annotation):
      return {}
    kind = field.annotation
  return settings.defaults(kind)


def parse(config: ml_collections.ConfigDict) -> Config:
  """Parse the config of a file and a command.

  Raises:
    UserError: a value is wrong or a key unknown. The message begins with the
      key, `config.steps: got -1, expected ...`, and suggests the nearest known
      one.
  """
  if not isinstance(config, ml_collections.ConfigDict):
    raise errors.UserError(
      "config: get_config() must return an ml_collections.ConfigDict, got"
      f" {type(config).__name__}."
    )
  if "optimizer" not in config:
    raise errors.UserError(
      "config.optimizer: missing: this is no config of a training. Those are"
      " train_*: --config=train_standard."
    )
  out = settings.validated(Config, settings.plain(config.to_dict()))
  out.data.check()
  if bool(out.steps) == bool(out.epochs):
    raise errors.UserError(
      f"config.steps: got {out.steps} steps and {out.epochs} epochs, expected one"
      " of the two: the other is 0, --config.epochs=0 with steps."
    )
  if out.keep.tensorboard:
    tensorboard.check()
  if out.schedule.name == "plateau" and not out.data.validation:
    raise errors.UserError(
      "config.data.validation: got 0 with the schedule plateau, which follows the"
      " validation loss and would never fall: expected a share, 0.1."
    )
  if out.schedule.floor > out.optimizer.learning_rate:
    raise errors.UserError(
      f"config.schedule.floor: got {out.schedule.floor}, expected at most the"
      f" learning rate, {out.optimizer.learning_rate}."
    )
  if out.batch_size % out.optimizer.accumulate:
    raise errors.UserError(
      f"config.optimizer.accumulate: got {out.optimizer.accumulate}, expected a"
      f" divisor of batch_size {out.batch_size}."
    )
  return out
