"""Weights trained on embedded data, kept between runs so that the next reuses them.

They lie beside the compiled programs (`kept_programs`), one `.npz` a model, whose
name says what they depend on and their own sha256, and are never of a run of
several processes. Embedded sets are drawn by this package's code, so that the
code stands for the data as well; weights of other sets are not kept.
"""

import contextlib
import os
import pathlib
from typing import Any

import jax
from etils import epath

from eval.cells import provenance
from eval.run.execution import progress, run_cache
from eval.run.model import trained
from models import weights_file
from robust_tfds import datasets, errors, kept_programs
from robust_tfds.building import embedded
from robust_tfds.storage import disk

_MAX_FILES = 32  # files; those of older code go first


def load_or_train(
  model: Any, recipe: Any, folder: epath.Path, *, data_dir: str
) -> Any:
  """Return trained weights, from an earlier run if it trained the same.

  Args:
    model: from `models.get`.
    recipe: how it is trained.
    folder: the model's, in the workdir.
    data_dir: TFDS data folder.

  Raises:
    UserError: as `trained.load_or_train`.
  """
  place = kept_programs.folder() if _may_be_kept(recipe) else None
  if place is None or trained.check_whole(folder):
    return trained.load_or_train(model, recipe, folder, data_dir=data_dir)
  stem = f"weights-{model.name}-{_depends_on(model, recipe)}"
  for file in place.glob(f"{stem}-*.npz"):
    _take(model, recipe, folder, file)
  new = not trained.check_whole(folder)
  variables = trained.load_or_train(model, recipe, folder, data_dir=data_dir)
  if new:
    sha256 = weights_file.sha256(variables)
    _keep(place / f"{stem}-{sha256}.npz", variables)
  return variables


def _may_be_kept(recipe: Any) -> bool:
  """Return whether one process trains, on data that is drawn by code alone."""
  name = recipe.dataset
  ours = name in datasets.names()
  kind = datasets.builder_class(name) if ours else object
  return issubclass(kind, embedded.Clean) and jax.process_count() == 1


def _take(
  model: Any, recipe: Any, folder: epath.Path, file: pathlib.Path
) -> None:
  """Store kept weights in a run's folder; remove them if they are damaged."""
  try:
    variables = weights_file.read(
      epath.Path(file), file.stem.rpartition("-")[2]
    )
    trained.store(model, recipe, folder, variables)
  except disk.DiskError:  # the workdir's
    raise
  except errors.UserError as e:
    progress.say(f"{e} They are removed, and {model.name} is trained anew.")
    file.unlink(missing_ok=True)
  else:
    progress.say(f"{model.name} was trained by an earlier run: {file}")


def _keep(file: pathlib.Path, variables: Any) -> None:
  """Write weights, if that folder has room; the oldest go."""
  with contextlib.suppress(disk.DiskError, OSError):
    weights_file.write(epath.Path(file), variables)
    files = sorted(file.parent.glob("weights-*"), key=os.path.getmtime)
    for old in files[:-_MAX_FILES]:
      old.unlink(missing_ok=True)


def _depends_on(model: Any, recipe: Any) -> str:
  """Return 12 digits over recipe, data, code, packages and devices."""
  facts = {
    "model": [model.name, repr(model.spec)],
    "recipe": dict(recipe),
    **run_cache.surroundings(),
  }
  return provenance.fingerprint(facts)
