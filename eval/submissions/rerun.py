"""Recomputed cells of a submission, compared with the submitted ones.

The checker draws the cells by a seed that nobody can foresee. The model and the
data are those that the config names, on this machine; weights that the run trained
come from the submission. All must have the sha256 of the facts. Predictions must
be equal: whole numbers and texts exactly, other numbers to `TOLERANCE`. Only in a
few rows may classes differ, where another device breaks ties differently.
"""

import contextlib
import dataclasses
import random
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

import ml_collections
import numpy as np
from etils import epath

from eval.cells import cell_facts
from eval.cells import workdir as workdir_lib
from eval.cells.cell import Cell
from eval.cells.cell_facts import DataFacts, ModelFacts
from eval.cells.files.columns import Columns
from eval.cells.workdir import Workdir
from eval.readers.base import Run
from eval.submissions import files as files_lib
from eval.tasks.parts import example_checks
from robust_tfds import datasets, errors, natural_sets
from robust_tfds.shards import Shard
from robust_tfds.storage import paths

# Relative and absolute. Measured on processors: 2e-6 at most. The rest is room for
# accelerators, not measured.
TOLERANCE = 1e-4
_ABSOLUTE = 1e-5
_TIES = 1e-3  # this share of the rows, at least one, may have other classes
# Facts that may differ: other files may hold the same pixels, and later code may
# know more of a spec.
FREE_FACTS = ("content", "decoders", "code", "preprocessing.source")
# Facts that a training discloses, and that no submission may omit.
_DISCLOSED = ("corruptions_seen", "severities_seen")
_IMAGES = ",images="  # in --own_data: the folder of a COCO file's pictures

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class _Chosen(Shard):
  """A shard that makes the given cells."""

  cells: frozenset = frozenset()

  def share(self, items: Sequence[T]) -> list[T]:
    """Return the chosen cells among the items."""
    return [item for item in items if item in self.cells]


@dataclasses.dataclass(frozen=True)
class Rerun:
  """The cells that were recomputed, all of which came out as submitted.

  Attributes:
    cells: the recomputed cells.
    total: number of cells of the submission.
    exact: number of recomputed cells that are equal in every bit.
    seed: the seed of the draw.
  """

  cells: Sequence[Cell]
  total: int
  exact: int
  seed: int

  @property
  def datasets(self) -> set[str]:
    """The data sets whose examples and labels were read."""
    return {cell.dataset for cell in self.cells}

  @property
  def models(self) -> set[str]:
    """The labels of the models that were run."""
    return {cell.model for cell in self.cells}

  def verified(self) -> list[str]:
    """Return a text about the reproduced cells."""
    names = ", ".join(f"{c.model} {c.condition.config}" for c in self.cells)
    count, exact = len(self.cells), self.exact
    draw = f", drawn by --rerun_seed={self.seed}" if count < self.total else ""
    near = (
      f"; the other {count - exact} are equal in texts, whole numbers (classes may"
      f" differ in a few rows), and other numbers to {TOLERANCE:g}"
    )
    return [
      f"{count:,} of {self.total:,} cells{draw}, computed again: {names}",
      f"{exact} of them are equal in every bit{near if exact < count else ''}",
    ]

  def unverified(self) -> list[str]:
    """Return a text about what is unknown of the other cells."""
    others = self.total - len(self.cells)
    if not others:
      return []
    return [
      f"that the models gave the predictions of the other {others:,} cells:"
      f" --rerun={self.total} computes them all"
    ]


def rerun(
  folder: epath.Path,
  run: Run,
  trained: Collection[str],
  count: int,
  seed: int,
  own_data: str = "",
) -> Rerun:
  """Recompute some cells and compare them with the submission.

  Args:
    trained: labels of models whose weights are in the submission: they are not
      trained again.
    count: number of cells.
    seed: seed of the draw.
    own_data: place of a set that is no benchmark, e.g. `folder:/data/pets`.

  Raises:
    UserError: the model or the data is not on this machine, or a cell comes out
      otherwise; the message names it and how many rows differ.
  """
  cells = drawn(run.cells, count, seed)
  exact = 0
  with tempfile.TemporaryDirectory(prefix="robust_tfds_") as temporary:
    made = _run(folder, run, trained, cells, epath.Path(temporary), own_data)
    for cell in cells:
      here, workdir = made[cell]
      source = str(Workdir(folder).cell_folder(cell))
      if workdir.truth() != run.truth:
        raise errors.UserError(
          f"{folder / files_lib.TRUTH[0]}: it is not the ground truth of the data"
          " on this machine."
        )
      _check_facts(
        source, cell, here, cell.model in set(run.trained) - {*trained}
      )
      exact += _compare(
        source, cell, here, run.columns(cell), workdir.columns(here)
      )
  return Rerun(cells, len(run.cells), exact, seed)


