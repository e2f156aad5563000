"""What every reader gives: a `Run`, the cells of some models."""

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
from robust_tfds import errors

Columns = Mapping[str, np.ndarray]
# In the place of a data set's name where nobody named one.
UNNAMED = "unnamed"
# Data sets of frames whose sets can be read from metadata alone.
FRAME_SETS = ("imagenet_vid_robust", "ytbb_robust")


@dataclasses.dataclass(frozen=True)
class Options:
  """What is said of predictions besides their paths; None where nothing is.

  Attributes:
    dataset: its name in the table.
    baseline: a name in `eval/papers/baselines/`, `model:<label>`, or empty.
    seed: in the table's column.
    truth: a COCO instances file.
    rules: whose AP, `coco` or `voc`.
    metadata: folder of a frame set's metadata.
    subset: which of the data set's examples there are: a name, or a file of ids.
    columns: what columns are called in the file, `top1=prediction,...`.
    separator: of a CSV's values.
    classes: a file of their names, one a line, in label order.
    facts: a RUN of the same examples, whose facts of the data these have.
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
  facts: epath.Path | None = None

  @property
  def of_frames(self) -> bool:
    """Whether something is said that only sets of frames have."""
    return self.metadata is not None or self.dataset in FRAME_SETS

  def check(self, accepted: Sequence[str], kind: str) -> None:
    """UserError where something is said that means nothing here.

    Args:
      accepted: the attributes that mean something.
      kind: what is read, in words.
    """
    for field in dataclasses.fields(self):
      value = getattr(self, field.name)
      if value is not None and field.name not in accepted:
        raise errors.UserError(
          f"--{field.name}={value} means nothing for {kind}; it takes"
          f" {', '.join(f'--{name}' for name in accepted) or 'no such flag'}."
        )
    if self.seed is not None and self.seed < 0:
      raise errors.UserError(
        f"--seed={self.seed}: expected a whole number from 0."
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
    config: the settings, as of a run; `data.name` has commas between several
      data sets.
    cells: by data set, then by model, then in the order of the conditions.
    columns: gives the columns of a cell.
    truth: the ground truth, where the task needs one.
    class_names: in label order; may be empty.
    model_names: label -> the model's name in `models`; may be empty.
    notes: where the cells are from, for the foot of every report.
    home: gives the workdir that a cell lies in; None of files.
    name: of its folder, with as much of the path as tells it from the other runs
      beside it; empty where it stands alone.
    folders: where its cells lie; several of shards, none of files.
    stated: fact of the data -> what a table of another program says of it.
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
    """Name of its task."""
    return str(self.config.task)

  @property
  def datasets(self) -> list[str]:
    """Names of the data sets, in the order of the cells."""
    return list(dict.fromkeys(c.dataset for c in self.cells))

  def labels(self, dataset: str = "") -> list[str]:
    """Labels of the models that have cells of a data set; default: of any."""
    cells = self.cells_of(dataset) if dataset else self.cells
    return list(dict.fromkeys(c.model for c in cells))

  @property
  def trained(self) -> list[str]:
    """Labels of the models that the run itself trained."""
    models = workdir.models_of(self.config)
    return [
      label
      for label, model in models.items()
      if model.get("train") and not model.get("checkpoint")
    ]

  def cells_of(self, dataset: str, model: str = "") -> list[Cell]:
    """The cells of a data set, of one model or of all of them."""
    return [
      c
      for c in self.cells
      if c.dataset == dataset and (not model or c.model == model)
    ]

  def settings(self, dataset: str) -> ml_collections.ConfigDict:
    """The config over one of the data sets; may be changed."""
    config = self.config.copy_and_resolve_references().unlock()
    config.data.name = dataset
    return config

  def task(self, dataset: str, baseline: str | None = None) -> base.Task:
    """The task over one of the data sets.

    Args:
      baseline: what normalises; None: what the config says.
    """
    config = self.settings(dataset)
    if baseline is not None:
      config.baseline = baseline
    return tasks.bind(config)

  def rows(self) -> list[table.Row]:
    """The whole table, recomputed from the predictions.

    Raises:
      UserError: see `score`.
    """
    scored = (self.score(dataset)[1] for dataset in self.datasets)
    return [row for of_dataset in scored for row in of_dataset.rows]

  def score(self, dataset: str) -> tuple[base.Task, base.RunScores]:
    """The task over one of the data sets, and what it says of the cells.

    Raises:
      UserError: a baseline that is none of the models, or cells that the task
        cannot score.
    """
    task = self.task(dataset)
    task.check_baseline(self.labels(dataset))
    cells = ((c, self.columns(c)) for c in self.cells_of(dataset))
    return task, task.score(cells, self.truth)


class Reader(abc.ABC):
  """One format.

  Class attributes:
    kind: what it reads, in words.
    options: names of the options that mean something for it.
    stored: whether the cells lie in workdirs already.
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
    """Whether a file or folder looks like this format."""

  @abc.abstractmethod
  def read(self, paths: Sequence[epath.Path], options: Options) -> Run:
    """The cells of some files, their models side by side.

    Raises:
      UserError: broken files, or a model in two of them; says which.
    """


def config(
  task: str, cells: Sequence[Cell], *, baseline: str = "", **data: Any
) -> ml_collections.ConfigDict:
  """The settings of cells that no run of ours made.

  Args:
    cells: of the models, at least one.
    baseline: what numbers are normalised by.
    **data: further settings of `data`.
  """
  listed = dict.fromkeys(c.name for c in cells if c.name)
  return ml_collections.ConfigDict(
    {
      "task": task,
      "seed": cells[0].seed,
      "baseline": baseline,
      # Labels alone: the models themselves are not at hand.
      "models": tuple(dict.fromkeys(c.model for c in cells)),
      "data": {
        "name": ",".join(dict.fromkeys(c.dataset for c in cells)),
        "corruptions": tuple(listed),
        "severities": tuple(sorted({c.level for c in cells if c.name})),
        **data,
      },
    }
  )


def check_labels(labels_of: Mapping[epath.Path, Sequence[str]]) -> None:
  """UserError where two files have a model of one label; names both files.

  Labels name folders too: one that cannot, or two that share one, are refused.
  """
  home: dict[str, epath.Path] = {}
  for path, labels in labels_of.items():
    for label in labels:
      if label in home:
        raise errors.UserError(
          f"The model {label!r} is in {home[label]} and in {path}. Give each a"
          " label of its own, so that their rows can be told apart."
        )
      home[label] = path
    with errors.prefixed(path):
      names.check_distinct(home, "model")
