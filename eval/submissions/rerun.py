"""Computes cells of a submission again and holds them against what it says.

Which ones the checker draws, by a seed of its own that the answer names: no text
of a submission has a say. Of each model as many, or one more; of its conditions,
in the table's order, one from each of as many parts (docs/RESULTS.md has what
that finds). The model and the data are those that the config names, on this
machine; weights that the run trained are the submission's. They have to have the
sha256 of the facts. Predictions are equal, or, on another kind of device, equal in
whole numbers and texts, and in every number to `TOLERANCE`. Of the five classes those
may change places whose scores, computed here, are as near to each other: in a few rows,
and nowhere so that the cell's main number moves, for a model that cannot tell its
classes or its boxes apart would let somebody else choose them.
"""

import collections
import contextlib
import dataclasses
import hashlib
import itertools
import sys
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
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
from eval.submissions import layout
from eval.tasks.parts import example_checks
from robust_tfds import datasets, errors, natural_sets
from robust_tfds.shards import Shard
from robust_tfds.storage import paths

# Relative, and what numbers may differ by anyway. Measured on processors: 2e-6 at
# most (docs/RESULTS.md). The rest is room for accelerators, not measured.
TOLERANCE = 1e-4
_ANYWAY = 1e-5
# Below it float32 has no exact scores, and some devices none at all.
_NO_SCORE = 1e-30
# Of the rows, or of a sequence's frames: in so many classes may be tied, and so far
# may the main number lie from that computed here.
_FEW = 1e-3
_TRAINED_ANEW = (
  " It was trained anew, which gives others on another number of cores or devices:"
  " this submission does not hold the weights. Export it again where the run's"
  " folder models/ is."
)
# What the disclosure of a training says, and nobody may leave out.
_OF_TRAINING = ("corruptions_seen", "severities_seen")
# Facts that may differ: other files may hold the same pixels, and later code may
# say more of a spec.
_IMAGES = ",images="  # of --own_data: where a COCO file's pictures lie
_FREE = ("content", "decoders", "code", "preprocessing.source")

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class _Chosen(Shard):
  """A shard that makes the cells that it names."""

  cells: frozenset = frozenset()

  def of(self, items: Sequence[T]) -> list[T]:
    """Those that are named."""
    return [item for item in items if item in self.cells]


@dataclasses.dataclass(frozen=True)
class Again:
  """What was computed again.

  Attributes:
    cells: those that were.
    of: how many there are.
    lines: what was reproduced, in words.
    left: what of the predictions was not, in words; none where all cells were.
  """

  cells: Sequence[Cell]
  of: int
  lines: Sequence[str]
  left: Sequence[str]

  @property
  def datasets(self) -> set[str]:
    """Whose examples and labels were read again."""
    return {cell.dataset for cell in self.cells}

  @property
  def models(self) -> set[str]:
    """Labels of those that were run."""
    return {cell.model for cell in self.cells}

  @property
  def free(self) -> Collection[str]:
    """Names of the facts that were not compared."""
    return _FREE


def rerun(
  folder: epath.Path,
  run: Run,
  trained: Collection[str],
  count: int,
  seed: int,
  own_data: str = "",
) -> Again:
  """Computes some cells again.

  Args:
    trained: labels of models whose weights lie in it: they are not trained again.
    count: how many cells; all where there are fewer.
    own_data: where a set that is no benchmark lies here, `folder:/data/pets`.

  Raises:
    UserError: the model or the data is not here, or the cells come out otherwise:
      names the first and how many rows differ.
  """
  cells = drawn(run.cells, count, seed)
  with tempfile.TemporaryDirectory(prefix="robust_tfds_") as temporary:
    place = epath.Path(temporary)
    made = _run(folder, run, trained, cells, place, own_data)
    _check_truth(folder, run, {workdir for _, workdir in made.values()})
    for cell in cells:
      _check_facts(folder, cell, made[cell][0], set(run.trained) - set(trained))
    compared = [_compare(folder, run, made, cell) for cell in cells]
  of = len(run.cells)
  names = ", ".join(f"{c.model} {c.condition.config}" for c in cells)
  same = sum(exact for exact, _ in compared)
  draw = f", drawn by --rerun_seed={seed}" if len(cells) < of else ""
  lines = [f"{len(cells):,} of {of:,} cells{draw}, computed again: {names}"]
  if same:
    lines.append(f"{same} of them are equal in every bit")
  if same < len(cells):
    lines.append(
      f"{len(cells) - same} of them are equal in every number to {TOLERANCE:g}, in"
      f" texts, and in classes but for {sum(n for _, n in compared):,} of their"
      " rows, whose scores computed here are as near"
    )
  return Again(cells, of, lines, _left(run, cells))


