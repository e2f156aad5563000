"""Weights that a run trained, as they travel with a submission.

One `.npz` without pickles, its arrays named by their paths in the variables:
`head/kernel`. Training anew on another number of cores gives others.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from etils import epath

from robust_tfds import errors, reading
from robust_tfds.eval.cells import disk, packed, provenance
from robust_tfds.eval.cells.workdir import Workdir
from robust_tfds.eval.run import train
from robust_tfds.eval.run.plan import Plan
from robust_tfds.models import variables as variables_lib
from robust_tfds.reading import limits

FILE = "weights.npz"
_DEEPEST = 32  # names of a path; networks have about ten


def path(workdir: Workdir, label: str) -> epath.Path:
  """Where a model's weights lie in a submission."""
  return workdir.model_folder(label) / FILE


def of_run(workdir: Workdir, label: str, sha256: str | None) -> Any:
  """The weights that a run trained, or a submission has; None where neither.

  Args:
    workdir: of the run, or the submission.
    sha256: that its facts say; others are not its weights.

  Raises:
    UserError: they are damaged.
  """
  if disk.exists(path(workdir, label)):
    return read(path(workdir, label), sha256)
  variables = train.stored(workdir.model_folder(label))
  return variables if provenance.weights_sha256(variables) == sha256 else None


def write(file: epath.Path, variables: Any) -> None:
  """Writes variables; equal ones are equal bytes."""
  flat = variables_lib.flatten(variables)
  with disk.writing(file.parent):
    file.parent.mkdir(parents=True, exist_ok=True)
    arrays = {"/".join(names): array for names, array in flat.items()}
    disk.write_bytes(file, packed.archived(arrays))


def hand_over(plan: Plan, label: str, source: Workdir, target: Workdir) -> None:
  """Lets a run take weights of a submission in place of training.

  Args:
    plan: of the run, in which the model is trained.
    source: the submission, whose weights are those of the facts.

  Raises:
    UserError: they do not fit the model.
  """
  recipe = plan.models[label].train
  assert recipe is not None  # submissions hold no other weights
  model, folder = plan.model(label), target.model_folder(label)
  train.store(model, recipe.recipe(), folder, _variables(path(source, label)))


def read(file: epath.Path, sha256: str | None) -> Any:
  """The variables of a file.

  Args:
    file: of `write`.
    sha256: of the variables, as the facts of the model say it.

  Raises:
    UserError: no such file, or of other weights; names it.
  """
  variables = _variables(file)
  got = provenance.weights_sha256(variables)
  if got != sha256:
    raise errors.UserError(
      f"{file}: these weights have the sha256 {got}, but the facts of the model"
      f" say {sha256}."
    )
  return variables


def _variables(file: epath.Path) -> Any:
  data = reading.file_bytes(file, limit=limits.ARRAY_BYTES)
  arrays = reading.npz_bytes(data, str(file))
  for name, array in arrays.items():
    _check_array(f"{file}: {name[:100]!r}", name.split("/"), array)
  flat = {tuple(name.split("/")): array for name, array in arrays.items()}
  try:
    return variables_lib.nest(flat)
  except (TypeError, AttributeError, IndexError) as e:  # one below an array
    raise errors.UserError(f"{file}: these are no variables ({e}).") from e


def _check_array(source: str, names: Sequence[str], array: np.ndarray) -> None:
  """Refuses what no network of ours has among its weights."""
  if not all(names) or len(names) > _DEEPEST:
    raise errors.UserError(
      f"{source}: expected a path of 1 to {_DEEPEST} names, got {len(names):,}."
    )
  if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
    raise errors.UserError(
      f"{source}: expected finite numbers, got {array.dtype}"
      " or ones that are not finite."
    )
