"""The training loop of all kinds of networks: batches in, a state out.

The examples of a step follow from (seed, epoch) and ids, its draws from (seed,
step). So a training that was stopped and goes on from a checkpoint ends with
the same weights. Losses are checked a few steps late, so that nothing waits for
them, and before a checkpoint is written, so that every checkpoint is finite.
"""

from __future__ import annotations

import collections
import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from models.model import NetworkModel
from models.training.config import Config
from models.training.data import source as source_lib
from models.training.optimization import (
  optimizers,
  schedules,
  state,
  steps,
  validation,
)
from models.training.optimization.checkpoints import Checkpoints, Run
from models.training.optimization.metrics import Metrics
from models.training.optimization.state import State
from models.training.recipes import base
from robust_tfds import devices, durations, errors, hosts

_LATE = 4  # steps in flight before a loss is looked at
_LINES = 200  # about so many lines in metrics.csv
_NAMED = 8  # examples of a step that diverged
_FROM_BEFORE = " The last checkpoint is from before."

Say = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Lengths:
  """The length of a training.

  Attributes:
    per_epoch: steps of an epoch.
    steps: steps of the whole training.
    log: steps of a line of metrics.csv.
    save: steps between checkpoints.
  """

  per_epoch: int
  steps: int
  log: int
  save: int

  @classmethod
  def from_config(cls, config: Config, examples: int) -> Lengths:
    """Return the lengths that a config gives.

    A UserError is raised if an epoch has no batch.

    Args:
      examples: number of examples that an epoch shows.
    """
    per_epoch, share = examples // config.batch_size, config.data.validation
    if not per_epoch:
      left = f" that config.data.validation={share:g} leaves" if share else ""
      raise errors.UserError(
        f"config.batch_size: got {config.batch_size}, expected at most the"
        f" {examples:,} training examples{left}: an epoch has not one batch."
      )
    total = config.steps or config.epochs * per_epoch
    log = config.keep.log or max(total // _LINES, 1)
    return cls(per_epoch, total, log, config.keep.every or per_epoch)


class Loop:
  """A training under way."""

  def __init__(
    self,
    config: Config,
    model: NetworkModel,
    recipe: base.Recipe,
    source: source_lib.Source,
    variables: Any,
    *,
    metrics: Metrics,
    checkpoints: Checkpoints | None = None,
    say: Say = print,
  ):
    """Put the first state, or the last one that was written, on the devices.

    Args:
      variables: initial variables.
      checkpoints: the checkpoints; None keeps none.
      say: receives the step at which it goes on, and lines of progress.

    Raises:
      UserError: a batch does not divide over the devices, or the optimizer or
        schedule is unknown.
    """
    self._config, self._model, self._recipe = config, model, recipe
    self._source, self._metrics, self._say = source, metrics, say
    self._checkpoints, self._host = checkpoints, hosts.this_host()
    self._mesh = devices.mesh()
    check_devices(config, self._mesh)
    self.lengths = Lengths.from_config(config, source.steps(1))
    self._plateau = schedules.Plateau()
    self._late: collections.deque[Any] = collections.deque()
    self._first: tuple[int, float] | None = None  # a step done, and when
    optimizer = optimizers.make_optimizer(
      config.optimizer, model.decayed_paths()
    )
    first = state.first(model, variables, optimizer, config)
    self.state: State = devices.put_replicated(first, self._mesh)  # type: ignore[assignment]
    rate = schedules.make_schedule(
      config.schedule,
      config.optimizer.learning_rate,
      self.lengths.steps,
      self.lengths.per_epoch,
    )
    whole = NamedSharding(self._mesh, PartitionSpec())
    self._step = jax.jit(
      steps.Steps(model, recipe, optimizer, rate, config),
      donate_argnums=0,
      out_shardings=whole,
    )
    self._validation = validation.Validation(
      config, model, source, self._mesh, recipe
    )
    self._resume()  # last: a refused training creates no folder

  def run(self, each: Callable[[int], None] = lambda step: None) -> State:
    """Run the remaining steps and return the last state.

    Args:
      each: called with every step that was sent to the devices.

    Raises:
      UserError: a loss is not finite; the message names the step and its
        examples.
    """
    began, step = time.perf_counter(), int(self.state.step)
    began -= self._metrics.seconds  # time of earlier starts
    if step < self.lengths.steps:
      self._say(_compiling(self._config))
    for batch in self._batches(step):
      ids = batch.pop("id")
      scale = jnp.float32(self._plateau.scale)
      self.state, numbers = self._step(
        self.state, validation.put(batch, self._mesh), scale
      )
      step += 1
      self._late.append((step, ids, numbers))
      self._look(_LATE)
      self._after(step, began)
      each(step)
    self._look(0)
    return self.state

  @property
  def lines(self) -> Sequence[Mapping[str, Any]]:
    """The lines of metrics.csv so far."""
    return self._metrics.lines

  def close(self) -> None:
    """Wait until pending writes are done."""
    self._metrics.close()
    if self._checkpoints:
      self._checkpoints.close()

  def _batches(self, step: int) -> Iterator[dict[str, Any]]:
    """Yield the batches from a step to the last, over several epochs."""
    config, per_epoch = self._config, self.lengths.per_epoch
    while step < self.lengths.steps:
      epoch, done = divmod(step, per_epoch)
      for batch in self._source.batches(
        batch_size=config.batch_size,
        seed=config.seed,
        epoch=epoch,
        start=done * config.batch_size,
        host=(self._host.index, self._host.count),
      ):
        yield batch
        step += 1
        if step == self.lengths.steps:
          return

  def _look(self, late: int) -> None:
    """Add up the numbers of all steps but the latest; refuse what diverged."""
    while len(self._late) > late:
      step, ids, numbers = self._late.popleft()
      values = {name: float(np.asarray(x)) for name, x in numbers.items()}
      if not math.isfinite(values["loss"]):
        text = _diverged(self._model.name, step, ids, values)
        if self._checkpoints:
          text += " Another config takes another --workdir."
          text += _FROM_BEFORE * self._checkpoints.any
        raise errors.UserError(text)
      self._first = self._first or (step, time.perf_counter())
      self._metrics.add(values)

  def _after(self, step: int, began: float) -> None:
    """Do what is due after a step: validation, a line, a checkpoint."""
    lengths, last = self.lengths, step == self.lengths.steps
    more: dict[str, float] = {}
    score = None  # this step's alone; it ranks the best checkpoints
    held = bool(self._config.data.validation)
    if held and (step % lengths.per_epoch == 0 or last):
      more = self._validation(self.state.averaged)
      score = validation.score(more)
      rate = self._config.optimizer.learning_rate
      self._plateau = self._plateau.after(
        more[validation.LOSS], self._config.schedule, rate
      )
    if more or step % lengths.log == 0 or last:
      self._look(0)
      seconds = time.perf_counter() - began
      line = self._metrics.line(step, {**more, "seconds": round(seconds, 2)})
      if more or last:
        self._say(_words(step, lengths, line) + self._left(step))
    if self._checkpoints and (step % lengths.save == 0 or last):
      self._look(0)
      self._checkpoints.save(self.state, self._run(), score)

  def _left(self, step: int) -> str:
    """Return the remaining time; the first step, which compiles, is left out."""
    left = self.lengths.steps - step
    if not self._first or not left or step == self._first[0]:
      return ""
    done, since = step - self._first[0], time.perf_counter() - self._first[1]
    return f", ETA {durations.text(since / done * left)}"

  def _run(self) -> Run:
    """Return the host's counters."""
    return Run(plateau=self._plateau, metrics=self._metrics.pending)

  def _resume(self) -> None:
    """Resume from the last checkpoint, if there is one."""
    kept = (
      self._checkpoints.last(self.state, self._mesh)
      if self._checkpoints
      else None
    )
    if kept is None:
      return
    self.state, run = kept
    self._plateau = run.plateau
    step = int(self.state.step)
    self._metrics.read(step, run.metrics)
    self._say(f"goes on after step {step:,} of {self.lengths.steps:,}")


def _compiling(config: Config) -> str:
  """Return what the first step waits for, for the screen."""
  return (
    f"Compiling the step ({config.model.name} in {config.model.dtype} by"
    f" {config.recipe['name']}, {config.batch_size} examples;"
    f" {devices.description()}): the first step takes seconds to a minute or two"
  )


def check_devices(config: Config, mesh: Mesh) -> None:
  """Refuse a batch whose parts do not divide over the devices."""
  parts, count = config.optimizer.accumulate, mesh.size
  if parts > 1 and config.batch_size % (parts * count):
    raise errors.UserError(
      f"config.optimizer.accumulate: got {parts} parts of {config.batch_size}"
      f" examples, which do not divide over {count} devices; expected a batch_size"
      f" that is a multiple of {parts * count}."
    )
  devices.check_batch_size(config.batch_size // parts, mesh)


def _words(step: int, lengths: Lengths, line: Mapping[str, Any]) -> str:
  """Return a line of metrics.csv for the screen."""
  shown = {k: v for k, v in line.items() if k not in ("step", "seconds")}
  numbers = ", ".join(f"{k} {v:.4g}" for k, v in shown.items())
  return f"step {step:,} of {lengths.steps:,}: {numbers}"


def _diverged(
  name: str, step: int, ids: Sequence[str], values: Mapping[str, float]
) -> str:
  numbers = ", ".join(f"{k} {v:.4g}" for k, v in values.items())
  more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
  return (
    f"Training {name} diverged at step {step}: {numbers}. Its examples:"
    f" {', '.join(ids[:_NAMED])}{more}. Lower config.optimizer.learning_rate,"
    " clip the gradient (config.optimizer.clip_norm), or look at these examples."
  )