def drawn(cells: Sequence[Cell], count: int, seed: int) -> list[Cell]:
  """Return the cells that are recomputed, in their order; all if there are fewer."""
  places = range(len(cells))
  chosen = random.Random(seed).sample(places, min(count, len(cells)))
  return [cells[i] for i in sorted(chosen)]


def _run(
  folder: epath.Path,
  run: Run,
  trained: Collection[str],
  cells: Sequence[Cell],
  target: epath.Path,
  own_data: str,
) -> dict[Cell, tuple[Cell, Workdir]]:
  """Make the cells below `target`; return each with the made one and its place."""
  from eval.run import plan as plan_lib
  from eval.run import runner
  from eval.run.model import weights

  _check_models(run.config)
  out: dict[Cell, tuple[Cell, Workdir]] = {}
  for number, dataset in enumerate(dict.fromkeys(c.dataset for c in cells)):
    dataset_cells = [c for c in cells if c.dataset == dataset]
    named = frozenset((c.model, c.condition) for c in dataset_cells)
    place = target / str(number)
    try:
      settings = _settings(run, dataset_cells[0], target)
      plan = plan_lib.make(_relocated(settings, own_data))
      for label in {c.model for c in dataset_cells} & set(trained):
        weights.hand_over(plan, label, Workdir(folder), Workdir(place))
      # What a run prints is not part of the answer.
      with contextlib.redirect_stdout(sys.stderr):
        shard = _Chosen(1, 2, named)
        runner.Runner(plan, place, shard=shard, report=False).run()
    except FileNotFoundError as e:
      raise errors.UserError(
        f"--rerun: a file that config.json names is not on this machine: {e}"
      ) from e
    workdir = Workdir(place)
    made = {(c.model, c.condition): c for c in workdir.cells()}
    for cell in dataset_cells:
      out[cell] = made[cell.model, cell.condition], workdir
  return out


def _settings(
  run: Run, cell: Cell, target: epath.Path
) -> ml_collections.ConfigDict:
  """Return the run's settings for a cell's data; write the file of a subset."""
  settings = run.settings(cell.dataset)
  for name in ("data_dir", "manual_dir", "frost_dir"):
    if not paths.is_local(str(settings.data.get(name) or "")):
      raise errors.UserError(
        f"--rerun: config.data.{name}={settings.data[name]} is a place of the"
        " submitter's. Examples are read from this machine alone: change it in"
        " your copy's config."
      )
  subset = str(settings.data.get("subset") or "")
  ids = dict.fromkeys(run.columns(cell)["example_id"].tolist())
  lines = example_checks.subset_lines(subset, list(ids))
  if lines:
    file = target / f"{subset.rpartition('-')[0]}.txt"
    file.write_text("\n".join(lines))
    settings.data.subset = str(file)
  return settings


def _relocated(
  settings: ml_collections.ConfigDict, own_data: str
) -> ml_collections.ConfigDict:
  """Return the settings with the place of the data on this machine.

  Raises:
    UserError: the set is no benchmark, and `own_data` is empty.
  """
  data = settings.data
  name, data.own = data.name, ""
  if name in datasets.names():
    return settings
  if natural := natural_sets.text_of(name):
    data.name = natural
    return settings
  if not own_data:
    raise errors.UserError(
      f"--rerun: {name} is no benchmark but data of the submitter's own. If you"
      " have them, say where: --own_data=folder:/data/pets."
    )
  data.name, _, data.images = own_data.partition(_IMAGES)
  data.set_name = name
  return settings