def _left(run: Run, cells: Sequence[Cell]) -> list[str]:
  """What nobody knows of the cells that were not computed again."""
  others = len(run.cells) - len(cells)
  if not others:
    return []
  absent = sorted(set(run.labels()) - {cell.model for cell in cells})
  without = f", all of {', '.join(absent)} among them" if absent else ""
  return [
    f"that the models gave the predictions of the other {others:,} cells{without}:"
    f" --rerun={len(run.cells)} computes them all"
  ]


def drawn(cells: Sequence[Cell], count: int, seed: int) -> list[Cell]:
  """The cells that are computed again, in their order.

  As many of every model, or one more. A model's cells are cut into as many parts
  of neighbours, of equal length or one more, and one is drawn from each.

  Args:
    cells: of the submission, in the table's order.
    count: how many; all where there are fewer.
    seed: of the draw: what comes first is the least sha256 of it and a name.
  """

  def first(names: Sequence[str]) -> str:
    return hashlib.sha256("/".join((str(seed), *names)).encode()).hexdigest()

  of_model: dict[str, list[Cell]] = {}
  for cell in cells:
    of_model.setdefault(cell.model, []).append(cell)
  labels = sorted(of_model, key=lambda label: first([label]))
  turns = sorted(
    (turn, i) for i, m in enumerate(labels) for turn in range(len(of_model[m]))
  )[:count]
  shares = collections.Counter(labels[i] for _, i in turns)
  chosen = {
    min(part, key=lambda cell: first(cell.place))
    for label, share in shares.items()
    for part in _parts(of_model[label], share)
  }
  return [cell for cell in cells if cell in chosen]


