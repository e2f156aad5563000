"""`Task`: what a benchmark keeps of a model's outputs, and what it measures.

A task is an object bound to one run's `Setting`. A file of this folder holds one
subclass of `Task`; what is not overridden has the default written here. The runner,
the plan, the readers and the reports call these methods and nothing else.
"""

import abc
import dataclasses
import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import ml_collections
import numpy as np
from jax.sharding import Mesh

from eval.cells import provenance, table
from eval.cells.cell import Cell
from eval.cells.cell_facts import Scalar
from eval.cells.facts import TaskFacts
from eval.cells.files.overlay import Overlay
from eval.cells.number import Key
from eval.metrics import calibration, corruption_error, resampling
from eval.pipeline import blocks, inputs, predict
from eval.pipeline import show as show_lib
from eval.tasks.headlines import baselines, spread
from eval.tasks.headlines import headlines as headlines_lib
from eval.tasks.parts import known, reliability, top_k
from robust_tfds import conditions, errors
from robust_tfds.building import geometry
from robust_tfds.corruptions import spec as corruption_spec

Condition = conditions.Condition
# What a config calls several levels.
_LEVELS = {"severity": "severities", "difficulty": "difficulties"}
# Kinds of `models.names`, which tasks do not import.
ModelKind = Literal["classification", "detection", "video"]
Columns = Mapping[str, np.ndarray]
# COCO's ground truth, of tasks that have one.
Truth = Mapping[str, Any] | None


@dataclasses.dataclass(frozen=True)
class Setting:
  """What of a run its task depends on.

  Attributes:
    dataset: its name.
    edition: of the corruptions; empty where the data set has none.
    codec: of the pixels that models see.
    fly: whether corrupted pixels are made on the fly.
    seed: the run's.
    baseline: a name in `eval/papers/baselines/`, `model:<label>`, or empty.
    data: the config's `data`.
  """

  dataset: str
  edition: str = ""
  codec: str = ""
  fly: bool = True
  seed: int = 0
  baseline: str = ""
  data: ml_collections.ConfigDict = dataclasses.field(
    default_factory=ml_collections.ConfigDict, compare=False
  )

  @property
  def edition_px(self) -> int:
    """Side of the edition's pictures; 0 where they have no one size."""
    # Videos have editions of their own.
    edition = corruption_spec.EDITIONS.get(self.edition)
    return (edition.size_px or 0) if edition else 0


@dataclasses.dataclass(frozen=True)
class RunScores:
  """What follows from a run's cells.

  Attributes:
    rows: the whole table: the cells' rows, then those over cells.
    cells: in the order of the rows.
    pairs: cell -> the true and the predicted classes of its examples, int `[N,
      2]`; empty where the task gives none.
    headlines: model -> its numbers over cells in every draw; of those that have
      draws.
    reliability: cell -> its reliability diagram, where scores are known.
    part: how many of the published examples there are; empty where all are.
  """

  rows: list[table.Row]
  cells: Sequence[Cell]
  pairs: Mapping[Cell, np.ndarray]
  reliability: Mapping[Cell, calibration.Bins]
  headlines: Mapping[str, Mapping[Key, resampling.Replicates]] = (
    dataclasses.field(default_factory=dict)
  )
  part: str = ""


@dataclasses.dataclass(frozen=True)
class Measured:
  """What one cell says.

  Attributes:
    rows: of the table; the first is its main number.
    totals: see `Task.totals`.
    numbers: metric -> replicates of what has no totals: its jackknife, or the
      value alone.
    groups: `[G]` sorted texts, whose blocks the jackknife leaves out.
    inputs: what else `Task.summary_rows` wants to know of it.
  """

  rows: list[table.Row]
  totals: Mapping[str, resampling.Totals] = dataclasses.field(
    default_factory=dict
  )
  numbers: Mapping[str, resampling.Replicates] = dataclasses.field(
    default_factory=dict
  )
  groups: np.ndarray = dataclasses.field(
    default_factory=lambda: np.zeros(0, np.str_)
  )
  inputs: Any = None


