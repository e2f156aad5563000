"""What a training begins with: random weights, or a checkpoint's.

A checkpoint of another number of classes, or one that says of itself that it was
trained on other classes, has its head drawn anew: the arrays whose shape depends on
the number of classes. The rest is the checkpoint's, and so is how it prepares
pictures. That is said in a line and in disclosure.json.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import Any

import jax

from robust_tfds import missing
from robust_tfds.models import variables as variables_lib
from robust_tfds.models.convert import match
from robust_tfds.models.model import NetworkModel
from robust_tfds.models.training import disclosure
from robust_tfds.models.training.config import Config


@dataclasses.dataclass(frozen=True)
class Initial:
  """A network before its first step.

  Attributes:
    model: prepares pictures as its checkpoint says.
    variables: its weights.
    head: why its head was drawn anew, in words; empty: it was not, or everything is
      random.
  """

  model: NetworkModel
  variables: Any
  head: str = ""


def of(
  config: Config,
  model: NetworkModel,
  classes: Sequence[str],
  say: Callable[[str], None],
) -> Initial:
  """The weights that a config names.

  Args:
    model: of the data's classes.
    classes: of the data, in label order.
    say: is told of a head that is drawn anew, and of what is in doubt.

  Raises:
    UserError: no such checkpoint, or one of another network.
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
  """That no training ever teaches what is frozen; empty where one did."""
  stages = config.model.frozen_stages
  if not stages or config.model.checkpoint:
    return ""
  return (
    f"the first {stages} of its stages are frozen at random weights: give"
    " config.model.checkpoint"
  )


def _loaded(model: NetworkModel, checkpoint: str) -> match.Loaded:
  """With as many classes as the checkpoint has."""
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
  theirs: NetworkModel,
  ours: NetworkModel,
  classes: Sequence[str],
) -> str:
  """Why the checkpoint's head is of no use; empty where it is."""
  got, count = theirs.spec.num_classes, ours.spec.num_classes
  if got != count:
    return f"the checkpoint has {got:,} classes, the network {count:,}"
  before = disclosure.before_of(config)
  if before and before.classes != [str(name) for name in classes]:
    return (
      f"the checkpoint was trained on other classes than {config.data.source}'s"
    )
  return ""