def _parts(items: Sequence[T], count: int) -> list[Sequence[T]]:
  """Neighbours, in so many parts of equal length or one more."""
  ends = [i * len(items) // count for i in range(count + 1)]
  return [items[a:b] for a, b in itertools.pairwise(ends)]


def _run(
  folder: epath.Path,
  run: Run,
  trained: Collection[str],
  cells: Sequence[Cell],
  target: epath.Path,
  own_data: str,
) -> dict[Cell, tuple[Cell, Workdir]]:
  """Make the cells below `target` and return each with what was made and where."""
  from eval.run import plan as plan_lib
  from eval.run import runner
  from eval.run.model import weights

  _check_models(run.config)
  out: dict[Cell, tuple[Cell, Workdir]] = {}
  for number, dataset in enumerate(dict.fromkeys(c.dataset for c in cells)):
    of_dataset = [c for c in cells if c.dataset == dataset]
    try:
      settings = _settings(run, of_dataset[0], target)
      plan = plan_lib.make(_of_own_data(settings, own_data))
      named = frozenset((c.model, c.condition) for c in of_dataset)
      place = target / str(number)
      for label in {c.model for c in of_dataset} & set(trained):
        weights.hand_over(plan, label, Workdir(folder), Workdir(place))
      # What a run prints is no part of the answer.
      with contextlib.redirect_stdout(sys.stderr):
        runner.Runner(
          plan, place, shard=_Chosen(1, 2, named), report=False
        ).run()
    except FileNotFoundError as e:
      raise errors.UserError(
        f"--rerun: what config.json names is not on this machine: {e}"
      ) from e
    workdir = Workdir(place)
    made = {(c.model, c.condition): c for c in workdir.cells()}
    for cell in of_dataset:
      out[cell] = made[cell.model, cell.condition], workdir
  return out


def _settings(
  run: Run, cell: Cell, target: epath.Path
) -> ml_collections.ConfigDict:
  """The run's, over a cell's set; a subset's file is written anew of its ids."""
  settings = run.settings(cell.dataset)
  for name in ("data_dir", "manual_dir", "frost_dir"):
    if not paths.is_local(str(settings.data.get(name) or "")):
      raise errors.UserError(
        f"--rerun: config.data.{name}={settings.data[name]} is a place of the"
        " submitter's: examples are read from this machine alone."
      )
  subset = str(settings.data.get("subset") or "")
  ids = dict.fromkeys(run.columns(cell)["example_id"].tolist())
  lines = example_checks.subset_lines(subset, list(ids))
  if lines:
    file = target / f"{subset.rpartition('-')[0]}.txt"
    file.write_text("\n".join(lines))
    settings.data.subset = str(file)
  return settings


def _of_own_data(
  settings: ml_collections.ConfigDict, own_data: str
) -> ml_collections.ConfigDict:
  """The run's over data that are here: no submission says where, or whose code.

  Raises:
    UserError: its set is no benchmark, and nobody says where it lies.
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
  """Refuse models that cannot be run, and code that a submission names."""
  models = workdir_lib.models_of(config)
  if not any(models.values()):
    raise errors.UserError(
      "--rerun: these predictions are of another program: config.json names no"
      " model that could be run."
    )
  for model in models.values():
    name = str(model.get("name", ""))
    if not name or ":" in name:
      raise errors.UserError(
        f"--rerun: config.json names the model {name!r}, which is code of the"
        " submitter or nothing at all. Only models of robust_tfds are run: no"
        " submission says what code this machine runs."
      )


def _check_truth(folder: epath.Path, run: Run, made: Iterable[Workdir]) -> None:
  """Refuse ground truth that is not that of the data that are here."""
  for workdir in made:
    if workdir.truth() != run.truth:
      raise errors.UserError(
        f"{folder / layout.TRUTH[0]}: it is not the ground truth of the data that"
        " are here."
      )


def _compare(
  folder: epath.Path,
  run: Run,
  made: Mapping[Cell, tuple[Cell, Workdir]],
  cell: Cell,
) -> tuple[bool, int]:
  """Refuse what is not reproduced.

  Returns:
    Whether all is equal in every bit, and how many rows have other classes.
  """
  again, workdir = made[cell]
  source = Workdir(folder).cell_folder(cell)
  columns = _in_order(run.columns(cell))
  now = _in_order(workdir.columns(again))
  # A column may be younger than the submission.
  names = [name for name in columns if name in now]
  absent = [name for name in columns if name not in now]
  if absent:
    raise errors.UserError(
      f"{source}: the column {absent[0]!r} does not come out of this run."
    )
  if len(now["example_id"]) != len(columns["example_id"]):
    raise errors.UserError(
      f"{source}: {len(columns['example_id']):,} rows, but"
      f" {len(now['example_id']):,} come out of this run."
    )
  differ = np.zeros(len(now["example_id"]), bool)
  for name in names:
    differ |= _differ(name, columns, now)
  others = _other_classes(columns, now)
  apart, numbers = _numbers(run, cell, columns, now)
  if differ.any() or others.sum() > max(1, _FEW * others.size):
    differ |= others.reshape(len(differ), -1).any(axis=1)
    first = str(columns["example_id"][np.flatnonzero(differ)[0]])
    raise errors.UserError(
      f"{source}: {int(differ.sum()):,} of {len(differ):,} rows of {cell.model}"
      f" {cell.condition.config} come out otherwise, the first is {first!r}: it"
      f" is not reproduced. {numbers}{_decoders(cell, again)}"
    )
  if apart > max(1 / len(differ), _FEW):
    raise errors.UserError(
      f"{source}: {numbers} Scores of {cell.model} are so near to one another that"
      " whoever writes them down chooses their order."
    )
  same = all(_same(columns[name], now[name]) for name in names)
  return same, int(others.sum())


def _in_order(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
  """The rows by id and frame: in a submission they may stand in any order."""
  order = np.lexsort((columns["frame"], columns["example_id"]))
  return {name: values[order] for name, values in columns.items()}


def _other_classes(
  one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]
) -> np.ndarray:
  """bool `[N]`, of sequences `[N, F]`: other classes, or in another order."""
  if "top5" not in one or one["top5"].shape != other["top5"].shape:
    return np.zeros(len(one["example_id"]), bool)
  return (one["top5"] != other["top5"]).any(axis=-1)


def _numbers(
  run: Run, cell: Cell, one: Columns, now: Columns
) -> tuple[float, str]:
  """How far a cell's main number is from that computed here, and both in words."""
  task = run.task(cell.dataset)
  there, here = (task.cell_rows(cell, c, run.truth)[0] for c in (one, now))
  return abs(there.value - here.value), (
    f"{task.facts.metric(here.metric).heading} is {here.value:.4f} here,"
    f" {there.value:.4f} in the submission."
  )


def _decoders(cell: Cell, again: Cell) -> str:
  """What may explain levels that differ; nothing where it cannot."""
  sides = (("there", cell), ("here", again))
  named = [(k, c.data.decoders) for k, c in sides if c.data and c.data.decoders]
  return "".join(f" {text}" for text in cell_facts.decoders_differ(named))


def _check_facts(
  folder: epath.Path, cell: Cell, again: Cell, anew: Collection[str]
) -> None:
  """Refuse other weights and other data than those of the facts."""
  source = str(Workdir(folder).cell_folder(cell))
  assert cell.model_facts and cell.data and again.model_facts and again.data
  if cell.model_facts.weights not in (None, again.model_facts.weights):
    raise errors.UserError(
      f"{source}: the weights of {cell.model} that are here have the sha256"
      f" {again.model_facts.weights}, but the facts say {cell.model_facts.weights}."
      f"{_TRAINED_ANEW if cell.model in anew else ''}"
    )
  _check_same(source, cell.model, cell.model_facts, again.model_facts)
  _check_same(source, "the data", cell.data, again.data)


def _check_same(
  source: str,
  whose: str,
  one: ModelFacts | DataFacts,
  other: ModelFacts | DataFacts,
) -> None:
  """Refuse facts that both know and that differ."""
  differ = cell_facts.differences(
    cell_facts.with_spec(one.words()), cell_facts.with_spec(other.words())
  )
  for name, (stated, here) in differ.items():
    unsaid = name in _OF_TRAINING and here  # a training's disclosure says it
    if name not in _FREE and (unsaid or None not in (stated, here)):
      raise errors.UserError(
        f"{source}: {whose}: {name}: {stated!r} in the facts, {here!r} here."
      )


def _differ(
  name: str, one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]
) -> np.ndarray:
  """bool `[N]`: rows of a column that are not equal, numbers to `TOLERANCE`."""
  first, second = one[name], other[name]
  if first.shape != second.shape:
    return np.ones(len(first), bool)
  if name == "top5" and "score" in one and "score" in other:
    close = _near(one, other)
  elif first.dtype.kind == "f":
    close = _close(first, second, _ANYWAY)
  else:
    close = np.asarray(first == second)
  return ~np.asarray(close.reshape(len(first), -1).all(axis=1))