class Task(abc.ABC):
  """One benchmark's protocol.

  Class attributes:
    facts: names, order and sense of its numbers.
    family: of its conditions.
    model_kind: of its models, see `models.names`.
    set_kind: the `KIND` of its data sets.
    clean_config: the data set's config that corruptions are made from.
    clean_codec: the codec of that config; empty for the data set's only one.
    fly_codecs: codecs that can be made on the fly.
    sized: models also get the valid (height, width) of every canvas.
    per_model: every model is shown something of its own, see `show`.
    unit: what a model is shown, in words.
    has_pairs: `pairs` gives the true and the predicted classes.
    has_overlays: `overlays` gives boxes to draw.
    averages_calibration: the table has means of the cells' calibration.
    own_keys: keys of the config's `data` that this task reads and others do not.
    has_label_maps: a map says what outputs are, `label_space`.
    among_all: outputs that are no class of the data set may be answers.
    no_baseline: why none is taken, with `{task}` and `{got}`.
  """

  facts: ClassVar[TaskFacts]
  family: ClassVar[conditions.Family] = conditions.PICTURES
  model_kind: ClassVar[ModelKind] = "classification"
  set_kind: ClassVar[str] = "pictures"
  clean_config: ClassVar[str] = "clean"
  clean_codec: ClassVar[str] = "raw"
  fly_codecs: tuple[str, ...] = ("raw",)
  sized: ClassVar[bool] = False
  per_model: bool = False
  unit: ClassVar[str] = "image"
  has_pairs: ClassVar[bool] = False
  has_overlays: ClassVar[bool] = False
  averages_calibration: ClassVar[bool] = False
  own_keys: ClassVar[tuple[str, ...]] = ()
  has_label_maps: ClassVar[bool] = False
  among_all: bool = False
  no_baseline: ClassVar[str] = (
    "{task} has no baseline, got {got}. Leave config.baseline empty."
  )

  def __init__(self, setting: Setting):
    """Checks the setting; raises UserError where the task cannot run it."""
    self.setting = setting

  # What is run.

  def conditions(self) -> list[Condition]:
    """The conditions that the setting's `data` names, clean first.

    `data` has names (`corruptions` or `perturbations`, as the family calls them:
    sets, groups, names, `none`, with commas or as a sequence) and levels
    (`severities` or `difficulties`).

    Raises:
      UserError: an unknown name (with a suggestion) or level, or none named.
    """
    for key in self.condition_keys:
      if key not in self.setting.data:
        raise errors.UserError(
          f"config.data.{key}: missing; the task {self.facts.task} needs it."
        )
    names, levels = (self.setting.data[key] for key in self.condition_keys)
    chosen = self.family.select(names, levels)
    return [c for c in chosen if c.name not in self.left_out]

  @property
  def left_out(self) -> Sequence[str]:
    """Names of conditions that a run leaves out, as of what is not here."""
    return self.family.resolve(self.setting.data.get("left_out") or "none")

  @property
  def condition_keys(self) -> tuple[str, ...]:
    """Keys of the config's `data` that name the conditions."""
    return f"{self.family.noun}s", _LEVELS[self.family.level_noun]

  def images_per_example(self, condition: Condition) -> int:
    """How many images (of video: clips) an example shows to the model."""
    return 1

  def transform(self, mesh: Mesh) -> predict.Transform:
    """f(images, sizes, condition, keys) -> images, on the devices.

    Sizes are None where all pictures have one size. The default passes the
    images on as they are.
    """
    return predict.unchanged

  def reader(
    self,
    source: inputs.Source,
    conditions: Sequence[Condition],
    specs: Mapping[str, Any],
  ) -> blocks.Reader:
    """What is read of a source: every example once, for all conditions."""
    return blocks.PictureReader(source)

  def show(self, mesh: Mesh, specs: Mapping[str, Any]) -> show_lib.Show:
    """What models see of the reader's batches."""
    setting = self.setting
    return show_lib.PictureShow(
      mesh,
      self.transform(mesh) if setting.fly else None,
      seed=setting.seed,
      dataset=setting.dataset,
      sized=self.sized,
    )

  def reducer(self, condition: Condition) -> predict.Reduce:
    """f(outputs, labels) -> {name: array `[B, ...]`}, in the jitted step.

    Labels are int32 `[B]`, the true classes, below 0 where there is none.

    The same object for conditions that are reduced alike: each compiles once.
    The default is of a classifier's logits.
    """
    return top_k.reduce

  def example_columns(self, batch: inputs.Batch) -> dict[str, np.ndarray]:
    """What predictions say of a batch's examples, whatever a model says.

    One row for each valid row. Names are in `columns.OF_EXAMPLES`.
    """
    valid = batch.mask
    return {
      "example_id": np.array(batch.example_id, np.str_)[valid],
      "group_id": np.array(batch.group_id, np.str_)[valid],
      "frame": batch.frame[valid],
      "label": batch.label[valid],
    }

  def columns(
    self,
    batch: inputs.Batch,
    outputs: Mapping[str, np.ndarray],
    condition: Condition,
  ) -> dict[str, np.ndarray]:
    """A model's outputs of the batch's valid rows as predictions' columns."""
    return top_k.columns(batch, outputs)

  def label_feature(self, features: Any) -> Any:
    """The TFDS feature that knows the classes."""
    return features["label"]

  def model_classes(self, classes: int) -> tuple[int, ...]:
    """Class counts of models that can run on data of `classes` classes."""
    return (classes,)

  def data_facts(self) -> dict[str, Scalar]:
    """Settings of the task's own that its cells depend on: name -> value."""
    return {}

  @property
  def base_config(self) -> str:
    """The config of the set that conditions are made from on the fly."""
    return self.setting.data.get("config") or self.clean_config

  def config_facts(self) -> dict[str, Any]:
    """Return the facts of a cell's data that follow from the run's config."""
    setting, rule = self.setting, self.setting.data.get("geometry") or ""
    side = geometry.shape(rule)[0] if rule else setting.edition_px
    return {
      "dataset": setting.dataset,
      "config": self.base_config if setting.fly else conditions.CLEAN,
      "subset": setting.data.get("subset") or "",
      "source": "fly" if setting.fly else "prepared",
      "codec": setting.codec,
      "edition": setting.edition,
      "geometry": rule,
      "px": [side, side] if side else [],
      "settings": self.data_facts(),
      "metric": provenance.METRICS_VERSION,
    }

  def truth(self, source: inputs.Source) -> dict[str, Any] | None:
    """The ground truth that `cell_rows` needs, as JSON; None: the labels do."""
    return None

  # What is measured.

  @abc.abstractmethod
  def cell_rows(
    self, cell: Cell, columns: Columns, truth: Truth = None
  ) -> list[table.Row]:
    """The table's rows of one cell; the first is its main number."""

  def measure(
    self, cell: Cell, columns: Columns, truth: Truth = None
  ) -> Measured:
    """Everything that a table needs of a cell, from one look at its columns."""
    rows = self.cell_rows(cell, columns, truth)
    out = Measured(rows, self.totals(columns), inputs=self.inputs(columns))
    if not self.averages_calibration:
      return out
    numbers, groups = reliability.numbers(columns, rows)
    return dataclasses.replace(out, numbers=numbers, groups=groups)

  def inputs(self, columns: Columns) -> Any:
    """What of a cell's columns `summary_rows` wants to know besides numbers."""
    return None

  # What follows from all cells of a model.

  def headlines(
    self, cells: headlines_lib.Cells, reference: headlines_lib.Cells
  ) -> list[headlines_lib.Headline]:
    """The numbers over one model's cells, in the order of the table.

    Also those that lack cells: their rows say which.

    Args:
      cells: the conditions that are there, and their metrics.
      reference: the same of what normalises; empty without a baseline.
    """
    return []

  def published_reference(self) -> headlines_lib.Reference:
    """A published baseline's cells: constants; empty without one."""
    return {}

  def over_cells(
    self,
    cells: headlines_lib.Numbers,
    reference: headlines_lib.Numbers | None = None,
    seen: Collection[Condition] = (),
  ) -> dict[Key, resampling.Replicates]:
    """The headlines all of whose cells are there.

    Args:
      cells: of one model: replicates of equal draws.
      reference: of the model that normalises, drawn together, where the setting's
        baseline is one.
      seen: the conditions that models were trained on.
    """
    theirs = reference or self.published_reference()
    listed = self.listed(cells, theirs, seen)
    return headlines_lib.numbers(listed, cells, theirs)

  def listed(
    self,
    cells: headlines_lib.Cells,
    reference: headlines_lib.Cells,
    seen: Collection[Condition] = (),
  ) -> list[headlines_lib.Headline]:
    """The headlines, and those over the part of their cells that was asked for.

    A run that had to leave something out (`data.left_out`) asked for no part. Of a
    model that was trained on some conditions also those over the others.
    """
    whole = self.headlines(cells, reference)
    every = headlines_lib.with_held_out(whole, cells, seen)
    if self.left_out:
      return every
    return headlines_lib.with_parts(every, cells)

  def summary_rows(
    self, models: Sequence[headlines_lib.ModelCells]
  ) -> list[table.Row]:
    """The table's rows over cells.

    Args:
      models: the cells of each, in the order of the table.
    """
    out = []
    for model in models:
      listed = self.listed(model.numbers, model.reference, model.seen)
      if self.averages_calibration:
        listed += reliability.headlines(model.numbers, self.family)
      out += model.over(listed)
    return out

  # How sure it is.

  def group_ids(self, columns: Columns, truth: Truth = None) -> np.ndarray:
    """What is drawn together, of every example: `[N]` texts.

    Args:
      truth: what `truth` gave, for tasks that have one.

    Returns:
      An empty array where the cell has no examples, only numbers.
    """
    return columns["group_id"]

  def totals(self, columns: Columns) -> dict[str, resampling.Totals]:
    """A cell's metrics that `headlines` are made of, summed over groups.

    Empty where they are no means over examples; `replicates` is overridden then.
    """
    return {}

  def replicates(
    self, columns: Columns, draws: resampling.Draws, truth: Truth = None
  ) -> dict[str, resampling.Replicates]:
    """A cell's metrics that `headlines` are made of, in every draw.

    Of many cells at once `headlines/spread.of_cells` is faster.

    Args:
      draws: of the groups of all cells.
      truth: what `truth` gave, for tasks that have one.
    """
    totals = self.totals(columns)
    return dict(zip(totals, draws.total_means(list(totals.values()))))

  def score(
    self, cells: Iterable[tuple[Cell, Columns]], truth: Truth = None
  ) -> RunScores:
    """The table of some cells, each read once.

    Args:
      cells: and their columns, in the order of the table.
      truth: what `truth` gave, for tasks that have one.
    """
    scorer, listed = Scorer(self, truth), []
    for cell, columns in cells:
      scorer.add(cell, columns)
      listed.append(cell)
    return scorer.scored(listed)

  def examples(self, columns: Columns, truth: Truth = None) -> int:
    """How many examples a cell is of; 0 where it does not name them."""
    return len(np.unique(columns.get("example_id", ())))

  @property
  def note(self) -> str:
    """What every row has to say of the run's pixels; nothing by default."""
    return ""

  @property
  def subset(self) -> str:
    """Which of the data set's examples are used, in words; empty for all.

    Every row and caption says it.
    """
    name = self.setting.data.get("subset")
    return f"subset {name}" if name else ""

  def check_baseline(self, labels: Sequence[str]) -> None:
    """UserError unless the setting's baseline fits; by default none does."""
    if self.setting.baseline:
      got = repr(self.setting.baseline)
      words = self.no_baseline.format(task=self.facts.task, got=got)
      raise errors.UserError(words)

  # What reports show besides.

  @property
  def baseline(self) -> str:
    """What normalised numbers are divided by, in words."""
    return corruption_error.describe(self.setting.baseline)

  @property
  def common(self) -> tuple[str, ...]:
    """Names that enter the benchmark's published mean."""
    return self.family.names("common")

  def published_networks(self) -> Mapping[str, Sequence[float]]:
    """Printed name -> the paper's numbers of other networks, for figures."""
    return {}

  def sample(
    self, pixels: np.ndarray, condition: Condition, example_id: str
  ) -> np.ndarray | None:
    """An example under a condition where `show` does not show it whole.

    Only asked on the fly where `per_model` is set.
    """
    return None

  def gallery(
    self,
    find: Callable[[Collection[str]], Mapping[str, np.ndarray]],
    columns: Mapping[str, Columns],
    class_names: Sequence[str],
  ) -> dict[str, list[tuple[np.ndarray, str]]]:
    """What reports show of the only condition: title -> (picture, caption).

    Args:
      find: example ids -> id -> picture.
      columns: model -> columns.
      class_names: in label order.
    """
    return {}

  def pairs(self, columns: Columns) -> np.ndarray:
    """The true and the predicted class of a cell's examples: int `[N, 2]`."""
    raise NotImplementedError(f"{self.facts.task} has no pairs.")

  def overlay_limit(
    self, columns: Columns, truth: Mapping[str, Any]
  ) -> tuple[float, str]:
    """The least score of what `overlays` shows, and why that one, in words.

    Args:
      columns: of the cell that decides, the clean one where there is one.
      truth: what `truth` gave.
    """
    raise NotImplementedError(f"{self.facts.task} has no overlays.")

  def overlaid(
    self, columns: Columns, truth: Mapping[str, Any]
  ) -> dict[str, list[str]]:
    """Title -> ids of the examples of the only condition that boxes are drawn in.

    Empty: the first ones of every condition.
    """
    return {}

  def overlays(
    self,
    example_id: str,
    columns: Columns,
    truth: Mapping[str, Any],
    least_score: float,
  ) -> list[Overlay]:
    """The boxes to draw into a picture of a cell.

    Args:
      truth: what `truth` gave.
      least_score: see `overlay_limit`.
    """
    raise NotImplementedError(f"{self.facts.task} has no overlays.")


