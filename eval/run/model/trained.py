"""Models that a run trains by itself (`config.model.train`), or has trained.

The training is `models/training`'s, of seconds and without checkpoints: on one
device of one host, so that all hosts of a run have the same weights. They lie in
the model's folder of the workdir, in the file that submissions have too.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import jax
from etils import epath

from eval.cells.files import damage
from eval.cells.files import note as note_lib
from eval.run import spec as spec_lib
from eval.run.execution import progress
from models import variables as variables_lib
from models import weights_file
from robust_tfds import errors, hosts, reading, settings
from robust_tfds.records import Record
from robust_tfds.storage import disk

if TYPE_CHECKING:
  from models.training.config import Config

_NOTE = "recipe.json"  # written last
_CLIP_NORM = 5.0  # for detectors, whose first gradients are large
# Keys of a training that are keys of `config.model.train`.
_KEYS = {
  "config.data.source": "dataset",
  "config.data.split": "split",
  "config.optimizer.learning_rate": "learning_rate",
  "config.batch_size": "batch_size",
  "config.recipe.flip": "flip",
  "config.recipe.crop_px": "crop_px",
  "config.recipe.balance": "balance",
}


class _Record(Record):
  """The contents of the note."""

  recipe: dict[str, Any]
  files: dict[str, str]


def load_or_train(
  model: Any, recipe: Any, folder: epath.Path, *, data_dir: str
) -> Any:
  """Return the trained variables: from `folder` if they are there, else train.

  Args:
    model: from `models.get`.
    recipe: the keys of `config.model.train`.
    folder: where the weights and their recipe lie.
    data_dir: TFDS data folder.

  Returns:
    Variables for `model.apply`, on the host.

  Raises:
    UserError: a model without a train mode; the folder holds a model of another
      recipe, or a damaged one; data that the model does not take; training that
      diverged.
  """
  if not model.trainable:
    raise errors.UserError(
      f"{model.name} has no train mode, so config.model.train would spoil it."
      " Networks of models.names() have one: name one of them, or leave out"
      " `train` and give a checkpoint."
    )
  if not check(model, recipe, folder):
    store(model, recipe, folder, _train(model, recipe, data_dir))
  return weights_file.variables_of(folder / weights_file.FILE)


def check(model: Any, recipe: Any, folder: epath.Path) -> bool:
  """Return whether a folder holds the model of a recipe; write nothing.

  Args:
    model: from `models.get`.
    recipe: see `load_or_train`.

  Raises:
    UserError: it holds a model of another recipe, or a damaged one.
  """
  facts, record = _facts(model, recipe), check_whole(folder)
  if record and record != facts:
    differ = [
      f"{key}: {record.get(key)!r} there, {facts.get(key)!r} now"
      for key in sorted({*record, *facts})
      if record.get(key) != facts.get(key)
    ]
    raise errors.UserError(
      f"{folder} holds a model trained in another way: {'; '.join(differ)}. Its"
      " finished cells belong to those weights: use another --workdir, or continue"
      " there with the settings that trained it."
    )
  return bool(record)


def store(model: Any, recipe: Any, folder: epath.Path, variables: Any) -> None:
  """Write a trained model, as `load_or_train` finds it.

  Args:
    model: from `models.get`.
    recipe: see `load_or_train`.

  Raises:
    UserError: they are not the model's.
  """
  shapes = jax.eval_shape(lambda: model.init(jax.random.key(0)))
  variables_lib.check_shapes(
    model.name,
    {p: x.shape for p, x in variables_lib.flatten(shapes).items()},
    variables_lib.flatten(variables),
  )
  weights_file.write(folder / weights_file.FILE, variables)
  record = {"recipe": _facts(model, recipe), "files": _checksums(folder)}
  text = json.dumps(record, indent=1, sort_keys=True) + "\n"
  disk.write_text(folder / _NOTE, text)


def check_whole(folder: epath.Path) -> dict[str, Any]:
  """Return the recipe of a trained model, if its weights are as written.

  Returns:
    The recipe; empty if the training has not ended.

  Raises:
    DamagedError: names the file.
  """
  path = folder / _NOTE
  if not disk.exists(path):
    return {}
  try:
    record = reading.records(reading.json_file(path), _Record, str(path))
    if record.files != _checksums(folder):
      raise errors.UserError(
        f"{folder / weights_file.FILE}: the weights that were trained here are"
        " not what was written: this file was changed, added or removed"
      )
  except errors.UserError as e:
    raise damage.DamagedError(str(e), folder) from e
  return record.recipe


def _checksums(folder: epath.Path) -> dict[str, str]:
  """Return name -> sha256 of the file of weights, if there is one."""
  file = folder / weights_file.FILE
  if not disk.exists(file):
    return {}
  return {file.name: note_lib.file_sha256(file)}


def _facts(model: Any, recipe: Any) -> dict[str, Any]:
  """Return the settings that a trained model's weights depend on."""
  return {"model": model.name, **dict(recipe)}


def _train(model: Any, recipe: Any, data_dir: str) -> Any:
  from models.training import run

  with _named_as_here(), hosts.alone():
    prepared = run.prepare(
      _config(model, recipe), model=model, data_dir=data_dir, say=progress.say
    )
    known, classes = model.spec.num_classes, len(prepared.source.classes)
    if known < classes:
      raise errors.UserError(
        f"config.data.source: {recipe.dataset!r} has {classes} classes,"
        f" {model.name} has {known}. Set num_classes, or train on a set of its"
        " classes."
      )
    progress.say(f"training {model.name}: {recipe.steps} steps")
    silent = lambda text: None
    return run.train(prepared, say=silent, words=f"training {model.name}")


def _config(model: Any, recipe: Any) -> Config:
  """Return a training as the trainer has it: Adam on a cosine."""
  from models.training.config import Config

  detects = model.kind == "detection"
  options = {k: recipe[k] for k in spec_lib.RECIPE_KEYS if recipe.get(k)}
  optimizer = {"name": "adam", "learning_rate": recipe.learning_rate}
  schedule: dict[str, Any] = {"name": "cosine"}
  if detects:
    optimizer["clip_norm"] = _CLIP_NORM
    schedule["warmup"] = recipe.steps // 10
  values = {
    "model": {"name": model.name},
    "data": {
      "source": recipe.dataset,
      "split": recipe.split,
      "geometry": model.spec.geometry if model.spec.clip_frames else "",
    },
    "recipe": {"name": "detector" if detects else "standard", **options},
    "optimizer": optimizer,
    "schedule": schedule,
    "steps": recipe.steps,
    "batch_size": recipe.batch_size,
    "seed": recipe.seed,
  }
  config = settings.validated(Config, values)
  config.data.check()
  return config


@contextlib.contextmanager
def _named_as_here() -> Iterator[None]:
  """Make refusals of the trainer name the keys of a run's config."""
  try:
    yield
  except errors.UserError as e:
    text = str(e)
    for theirs, ours in _KEYS.items():
      text = text.replace(theirs, f"config.model.train.{ours}")
    if text == str(e):
      raise
    raise errors.UserError(text) from e
