"""The result of every reader: a `Run`, the cells of some models."""

import abc
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import ml_collections
import numpy as np
from etils import epath

from eval import tasks
from eval.cells import names, table, workdir
from eval.cells.cell import Cell
from eval.cells.workdir import Workdir
from eval.tasks import base
from robust_tfds import conditions, errors

Columns = Mapping[str, np.ndarray]
# The name of a data set that was given none.
UNNAMED = "unnamed"
# Data sets whose anchor sets can be read from their metadata.
FRAME_SETS = ("imagenet_vid_robust", "ytbb_robust")


@dataclasses.dataclass(frozen=True)
class Options:
  """The user's options for reading predictions; None if not given.

  Attributes:
    dataset: its name in the table.
    baseline: a name in `eval/papers/baselines/`, `model:<label>`, or empty.
    seed: the value of the table's column `seed`.
    truth: a COCO instances file; of class maps a folder of masks.
    rules: the definition of AP, `coco` or `voc`.
    metadata: folder of a frame set's metadata.
    subset: the examples of the data set that were predicted: a name, or a file of
      ids.
    columns: names of columns in the file, `top1=prediction,...`.
    separator: separator of a CSV's values.
    classes: a file of class names, one per line, in label order.
    protocol: for class maps, the protocol: `eval/tasks/parts/protocols.json`.
    facts: a RUN of the same examples, whose facts of the data these get.
  """

  dataset: str | None = None
  baseline: str | None = None
  seed: int | None = None
  truth: epath.Path | None = None
  rules: str | None = None
  metadata: epath.Path | None = None
  subset: str | None = None
  columns: str | None = None
  separator: str | None = None
  classes: epath.Path | None = None
  protocol: str | None = None
  facts: epath.Path | None = None

  @property
  def has_frames(self) -> bool:
    """Whether an option is given that only sets of frames have."""
    return self.metadata is not None or self.dataset in FRAME_SETS

  def check(self, accepted: Sequence[str], kind: str) -> None:
    """Refuse options that have no meaning for a reader.

    Args:
      accepted: the options that have a meaning.
      kind: what is read, in words.
    """
    for field in dataclasses.fields(self):
      value = getattr(self, field.name)
      if value is not None and field.name not in accepted:
        raise errors.UserError(
          f"--{field.name}={value} has no meaning for {kind}, which takes"
          f" {', '.join(f'--{name}' for name in accepted) or 'no flag'}."
        )
    if self.seed is not None and self.seed < 0:
      raise errors.UserError(
        f"--seed={self.seed}: expected a whole number, at least 0."
      )
    if self.dataset is not None:
      with errors.prefixed("--dataset"):
        names.folder_name(self.dataset)


