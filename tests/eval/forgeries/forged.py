"""A submission in memory, to be forged and written with every hash made to fit.

What follows from predictions, facts and config is written by the product's own
writer: hashes, fingerprints, table and manifest are those of what was forged.
"""

import functools
import pathlib
import shutil
from collections.abc import Callable, Iterator
from typing import Any, Self
from unittest import mock

import ml_collections
import numpy as np
from etils import epath

from robust_tfds import conditions
from robust_tfds.eval import tasks
from robust_tfds.eval.cells import cell_facts, table
from robust_tfds.eval.cells.submissions import (
  contents,
  layout,
  manifest,
  writer,
)
from robust_tfds.eval.cells.workdir import Workdir
from robust_tfds.eval.run.model import weights
from robust_tfds.eval.tasks.parts import known
from tests import conftest
from tests.eval import tiny_runs
from tests.eval.cells.submissions import small
from tests.eval.compare import small_runs

CNN, LINEAR = "digits_cnn", "digits_linear"
TWO = "two"  # all test digits, two models
TRAINED = (
  "trained"  # 40 of them, a model that `robust-tfds train` made of noise
)
Columns = dict[str, np.ndarray]


class Forged:
  """The parts of a submission, which a forgery changes.

  Attributes:
    config: settings, as in config.json.
    data: facts of the data.
    models: label -> facts of the model.
    cells: (label, condition's config name) -> columns, those of examples too.
    truth: of detection; else None.
    weights: label -> the file of weights that travel.
  """

  def __init__(self, folder: pathlib.Path):
    """Reads a submission."""
    run, self._folder = contents.read(folder), folder
    self.config = run.config.copy_and_resolve_references().to_dict()
    first = run.cells[0]
    self.data = first.data.model_dump()
    self.models = {c.model: c.model_facts.model_dump() for c in run.cells}
    self.cells = {
      (c.model, c.condition.config): dict(run.columns(c)) for c in run.cells
    }
    self.truth = run.truth
    files = {m: weights.path(Workdir(folder), m) for m in self.models}
    self.weights = {m: file for m, file in files.items() if file.exists()}
    self.split = Workdir(folder).note(first).split.name

  def __iter__(self) -> Iterator[Columns]:
    """The columns of all cells."""
    return iter(self.cells.values())

  def corrupted(self) -> list[Columns]:
    """Those of all cells but clean ones."""
    return [c for (_, name), c in self.cells.items() if name != "clean"]

  def each(self, change: Callable[[Columns], Any]) -> Self:
    """Changes the columns of every cell."""
    for columns in self:
      change(columns)
    return self

  def take(self, rows: np.ndarray, **data: Any) -> None:
    """Leaves some rows of every cell; says so in facts and config."""
    for columns in self:
      columns.update({k: v[rows] for k, v in columns.items()})
    self.data["examples"] = len(np.unique(columns["example_id"]))
    self.say(**data)

  def say(self, **data: Any) -> None:
    """Says it in the facts of the data, and in the config's `data`."""
    self.data.update({k: v for k, v in data.items() if k in self.data})
    self.config["data"].update(data)

  def write(self, root: pathlib.Path) -> pathlib.Path:
    """Writes it, every hash fits; gives its folder."""
    config, out = ml_collections.ConfigDict(self.config), root / "forged"
    data = cell_facts.DataFacts(**self.data)
    models = {m: cell_facts.ModelFacts(**f) for m, f in self.models.items()}
    small_runs.write_cells(
      out, config, models, data, self._cells(config), split=self.split
    )
    for label, file in self.weights.items():
      target = weights.path(Workdir(out), label)
      target.parent.mkdir(parents=True)
      shutil.copy(file, target)
    if self.truth is not None:
      Workdir(out).write_truth(self.truth)
    with mock.patch.object(known, "check_groups"):  # the forger's own writer
      table.write(contents.read(out).rows(), out / "table.csv")
    files = {name: small.file(out / name) for name in layout.files_of(out)}
    made = manifest.make(
      config.task, len(self.cells), models, {data.hash: data}, files
    )
    manifest.write(out, made)
    return out

  def _cells(self, config: ml_collections.ConfigDict) -> dict[tuple, Columns]:
    kinds = tasks.get(config.task).family, conditions.PICTURES
    return {
      (label, _condition(kinds, name)): columns
      for (label, name), columns in self.cells.items()
    }


def _condition(kinds, name: str) -> conditions.Condition:
  return conditions.Condition() if name == "clean" else kinds[0].parse(name)


@functools.cache
def honest(name: str) -> pathlib.Path:
  """A submission that nobody forged, of a run of models.

  Args:
    name: `TWO`, `TRAINED`, or of `tiny_runs.NAMES`.
  """
  root = conftest.of_session() / f"honest_{name}"
  shutil.rmtree(root, ignore_errors=True)
  made = {TWO: _two, TRAINED: _trained}.get(name)
  run = made(root / "run") if made else tiny_runs.folder(name)
  labels = {c.model for c in Workdir(run).cells()}
  said = {m: "scenes of digits" for m in labels if name == "detection"}
  writer.export([run], root / "submission", said, {})
  return root / "submission"


def _two(workdir: pathlib.Path) -> pathlib.Path:
  """The run of all digits goes on with a second model."""
  from robust_tfds.configs import vid_robust

  tiny_runs.copy("whole", workdir, config=False)
  config = tiny_runs.config("whole").unlock()
  config.models[LINEAR] = vid_robust.get_config().models[LINEAR]
  config.models[LINEAR].train.steps = 30
  tiny_runs.start(config.lock(), workdir)
  return workdir


def _trained(workdir: pathlib.Path) -> pathlib.Path:
  """The run of a network that was trained on Gaussian noise at 1-3, disclosed."""
  from robust_tfds.configs import train_corruption_mix
  from robust_tfds.models.training import config as training_config
  from robust_tfds.models.training import run

  settings = train_corruption_mix.get_config().unlock()
  settings.epochs, settings.steps, settings.keep.last = 0, 3, 0
  training, quiet = workdir.with_name("training"), lambda line: None
  settings.data.data_dir = str(training / "data")
  prepared = run.prepare(training_config.parse(settings), say=quiet)
  run.train(prepared, epath.Path(training), say=quiet)
  config = tiny_runs.config("whole", limit=40).unlock()
  del config.models[CNN].train
  config.models[CNN].checkpoint = str(training)
  tiny_runs.start(config.lock(), workdir)
  return workdir
