"""Weights that a run trained, as they travel with a submission.

Each is a file of `models/weights_file.py`. Training anew on another number of
cores gives others.
"""

from typing import Any

from etils import epath

from eval.cells.workdir import Workdir
from eval.run.model import trained
from eval.run.plan import Plan
from models import weights_file
from robust_tfds.storage import disk


def path(workdir: Workdir, label: str) -> epath.Path:
  """Return the path of a model's weights in a submission."""
  return workdir.model_folder(label) / weights_file.FILE


def read(workdir: Workdir, label: str, sha256: str | None) -> Any:
  """Return the weights that a run trained or a submission has; None if neither.

  Args:
    workdir: workdir of the run, or the submission.
    sha256: sha256 in its facts; a file with another one is refused.

  Raises:
    UserError: they are damaged.
  """
  file = path(workdir, label)
  if not disk.exists(file):
    return None
  if not trained.check_whole(file.parent):
    return weights_file.read(file, sha256)
  variables = weights_file.variables_of(file)
  return variables if weights_file.sha256(variables) == sha256 else None


def hand_over(plan: Plan, label: str, source: Workdir, target: Workdir) -> None:
  """Let a run take weights of a submission in place of training.

  Args:
    plan: plan of the run in which the model is trained.
    source: the submission, whose weights are those of the facts.

  Raises:
    UserError: they do not fit the model.
  """
  recipe = plan.models[label].train
  assert recipe is not None  # submissions hold no other weights
  model, folder = plan.model(label), target.model_folder(label)
  variables = weights_file.variables_of(path(source, label))
  trained.store(model, recipe.recipe(), folder, variables)
