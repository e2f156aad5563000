"""Whether a user's own model is the one that a workdir's cells were made with.

The variables and the source are in every cell's fingerprint. The answers to the
probe lie beside it, as bytes differ between devices:

models/<label>/own.json    name, sha256 of the variables and of each source file
models/<label>/probe.npz   what the model answered to the probe

Both are written before the first cell, and compared at every later start.
"""

import collections
import dataclasses
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from etils import epath

from eval.cells.cell import Cell
from eval.cells.files import parts
from eval.cells.workdir import Workdir
from eval.run.model import likeness, probe
from models.model import Model
from robust_tfds import errors, reading
from robust_tfds.storage import disk


@dataclasses.dataclass(frozen=True)
class OwnModel:
  """The facts that tell one model of a user's from another.

  Attributes:
    name: `module:function`.
    weights: sha256 of its variables.
    source: module -> sha256 of its file.
    random: whether two calls on the same inputs differ.
    answers: to the probe.
  """

  name: str
  weights: str
  source: Mapping[str, str]
  random: bool
  answers: probe.Answers

  def facts(self) -> dict[str, Any]:
    """Return what enters the fingerprint of its cells, besides the weights."""
    facts: dict[str, Any] = {"source": dict(self.source)}
    return {**facts, "random": True} if self.random else facts

  def note(self) -> dict[str, Any]:
    """Return the content of `own.json`."""
    return {"name": self.name, "weights": self.weights, **self.facts()}


def variables(label: str, model: Model, key: jax.Array) -> Any:
  """Return the variables that a model brings.

  Raises:
    UserError: its `init` fails, or gives something else than numbers.
  """
  try:
    tree = model.init(key)
  except errors.UserError:
    raise
  except Exception as error:
    raise errors.UserError(
      f"{label}: its `init` fails: {errors.user_fault(error)}"
    ) from error
  for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
    if not _is_numbers(leaf):
      raise errors.UserError(
        f"{label}: its variable {jax.tree_util.keystr(path)} is a"
        f" {type(leaf).__name__}, expected an array of numbers."
      )
  return tree


def _is_numbers(leaf: Any) -> bool:
  try:
    return bool(jnp.isdtype(np.asarray(leaf).dtype, ("numeric", "bool")))
  except TypeError:  # keys of jax.random
    return False


def continue_or_claim(
  workdir: Workdir, own: Mapping[str, OwnModel], cells: Sequence[Cell]
) -> None:
  """Refuse models that differ from the finished cells' models; note new ones.

  A model without finished cells may be another one: what parts hold of it goes.

  Args:
    own: label -> the model as it is now.
    cells: cells that the run makes, and whose lock it holds.

  Raises:
    UserError: says what changed, or that what to compare with is not there.
  """
  if not own:
    return
  finished = collections.Counter(cell.model for cell in workdir.cells())
  for label, model in own.items():
    if finished[label]:
      _continue(workdir, label, model, finished[label])
      continue
    folder = workdir.model_folder(label)
    if not _is_noted(folder, model):
      # Before the note: a kill between them changes nothing.
      model_cells = [cell for cell in cells if cell.model == label]
      parts.Parts(workdir, model_cells).remove()
    folder.mkdir(parents=True, exist_ok=True)
    disk.write_text(
      _note(folder), json.dumps(model.note(), sort_keys=True) + "\n"
    )
    _write_answers(folder, model.answers)


def _is_noted(folder: epath.Path, model: OwnModel) -> bool:
  """Return whether a folder's note describes the current model."""
  try:
    return not _changes(folder, model)
  except errors.UserError:  # there is none, or it is damaged
    return False


def _continue(
  workdir: Workdir, label: str, model: OwnModel, finished: int
) -> None:
  changes = _changes(workdir.model_folder(label), model)
  if changes:
    raise errors.UserError(
      f"{workdir.path} holds {finished} finished cells of {label}, and"
      f" {model.name} is another model now: {'; '.join(changes)}. A table must"
      " not mix them: use another --workdir, or bring the old model back to"
      " continue that run."
    )


def _changes(folder: epath.Path, model: OwnModel) -> list[str]:
  """Return a text about the changes of a model."""
  for path in (_note(folder), _answers(folder)):
    if not path.exists():
      raise errors.UserError(
        f"{path} is not there: without it, it is unknown whether {model.name}"
        " is still the model of the finished cells. Bring it back, or use"
        " another --workdir."
      )
  before = reading.json_file(_note(folder))
  if not isinstance(before, Mapping):
    raise errors.UserError(f"{_note(folder)}: expected an object of facts.")
  now = model.note()
  changes = []
  if before.get("name") != now["name"]:
    changes.append(f"it was {before.get('name')}")
  if before.get("weights") != now["weights"]:
    changes.append("its variables changed")
  changes += _source_changes(before.get("source"), model.source)
  if before.get("random", False) != model.random:
    changes.append(f"it was {'not ' * model.random}random")
  if not model.random:
    answers = reading.npz_file(_answers(folder))
    words = likeness.difference(_checked(folder, answers), model.answers)
    changes += [f"on the same {probe.ROWS} pictures {words}"] if words else []
  return changes


def _source_changes(before: Any, now: Mapping[str, str]) -> list[str]:
  then = before if isinstance(before, Mapping) else {}
  changed = [m for m in sorted({*then, *now}) if then.get(m) != now.get(m)]
  if not changed:
    return []
  return [f"the source of {', '.join(changed)} changed"]


def _checked(
  folder: epath.Path, answers: dict[str, np.ndarray]
) -> probe.Answers:
  """Return the stored answers, as far as `likeness` relies on them."""
  axes = {"logits": 2, "boxes": 3, "scores": 2, "classes": 2, "valid": 2}
  axes["masks"] = 4
  maps = {*answers} == {"classes"}
  if maps:  # a class for every pixel
    axes["classes"] = 3
  detected = {"boxes", "scores", "classes", "valid"} <= {*answers}
  is_custom = not axes.keys() & answers.keys()  # for a custom metric
  whole = "logits" in answers or detected or maps or is_custom
  if not whole or any(
    a.ndim != axes.get(k, a.ndim) for k, a in answers.items()
  ):
    raise errors.UserError(
      f"{_answers(folder)}: no answers of a model. The file was changed by hand:"
      " bring it back, or use another --workdir."
    )
  return answers


def _write_answers(folder: epath.Path, answers: probe.Answers) -> None:
  out = io.BytesIO()
  np.savez(out, allow_pickle=False, **answers)  # type: ignore[arg-type]
  disk.write_bytes(_answers(folder), out.getvalue())


def _note(folder: epath.Path) -> epath.Path:
  return folder / "own.json"


def _answers(folder: epath.Path) -> epath.Path:
  return folder / "probe.npz"