def _check_models(config: ml_collections.ConfigDict) -> None:
  """Refuse models that are not networks of robust_tfds."""
  models = workdir_lib.models_of(config)
  if not any(models.values()):
    raise errors.UserError(
      "--rerun: these predictions come from another program: config.json names no"
      " model that could be run."
    )
  for model in models.values():
    name = str(model.get("name", ""))
    if not name or ":" in name:
      raise errors.UserError(
        f"--rerun: config.json names the model {name!r}. Only models of robust_tfds"
        " are run: no submission says what code this machine runs."
      )


def _check_facts(source: str, cell: Cell, here: Cell, retrained: bool) -> None:
  """Refuse weights, specs and data that differ from the facts.

  Args:
    here: the recomputed cell.
    retrained: whether the model was trained again here.
  """
  assert cell.model_facts and cell.data and here.model_facts and here.data
  stated, found = cell.model_facts.weights, here.model_facts.weights
  if stated not in (None, found):
    reason = (
      " It was trained again here, which gives other weights on another machine:"
      " this submission does not hold the weights. Export it again where the run's"
      " folder models/ is."
    )
    raise errors.UserError(
      f"{source}: the weights of {cell.model} on this machine have the sha256"
      f" {found}, but the facts say {stated}.{reason if retrained else ''}"
    )
  _check_same(source, cell.model, cell.model_facts, here.model_facts)
  _check_same(source, "the data", cell.data, here.data)


def _check_same(
  source: str,
  subject: str,
  submitted: ModelFacts | DataFacts,
  recomputed: ModelFacts | DataFacts,
) -> None:
  """Refuse facts that are known on both sides and differ."""
  differ = cell_facts.differences(
    cell_facts.flatten_spec(submitted.words()),
    cell_facts.flatten_spec(recomputed.words()),
  )
  for name, (there, here) in differ.items():
    omitted = name in _DISCLOSED and here
    if name not in FREE_FACTS and (omitted or None not in (there, here)):
      raise errors.UserError(
        f"{source}: {subject}: {name}: {there!r} in the facts, {here!r} here."
      )


def _compare(
  source: str, cell: Cell, made: Cell, submitted: Columns, recomputed: Columns
) -> bool:
  """Refuse a cell that is not reproduced; return whether every bit is equal.

  Args:
    made: the recomputed cell.
    submitted: the submission's columns.
    recomputed: the recomputed columns, of which some may be newer.
  """
  there, here = _sorted(submitted), _sorted(recomputed)
  rows = len(there["example_id"])
  missing = there.keys() - here.keys()
  if missing or rows != len(here["example_id"]):
    raise errors.UserError(
      f"{source}: {rows:,} rows of {', '.join(there)}, but"
      f" {len(here['example_id']):,} of {', '.join(here)} come out here."
    )
  equal = {name: _equal_rows(there[name], here[name]) for name in there}
  top5 = equal.pop("top5", np.ones(rows, bool))
  differ = ~np.all([*equal.values()], axis=0)
  if differ.any() or (~top5).sum() > max(1, _TIES * rows):
    differ |= ~top5
    first = str(there["example_id"][np.flatnonzero(differ)[0]])
    raise errors.UserError(
      f"{source}: {int(differ.sum()):,} of {rows:,} rows of {cell.model}"
      f" {cell.condition.config} come out otherwise, the first is {first!r}: the"
      f" cell is not reproduced.{_decoders(cell, made)}"
    )
  return all(there[name].tobytes() == here[name].tobytes() for name in there)


def _sorted(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
  """Sort rows by id and frame: a submission may have them in any order."""
  order = np.lexsort((columns["frame"], columns["example_id"]))
  return {name: values[order] for name, values in columns.items()}


def _equal_rows(there: np.ndarray, here: np.ndarray) -> np.ndarray:
  """Return which rows of a column are equal, numbers to `TOLERANCE`: bool `[N]`."""
  if there.shape != here.shape:
    return np.zeros(len(there), bool)
  if there.dtype.kind == "f":
    equal = np.isclose(there, here, TOLERANCE, _ABSOLUTE, equal_nan=True)
  else:
    equal = np.asarray(there == here)
  return equal.reshape(len(there), -1).all(axis=1)


def _decoders(cell: Cell, made: Cell) -> str:
  """Return a hint if pixels were decoded by different programs; else ''."""
  sides = (("there", cell), ("here", made))
  named = [(k, c.data.decoders) for k, c in sides if c.data and c.data.decoders]
  return "".join(f" {text}" for text in cell_facts.decoder_notes(named))
