"""The training data of a run's model, as far as they are disclosed.

The config may state them (`trained_on`, `corruptions_seen` of a model's entry). Else
they follow from the recipe of a model that the run trains, from the disclosure.json
of one that `robust-tfds train` made, or from the name of a checkpoint of torchvision
or timm. Otherwise they are unknown.
"""

from __future__ import annotations

import os
import typing

from eval.cells import cell_facts
from eval.run.spec import Model
from models import catalogue
from models.convert import sources
from robust_tfds import errors

if typing.TYPE_CHECKING:
  from models.training.disclosure import Disclosure


def words(entry: Model) -> str | None:
  """Return the training data in words; None if they are not disclosed.

  Also how a last layer was fitted, where the run does it.
  """
  network_data = _network_data(entry)
  if not entry.last_layer:
    return network_data
  recipe = ", ".join(
    f"{k} {v}" for k, v in entry.last_layer.model_dump().items()
  )
  return f"{network_data or 'unknown data'}; last layer: {recipe}"


def _network_data(entry: Model) -> str | None:
  disclosed = read_disclosure(entry)
  if disclosed:
    words = disclosed.trained_on
    return f"{words}; {entry.trained_on}" if entry.trained_on else words
  if entry.trained_on:
    return entry.trained_on
  if entry.train:
    return f"{entry.train.dataset} {entry.train.split}"
  text = os.fspath(entry.checkpoint or entry.name)
  if ":" not in text:  # no name of published weights
    return None
  from models.training import disclosure

  return disclosure.named_data(text) or None


def read_disclosure(entry: Model) -> Disclosure | None:
  """Return the disclosure beside a checkpoint; None if there is none.

  Raises:
    UserError: it is damaged, or not of these weights.
  """
  text = os.fspath(entry.checkpoint or "")
  if not text or sources.is_fetched(text):
    return None
  from models.training import disclosure

  return disclosure.read_checkpoint(text)


def as_trained(entry: Model) -> Model:
  """Return a network behind the enhancement that it was trained behind: CLAHE.

  Args:
    entry: the catalogue's entry of a network.

  Raises:
    UserError: see `read_disclosure`.
  """
  disclosed = read_disclosure(entry)
  if not disclosed:
    return entry
  from models.training import recipes

  network, others = catalogue.split(entry.name)
  known = recipes.kind_of(disclosed.recipe["name"]).ENHANCEMENTS
  first = [name for name in known if name not in others]
  return entry.model_copy(update={"name": "+".join([network, *first, *others])})


def corruptions_seen(entry: Model) -> list[str] | None:
  """Return the conditions that it was trained on; None if they are not disclosed.

  Raises:
    UserError: a name that is no corruption or perturbation, or less than the
      training itself wrote down.
  """
  what = "config.model.corruptions_seen"
  disclosed = read_disclosure(entry)
  known = disclosed.corruptions_seen if disclosed else None
  stated = entry.corruptions_seen
  if not stated:
    # Recipes of quickstarts flip and crop alone.
    return [] if entry.train and known is None else known
  names = stated.split(",") if isinstance(stated, str) else list(stated)
  seen = cell_facts.conditions_seen(names, what)
  hidden = sorted(set(known or ()) - set(seen))
  if hidden:
    raise errors.UserError(
      f"{what}: got {', '.join(seen) or 'none'}, but disclosure.json of the"
      f" checkpoint names {', '.join(hidden)} too. Leave it out: the file says it."
    )
  return seen


def severities_seen(entry: Model) -> list[int] | None:
  """Return the severities of `corruptions_seen`; None if undisclosed.

  Raises:
    UserError: see `corruptions_seen`.
  """
  disclosed = read_disclosure(entry)
  names = set(corruptions_seen(entry) or ())
  if not disclosed or not names or names - {*disclosed.conditions}:
    return None
  return list(disclosed.severities) or None
