"""The models that a stream is shown to, and the pictures that it is made from."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from eval.cells.workdir import Workdir
from eval.run import ccc
from eval.run import data as data_lib
from eval.run import keywords as keywords_lib
from eval.run.model import load
from models import weights_file
from models.adaptation.base import Method
from models.model import Model
from robust_tfds import hosts, missing
from robust_tfds.building import pictures
from robust_tfds.building.sources import imagenet, known_files
from robust_tfds.corruptions import frost_pictures
from robust_tfds.datasets.signs import signs_dataset_builder as signs
from robust_tfds.storage import paths


@dataclasses.dataclass(frozen=True)
class Set:
  """The clean pictures that a stream is made from.

  Attributes:
    clean: data set of the same classes, which says what a model must answer.
    side_px: side of the pictures that are shown.
    sources: manual dir -> all pictures, uncropped.
  """

  clean: str
  side_px: int
  sources: Callable[[str], Sequence[pictures.Source]]


def _imagenet(manual_dir: str) -> Sequence[pictures.Source]:
  """Return ImageNet's validation pictures; MissingError if they are missing."""
  with known_files.lacking("imagenet_c", manual_dir, imagenet.INSTRUCTIONS):
    files = imagenet.clean(paths.parse(manual_dir or ".", "manual_dir"))
  return pictures.sources_from_files(files, "whole")


_IMAGENET, _SIGNS = ccc.NAMES
SETS: Mapping[str, Set] = {
  _IMAGENET: Set(
    "imagenet_c",
    224,
    _imagenet,
  ),
  _SIGNS: Set("signs_c", signs.SIDE_PX, lambda folder: signs.sources("test")),
}


class Network:
  """A model with its weights, adapting by a method or as it is."""

  def __init__(
    self, model: Model, variables: Any, method: Method | None = None
  ):
    """Start from the model's weights, which only a method changes."""
    self._variables, self._state = variables, None
    self._method = method
    self._answer: Callable[..., Any] = model.apply
    if method:
      self._state = method.init(variables)
      self._answer = jax.jit(method.step)
    elif not model.on_host:
      self._answer = jax.jit(model.apply)

  def right(
    self, images: np.ndarray, labels: np.ndarray, number: int
  ) -> np.ndarray:
    """Answer a batch and adapt to it; return bool `[B]`, which answers are right.

    Args:
      images: uint8 `[B, S, S, 3]`.
      labels: int `[B]`.
      number: the batch's number, from which a method draws its random numbers.
    """
    if self._state is None:
      logits = self._answer(self._variables, images)
    else:
      key = jax.random.key(number)
      logits, self._state = self._answer(self._state, images, key)
    return np.asarray(logits).argmax(-1) == labels

  @property
  def mark(self) -> str:
    """A hash of the weights and of the method's settings: 12 digits."""
    settings = (
      {
        f.name: getattr(self._method, f.name)
        for f in dataclasses.fields(self._method)
        if f.name != "model"
      }
      if self._method
      else {}
    )
    text = f"{weights_file.sha256(self._variables)} {sorted(settings.items())}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]

  def state(self) -> dict[str, np.ndarray]:
    """Return the adapted state as arrays; empty without a method."""
    leaves = jax.device_get(jax.tree.leaves(self._state))
    return {f"{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}

  def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
    """Continue from the arrays of `state`; if empty, from the model's weights."""
    first, structure = jax.tree.flatten(self._state)
    if arrays:
      # Files have no arrays without dimensions.
      leaves = [arrays[f"{i}"].reshape(x.shape) for i, x in enumerate(first)]
      self._state = jax.tree.unflatten(structure, leaves)


def loaded(
  predict: Any, of: Set, keywords: Mapping[str, Any], folder: str
) -> dict[str, tuple[Model, Any]]:
  """Return label -> (model, weights) of models in any form that `evaluate` takes.

  Raises:
    UserError: a model has other classes, or no weights.
  """
  values = {**keywords, "conditions": "none", "limit": 0}
  spec, objects = keywords_lib.spec_of(predict, of.clean, values)
  workdir = Workdir(paths.parse(folder, "workdir"))
  plan = data_lib.plan_of(spec, objects, workdir)
  if plan.lacks:
    raise missing.MissingError(*plan.lacks)
  frost_pictures.choose(plan.config.data.frost_dir, plan.config.data.manual_dir)
  host = hosts.this_host()
  return {
    label: (
      plan.model(label),
      load.network_variables(plan, label, plan.model(label), workdir, host),
    )
    for label in plan.models
  }


def check_frost(names: Sequence[str], keywords: Mapping[str, Any]) -> None:
  """Refuse a stream with frost if the frost pictures are missing."""
  if "frost" in names:
    frost_pictures.check(keywords["frost_dir"], keywords["manual_dir"])