def _near(
  one: Mapping[str, np.ndarray], now: Mapping[str, np.ndarray]
) -> np.ndarray:
  """bool `[N, ..., 5]`: classes whose scores here are those of their places.

  One that is not among the five here has the last score, or less: of the true
  class NLL says it.
  """
  top5, scores = one["top5"], now["score"]
  same = top5[..., :, None] == now["top5"][..., None, :]
  own = np.where(same, scores[..., None, :], 0).max(axis=-1)
  behind = np.broadcast_to(scores[..., -1:], own.shape)
  if "nll" in now and top5.ndim == 2:
    label = top5 == now["label"][:, None]
    behind = np.where(label, np.exp(-now["nll"])[:, None], behind)
  own = np.where(same.any(axis=-1), own, behind)
  return _close(own, scores, _NO_SCORE)


def _close(one: np.ndarray, other: np.ndarray, anyway: float) -> np.ndarray:
  """bool, of the same shape: equal to `TOLERANCE`, or to a number `anyway`."""
  return np.isclose(one, other, rtol=TOLERANCE, atol=anyway, equal_nan=True)


def _same(one: np.ndarray, other: np.ndarray) -> bool:
  """Whether every bit is equal; of texts every letter."""
  if one.dtype.kind in "UTS":
    return bool((one == other).all())
  return one.dtype == other.dtype and one.tobytes() == other.tobytes()