@dataclasses.dataclass(frozen=True)
class Example:
  """A small input of a format: the contract of readers is tested on it.

  Attributes:
    files: path below a folder -> text of the file.
    path: the file or folder of `files` that holds the predictions of a model.
    options: the `Options` that it needs; `truth`, `metadata` and `classes` are
      paths of `files`.
  """

  files: Mapping[str, str]
  path: str
  options: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Run:
  """The cells of some models: of a run, or of predictions that were scored.

  Attributes:
    config: the settings, as a run has them; `data.name` has commas between several
      data sets.
    cells: the cells, by data set, model and condition.
    columns: returns the columns of a cell.
    truth: the ground truth, if the task needs one.
    class_names: names of classes in label order; may be empty.
    model_names: label -> the model's name in `models`; may be empty.
    notes: sources of the cells in words, for the foot of every report.
    home: returns the workdir of a cell; None for other files.
    name: name of its folder, with enough of the path to be unique among several
      runs; empty for a single run.
    folders: folders of its cells: several for shards, none for other files.
    stated: fact of the data -> values that another program's table has for it.
  """

  config: ml_collections.ConfigDict
  cells: Sequence[Cell]
  columns: Callable[[Cell], Columns]
  truth: Mapping[str, Any] | None = None
  class_names: Sequence[str] = ()
  model_names: Mapping[str, str] = dataclasses.field(default_factory=dict)
  notes: Sequence[str] = ()
  home: Callable[[Cell], Workdir] | None = None
  name: str = ""
  folders: tuple[epath.Path, ...] = ()
  stated: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)

  @property
  def task_name(self) -> str:
    """The name of its task."""
    return str(self.config.task)

  @property
  def datasets(self) -> list[str]:
    """The names of the data sets, in the order of the cells."""
    return list(dict.fromkeys(c.dataset for c in self.cells))

  def labels(self, dataset: str = "") -> list[str]:
    """Return the labels of models with cells of a data set, or of any."""
    cells = self.cells_of(dataset) if dataset else self.cells
    return list(dict.fromkeys(c.model for c in cells))

  @property
  def trained(self) -> list[str]:
    """The labels of the models that the run itself trained."""
    models = workdir.models_of(self.config)
    return [
      label
      for label, model in models.items()
      if model.get("train") and not model.get("checkpoint")
    ]

  def cells_of(self, dataset: str, model: str = "") -> list[Cell]:
    """Return the cells of a data set, of one model or of all."""
    return [
      c
      for c in self.cells
      if c.dataset == dataset and (not model or c.model == model)
    ]

  def settings(self, dataset: str) -> ml_collections.ConfigDict:
    """Return the config for one of the data sets; it may be changed."""
    config = self.config.copy_and_resolve_references().unlock()
    config.data.name = dataset
    return config

  def task(self, dataset: str, baseline: str | None = None) -> base.Task:
    """Return the task for one of the data sets.

    Args:
      baseline: the baseline that normalises; None takes the config's.
    """
    config = self.settings(dataset)
    if baseline is not None:
      config.baseline = baseline
    return tasks.bind(config)

  def rows(self) -> list[table.Row]:
    """Recompute the whole table from the predictions.

    Raises:
      UserError: see `score`.
    """
    scored = (self.score(dataset)[1] for dataset in self.datasets)
    return [row for of_dataset in scored for row in of_dataset.rows]

  def score(self, dataset: str) -> tuple[base.Task, base.RunScores]:
    """Return the task for one of the data sets, and its scores of the cells.

    Raises:
      UserError: the baseline is none of the models, or the task cannot score the
        cells.
    """
    task = self.task(dataset)
    task.check_baseline(self.labels(dataset))
    cells = ((c, self.columns(c)) for c in self.cells_of(dataset))
    return task, task.score(cells, self.truth)


class Reader(abc.ABC):
  """A reader of one format.

  Class attributes:
    kind: what it reads, in words.
    options: names of the options that have a meaning for it.
    stored: whether the cells are in workdirs already.
    has_paper_tables: whether the detection paper's tables follow from it.
    example: a small input; None only if its files are no texts.
  """

  kind: ClassVar[str]
  options: ClassVar[tuple[str, ...]] = ()
  stored: ClassVar[bool] = False
  has_paper_tables: ClassVar[bool] = False
  example: ClassVar[Example | None] = None

  @abc.abstractmethod
  def fits(self, path: epath.Path, options: Options) -> bool:
    """Return whether a file or folder looks like this format."""

  @abc.abstractmethod
  def read(self, paths: Sequence[epath.Path], options: Options) -> Run:
    """Return the cells of some files, with their models side by side.

    Raises:
      UserError: broken files, or a model in two of them; the message names them.
    """


def config(
  task: str, cells: Sequence[Cell], *, baseline: str = "", **data: Any
) -> ml_collections.ConfigDict:
  """Return settings for cells that another program made.

  Args:
    cells: the cells, at least one.
    baseline: the baseline that normalises.
    **data: further settings of `data`.
  """
  listed = dict.fromkeys(c.name for c in cells if c.name)
  return ml_collections.ConfigDict(
    {
      "task": task,
      "seed": cells[0].seed,
      "baseline": baseline,
      # Only labels: the models themselves are not here.
      "models": tuple(dict.fromkeys(c.model for c in cells)),
      "data": {
        "name": ",".join(dict.fromkeys(c.dataset for c in cells)),
        "corruptions": tuple(listed),
        "severities": tuple(sorted({c.level for c in cells if c.name})),
        **data,
      },
    }
  )


def sort_by_paper(
  by_condition: Mapping[conditions.Condition, epath.Path],
) -> dict[conditions.Condition, epath.Path]:
  """Sort conditions of pictures into the paper's order, clean first."""
  order = conditions.PICTURES.known_conditions
  return dict(sorted(by_condition.items(), key=lambda i: order.index(i[0])))


def check_labels(labels_of: Mapping[epath.Path, Sequence[str]]) -> None:
  """Refuse two files with a model of the same label; the message names both.

  Labels that cannot name folders, or that share one, are refused as well.
  """
  home: dict[str, epath.Path] = {}
  for path, labels in labels_of.items():
    for label in labels:
      if label in home:
        raise errors.UserError(
          f"The model {label!r} is in {home[label]} and in {path}. Give each model a"
          " different label."
        )
      home[label] = path
    with errors.prefixed(path):
      names.check_distinct(home, "model")