class Scorer:
  """Rows of cells as they come, then the table of all."""

  def __init__(self, task: Task, truth: Truth = None):
    """Has no cells yet.

    Args:
      task: that measures.
      truth: what `Task.truth` gave, for tasks that have one.
    """
    self._task, self._truth = task, truth
    self._measured: dict[Cell, Measured] = {}
    self._part = ""
    self._pairs: dict[Cell, np.ndarray] = {}
    self._reliability: dict[Cell, calibration.Bins] = {}

  def add(self, cell: Cell, columns: Columns) -> list[table.Row]:
    """Measures a cell; its columns are not needed any more then."""
    task = self._task
    if not self._measured:  # all cells are of the same examples
      count = task.examples(columns, self._truth)
      setting = task.setting
      split = setting.data.get("split")
      self._part = known.part(setting.dataset, count, split)
    self._measured[cell] = task.measure(cell, columns, self._truth)
    if task.has_pairs:
      self._pairs[cell] = task.pairs(columns)
    bins = reliability.bins(columns)
    if bins is not None:
      self._reliability[cell] = bins
    return self._measured[cell].rows

  def scored(self, cells: Sequence[Cell]) -> RunScores:
    """The table of cells that were added.

    Args:
      cells: in the order of the table.
    """
    task, measured = self._task, self._measured
    rows = [row for cell in cells for row in measured[cell].rows]
    models = self._models(cells)
    if rows:
      rows += task.summary_rows(list(models.values()))
    notes = task.note, task.subset, self._part
    pairs, bins = self._pairs, self._reliability
    return RunScores(
      [functools.reduce(table.Row.add_note, notes, row) for row in rows],
      cells,
      {c: pairs[c] for c in cells if c in pairs},
      {c: bins[c] for c in cells if c in bins},
      {label: self._drawn(model) for label, model in models.items()},
      self._part,
    )

  def _models(
    self, cells: Sequence[Cell]
  ) -> dict[str, headlines_lib.ModelCells]:
    """The cells of every model, drawn together."""
    models: dict[str, dict[Condition, Measured]] = {}
    for cell in cells:
      models.setdefault(cell.model, {})[cell.condition] = self._measured[cell]
    numbers = _numbers(models)
    seen = {c.model: c.conditions_seen for c in cells if not c.condition.clean}
    baseline = self._task.setting.baseline
    label = baselines.model_label(baseline)
    reference: headlines_lib.Reference = (
      numbers[label] if label else self._task.published_reference()
    )
    return {
      model: headlines_lib.ModelCells(
        {c: m.rows for c, m in measured.items()},
        numbers[model],
        {c: m.groups for c, m in measured.items()},
        {c: m.inputs for c, m in measured.items()},
        baseline,
        reference,
        is_baseline=model == label,
        seen=seen.get(model, ()),
      )
      for model, measured in models.items()
    }

  def _drawn(
    self, model: headlines_lib.ModelCells
  ) -> dict[Key, resampling.Replicates]:
    """The headlines that have draws or blocks."""
    listed = self._task.listed(model.numbers, model.reference, model.seen)
    whole = (h for h in listed if not h.lacks(model.numbers, model.reference))
    every = {h.key: model.number(h) for h in whole}
    return {key: number for key, number in every.items() if number.blocks}


def _numbers(
  models: Mapping[str, Mapping[Condition, Measured]],
) -> dict[str, headlines_lib.Numbers]:
  """The numbers of all cells of every model: one draw of groups serves all."""
  totals = {
    model: {c: m.totals for c, m in measured.items()}
    for model, measured in models.items()
  }
  draws = spread.draws_of(
    [of_cell for cells in totals.values() for of_cell in cells.values()]
  )
  out: dict[str, headlines_lib.Numbers] = {}
  for model, measured in models.items():
    drawn = spread.of_cells(totals[model], draws) if draws else {}
    out[model] = {
      c: {**m.numbers, **drawn.get(c, {})} for c, m in measured.items()
    }
  return out
