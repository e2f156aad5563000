"""Initial weights of a training: random ones, or a checkpoint's.

If a checkpoint has another number of classes, or discloses that it was trained
on other classes, its head is drawn anew: the arrays whose shape depends on the
number of classes. The rest, and the preprocessing, are the checkpoint's. A line
on the screen and disclosure.json say so.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import Any

import jax

from models import variables as variables_lib
from models.convert import match
from models.model import NetworkModel
from models.training import disclosure
from models.training.config import Config
from robust_tfds import missing


@dataclasses.dataclass(frozen=True)
class Initial:
  """A network before its first step.

  Attributes:
    model: the network, with its checkpoint's preprocessing.
    variables: its weights.
    head: why its head was drawn anew, in words; empty if it was not, or if all
      weights are random.
  """

  model: NetworkModel
  variables: Any
  head: str = ""


def load_initial(
  config: Config,
  model: NetworkModel,
  classes: Sequence[str],
  say: Callable[[str], None],
) -> Initial:
  """Return the network with the weights that a config names.

  Args:
    model: the network, with the data's classes.
    classes: names of the data's classes, in label order.
    say: receives a line if the head is drawn anew, or if something is in doubt.

  Raises:
    UserError: the checkpoint is missing, or belongs to another network.
  """
  if words := frozen_at_random(config):
    say(words)
  random = jax.jit(model.init)(jax.random.key(config.seed))
  checkpoint = os.fspath(config.model.checkpoint or "")
  if not checkpoint:
    return Initial(model, random)
  loaded = _loaded(model, checkpoint)
  for note in filter(None, (*loaded.notes, loaded.declared.doubt)):
    say(note)
  if loaded.declared.fields:
    model = model.with_fields(loaded.declared.fields)
  head = _other_classes(config, loaded.model, model, classes)
  if not head:
    return Initial(model, loaded.variables)
  flat = variables_lib.flatten(random)
  anew = match.heads(model)
  kept = {
    path: array
    for path, array in variables_lib.flatten(loaded.variables).items()
    if path not in anew
  }
  names = ", ".join("/".join(path) for path in flat if path in anew)
  head = f"{head}: drawn anew: {names}"
  say(f"head: {head}")
  return Initial(model, variables_lib.replace(random, kept), head)


def frozen_at_random(config: Config) -> str:
  """Return warning text if frozen layers hold random weights; else ''."""
  stages = config.model.frozen_stages
  if not stages or config.model.checkpoint:
    return ""
  return (
    f"the first {stages} of its stages are frozen at random weights: give"
    " config.model.checkpoint"
  )


def _loaded(model: NetworkModel, checkpoint: str) -> match.Loaded:
  """Load a checkpoint with as many classes as it has."""
  try:
    count = model.spec.num_classes
    return match.load(model.name, checkpoint, num_classes=count)
  except match.ClassCountError as e:
    return match.load(model.name, checkpoint, num_classes=e.classes)
  except FileNotFoundError as e:
    lack = missing.Lack(
      "config.model.checkpoint",
      str(e),
      get="Name a file of weights, a training's workdir, or what is fetched, as"
      " torchvision:NAME.",
      options=(("model.checkpoint", "FILE"),),
    )
    raise missing.MissingError(lack) from e


def _other_classes(
  config: Config,
  loaded: NetworkModel,
  network: NetworkModel,
  classes: Sequence[str],
) -> str:
  """Return why the checkpoint's head cannot be used; empty if it can."""
  got, count = loaded.spec.num_classes, network.spec.num_classes
  if got != count:
    return f"the checkpoint has {got:,} classes, the network {count:,}"
  before = disclosure.before_of(config)
  if before and before.classes != [str(name) for name in classes]:
    return (
      f"the checkpoint was trained on other classes than {config.data.source}'s"
    )
  return ""
