"""Learning rate schedules over the steps, and the scale of a plateau.

`cosine` falls per step to its floor at the last one, as in AugMix's code (a
cosine over all steps to 1e-6). `step` multiplies by its factor after some
epochs, or after every few. `plateau` multiplies like torch's ReduceLROnPlateau
(mode min, relative threshold 1e-4, no cooldown). Each may be preceded by a
linear warmup.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import optax

from models.training.config import Schedule
from robust_tfds import errors
from robust_tfds.records import Record

_NAMES = ("constant", "cosine", "step", "plateau")
# torch.optim.lr_scheduler.ReduceLROnPlateau's defaults, `threshold` and `eps`: a
# rate that would fall by no more stays.
_THRESHOLD, _MIN_FALL = 1e-4, 1e-8

Rate = Callable[[jax.typing.ArrayLike], jax.Array]


def make_schedule(
  config: Schedule, rate: float, steps: int, per_epoch: int
) -> Rate:
  """Return the learning rate as a function of the step, from 0, without a
  plateau's scale.

  Args:
    rate: the first rate after the warmup.
    steps: number of steps of the whole training.
    per_epoch: steps of an epoch.

  Raises:
    UserError: the schedule is unknown, the warmup is as long as the training,
      or `step` has no place to fall, or none within the training.
  """
  if config.name not in _NAMES:
    raise errors.unknown_error("schedule", config.name, _NAMES)
  if config.warmup >= max(steps, 1):
    raise errors.UserError(
      f"config.schedule.warmup: got {config.warmup} of {steps} steps, expected"
      " fewer than all."
    )
  main = optax.constant_schedule(rate)
  if config.name == "cosine":
    floor = config.floor / rate
    main = optax.cosine_decay_schedule(rate, steps - config.warmup, floor)
  if config.name == "step":
    main = _stepped(config, rate, steps, per_epoch)
  if not config.warmup:
    return main
  rising = optax.linear_schedule(0.0, rate, config.warmup)
  return optax.join_schedules([rising, main], [config.warmup])


def _stepped(config: Schedule, rate: float, steps: int, per_epoch: int) -> Rate:
  """Return the schedule `step`, whose first step is the one after the warmup."""
  places = [*(e * per_epoch for e in config.at), *config.at_steps]
  if places and config.every:
    raise errors.UserError(
      f"config.schedule: got at {(*config.at, *config.at_steps)} and every"
      f" {config.every}, expected one of the two."
    )
  length = config.every * per_epoch
  first = length or min(places, default=0)
  if not 0 < first < steps:
    got = f"the first after {first:,} of {steps:,} steps" if first else "none"
    raise errors.UserError(
      f"config.schedule.at: got {got} with the schedule step, which would never"
      " fall: expected epochs, --config.schedule.at='(30, 60)', or every or"
      " at_steps."
    )
  if not config.every:
    ends: dict[int, float] = {}
    for place in places:
      at = place - config.warmup
      ends[at] = ends.get(at, 1.0) * config.factor  # twice where both name it
    return optax.piecewise_constant_schedule(rate, ends)
  factor = jnp.float32(config.factor)
  return lambda step: (
    rate * factor ** ((jnp.asarray(step) + config.warmup) // length)
  )


class Plateau(Record):
  """The scale by which `plateau` multiplies the rate, and its counters.

  Attributes:
    scale: scale of the rate.
    best: lowest loss so far.
    bad: number of validations since then.
  """

  scale: float = 1.0
  best: float = math.inf
  bad: int = 0

  def after(self, loss: float, config: Schedule, rate: float) -> Plateau:
    """Return the state after one more validation; `rate` is the unscaled rate."""
    if config.name != "plateau":
      return self
    if loss < self.best * (1 - _THRESHOLD):
      return Plateau(scale=self.scale, best=loss)
    if self.bad + 1 > config.patience:
      lower = self.scale * config.factor
      falls = rate * (self.scale - lower) > _MIN_FALL
      return Plateau(scale=lower if falls else self.scale, best=self.best)
    return self.model_copy(update={"bad": self.bad + 1})
