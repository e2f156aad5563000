"""`Task`: the columns that a benchmark stores of outputs, and its metrics.

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
from eval.tasks.headlines import adapted, baselines, spread
from eval.tasks.headlines import headlines as headlines_lib
from eval.tasks.parts import example_checks, reliability, top_k
from eval.tasks.parts.own_metrics import OwnMetrics
from robust_tfds import conditions, datasets, errors
from robust_tfds.building import geometry
from robust_tfds.corruptions import spec as corruption_spec

Condition = conditions.Condition
# What a config calls several levels.
_LEVELS = {"severity": "severities", "difficulty": "difficulties"}
# Kinds of `models.names`, which tasks do not import.
ModelKind = Literal["classification", "detection", "segmentation", "video"]
Columns = Mapping[str, np.ndarray]
# COCO's ground truth, of tasks that have one.
Truth = Mapping[str, Any] | None


@dataclasses.dataclass(frozen=True)
class Setting:
  """The run settings that a task depends on.

  Attributes:
    dataset: the data set's name.
    edition: edition of the corruptions; empty if the data set has none.
    codec: the codec of the pixels that models see.
    fly: whether corrupted pixels are made on the fly.
    seed: the run's seed.
    baseline: a name in `eval/papers/baselines/`, `model:<label>`, or empty.
    data: the `data` section of the config.
    metrics: custom metric -> whether `lower` or `higher` is better.
    own_metrics: their functions and targets, in a run.
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
  metrics: Mapping[str, str] = dataclasses.field(default_factory=dict)
  own_metrics: OwnMetrics | None = dataclasses.field(
    default=None, compare=False
  )

  @property
  def edition_px(self) -> int:
    """The side of the edition's pictures; 0 if they differ in size."""
    # Videos have editions of their own.
    edition = corruption_spec.EDITIONS.get(self.edition)
    return (edition.size_px or 0) if edition else 0


@dataclasses.dataclass(frozen=True)
class RunScores:
  """The scores that follow from a run's cells.

  Attributes:
    rows: the whole table: rows of single cells, then rows over several cells.
    cells: in the order of the rows.
    pairs: cell -> the true and the predicted classes of its examples, int `[N,
      2]`; empty if the task has none.
    headlines: model -> its numbers over cells in every draw, if they have
      draws.
    reliability: cell -> its reliability diagram, if scores are known.
    part: how many of the published examples were run; empty if all were.
    curves: errors over the stream, of models that adapt and those beside them.
  """

  rows: list[table.Row]
  cells: Sequence[Cell]
  pairs: Mapping[Cell, np.ndarray]
  reliability: Mapping[Cell, calibration.Bins]
  headlines: Mapping[str, Mapping[Key, resampling.Replicates]] = (
    dataclasses.field(default_factory=dict)
  )
  part: str = ""
  curves: Sequence[adapted.Curve] = ()


@dataclasses.dataclass(frozen=True)
class Measured:
  """The measurements of one cell.

  Attributes:
    rows: the table's rows; the first is the cell's main number.
    totals: see `Task.totals`.
    numbers: metric -> replicates of metrics without totals: their jackknife, or
      only the value.
    groups: `[G]` sorted ids of the groups whose blocks the jackknife leaves
      out.
    inputs: other data of the cell that `Task.summary_rows` needs.
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
  """The protocol of one benchmark.

  Class attributes: facts: names, order and direction of its numbers. family:
  the family of its conditions (of an instance its data set's). model_kind: the
  kind of its models, see
  `models.names`. set_kind: the `KIND` of its data sets. clean_config: the data
  set's config that corruptions are made from. clean_codec: the codec of that
  config; empty if the data set has one codec. fly_codecs: codecs that can be
  made on the fly. sized: models also get the valid (height, width) of every
  canvas. per_model: each model is shown different inputs, see `show`. unit:
  what a model is shown, in words. has_pairs: `pairs` gives the true and the
  predicted classes. has_overlays: `overlays` gives boxes to draw. has_maps: `class_map`
  gives a class for every pixel. adapts: models may adapt while they are tested.
  averages_answers: the table has means of the cells' metrics of answers. own_keys:
  keys of the config's `data` that this task reads and others do not.
  corrupts: it has conditions besides clean; without, the data set holds the
  perturbations. has_label_maps: a `label_space` maps outputs to classes.
  among_all: outputs that are no class of the data set count as answers.
  no_baseline: why no baseline is accepted, with `{task}` and `{got}`.
  has_classes: models answer with the set's classes. whole_outputs: their whole
  answers come to the host, see `pipeline/whole_outputs`; nothing is reduced.
  """

  facts: TaskFacts
  family: conditions.Family = conditions.PICTURES
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
  has_maps: ClassVar[bool] = False
  adapts: ClassVar[bool] = False
  averages_answers: ClassVar[bool] = False
  corrupts: ClassVar[bool] = True
  own_keys: ClassVar[tuple[str, ...]] = ()
  has_label_maps: ClassVar[bool] = False
  among_all: bool = False
  has_classes: ClassVar[bool] = True
  whole_outputs: ClassVar[bool] = False
  no_baseline: ClassVar[str] = (
    "{task} has no baseline, got {got}. Leave config.baseline empty."
  )

  def __init__(self, setting: Setting):
    """Check the setting; raise UserError if the task cannot run it."""
    self.setting = setting
    set_family = datasets.class_or_unknown(setting.dataset).FAMILY
    if set_family and set_family.kind == self.family.kind:
      self.family = set_family

  @property
  def pixel_words(self) -> Sequence[str]:
    """The sentences that a run prints about its treatment of pixels."""
    return ()

  # What is run.

  def conditions(self) -> list[Condition]:
    """Return the conditions that the setting's `data` names, clean first.

    `data` has names (`corruptions` or `perturbations`, as the family calls them:
    sets, groups, names, `none`, with commas or as a sequence) and levels
    (`severities` or `difficulties`).

    Raises:
      UserError: an unknown name (with a suggestion) or level, no name, or a
        config of another program without the keys.
    """
    if not self.corrupts:
      return [Condition()]
    for key in self.condition_keys():
      if key not in self.setting.data:
        raise errors.UserError(
          f"config.data.{key}: missing; the task {self.facts.task} needs it."
        )
    names, levels = (self.setting.data[key] for key in self.condition_keys())
    chosen = self.family.select(names, levels)
    return [c for c in chosen if c.name not in self.left_out]

  @property
  def left_out(self) -> Sequence[str]:
    """The names of conditions that a run leaves out, e.g. for missing files."""
    return self.family.resolve(self.setting.data.get("left_out") or "none")

  @classmethod
  def condition_keys(cls) -> tuple[str, ...]:
    """Return the keys of the config's `data` that name the conditions."""
    if not cls.corrupts:
      return ()
    return f"{cls.family.noun}s", _LEVELS[cls.family.level_noun]

  def images_per_example(self, condition: Condition) -> int:
    """Return how many images (of a video: clips) an example shows to the model."""
    return 1

  def transform(self, mesh: Mesh) -> predict.Transform:
    """Return f(images, sizes, condition, keys) -> images, which runs on the devices.

    Sizes are None if all pictures have one size. The default passes the
    images on as they are.
    """
    return predict.unchanged

  def reader(
    self,
    source: inputs.Source,
    conditions: Sequence[Condition],
    specs: Mapping[str, Any],
  ) -> blocks.Reader:
    """Return the reader of a source: every example once, for all conditions."""
    return blocks.PictureReader(source)

  def show(self, mesh: Mesh, specs: Mapping[str, Any]) -> show_lib.Show:
    """Return what makes the models' inputs from the reader's batches."""
    setting = self.setting
    return show_lib.PictureShow(
      mesh,
      self.transform(mesh) if setting.fly else None,
      seed=setting.seed,
      dataset=setting.dataset,
      sized=self.sized,
    )

  def reducer(self, condition: Condition) -> predict.Reduce:
    """Return f(outputs, labels) -> {name: array `[B, ...]`} for the jitted step.

    Labels are int32 `[B]`, the true classes; a negative one means no class.

    Conditions with the same reduction get the same object, so that each
    compiles once. The default reduces a classifier's logits.
    """
    return top_k.reduce

  def example_columns(self, batch: inputs.Batch) -> dict[str, np.ndarray]:
    """Return the columns of a batch's examples that no model changes.

    There is one row per valid row. Names are in `columns.OF_EXAMPLES`.
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
    """Return a model's outputs for the batch's valid rows as prediction columns."""
    return top_k.columns(batch, outputs)

  def label_feature(self, features: Any) -> Any:
    """Return the TFDS feature that holds the class names."""
    return features["label"]

  def model_classes(self, classes: int) -> tuple[int, ...]:
    """Return the class counts of models that can run on data of `classes` classes."""
    return (classes,)

  def data_facts(self) -> dict[str, Scalar]:
    """Return the settings of this task that its cells depend on: name -> value."""
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
    """Return the ground truth that `cell_rows` needs, as JSON; None if labels
    suffice.
    """
    return None

  # What is measured.

  @abc.abstractmethod
  def cell_rows(
    self, cell: Cell, columns: Columns, truth: Truth = None
  ) -> list[table.Row]:
    """Return the table's rows of one cell; the first is its main number."""

  def measure(
    self, cell: Cell, columns: Columns, truth: Truth = None
  ) -> Measured:
    """Return everything that a table needs of a cell, reading its columns once."""
    rows = self.cell_rows(cell, columns, truth)
    out = Measured(rows, self.totals(columns), inputs=self.inputs(columns))
    if not self.averages_answers:
      return out
    numbers, groups = reliability.numbers(columns, rows, self.facts.task)
    return dataclasses.replace(out, numbers=numbers, groups=groups)

  def inputs(self, columns: Columns) -> Any:
    """Return the data of a cell besides numbers that `summary_rows` needs."""
    return None

  # What follows from all cells of a model.

  def headlines(
    self, cells: headlines_lib.Cells, reference: headlines_lib.Cells
  ) -> list[headlines_lib.Headline]:
    """Return the numbers over one model's cells, in the order of the table.

    Those with missing cells are included: their rows say which are missing.

    Args:
      cells: the conditions that were run, and their metrics.
      reference: the same of the baseline; empty without one.
    """
    return []

  def published_reference(self) -> headlines_lib.Reference:
    """Return a published baseline's cells, as constants; empty without one."""
    return {}

  def over_cells(
    self,
    cells: headlines_lib.Numbers,
    reference: headlines_lib.Numbers | None = None,
    trained_on: Collection[Condition] = (),
  ) -> dict[Key, resampling.Replicates]:
    """Return the headlines whose cells are all present.

    Args:
      cells: one model's cells: replicates of equal draws.
      reference: cells of the baseline, drawn together, if the setting's
        baseline is a model.
      trained_on: the conditions that models were trained on.
    """
    constants = reference or self.published_reference()
    headlines = self.all_headlines(cells, constants, trained_on)
    return headlines_lib.numbers(headlines, cells, constants)

  def all_headlines(
    self,
    cells: headlines_lib.Cells,
    reference: headlines_lib.Cells,
    trained_on: Collection[Condition] = (),
  ) -> list[headlines_lib.Headline]:
    """Return the headlines, and those over the requested part of their cells.

    A run that had to leave something out (`data.left_out`) requested no part.
    For a model that was trained on some conditions, headlines over the others
    are added.
    """
    out = []
    for headline in self.headlines(cells, reference):
      held_out = headline.held_out(cells, trained_on)
      for variant in (headline, held_out):
        if variant is not None:
          part = None if self.left_out else variant.part(cells)
          out += [variant, part] if part is not None else [variant]
    return out

  def summary_rows(
    self, models: Sequence[headlines_lib.ModelCells]
  ) -> list[table.Row]:
    """Return the table's rows over cells.

    Args:
      models: the cells of each model, in the order of the table.
    """
    out = []
    for model in models:
      headlines = self.all_headlines(
        model.numbers, model.reference, model.trained_on
      )
      if self.averages_answers:
        headlines += reliability.headlines(model.numbers, self.family)
      out += model.over(headlines)
    return out

  # How sure it is.

  def group_ids(self, columns: Columns, truth: Truth = None) -> np.ndarray:
    """Return the group of each example, `[N]` texts: groups are drawn whole.

    Args:
      truth: the result of `truth`, for tasks that have one.

    Returns:
      An empty array where the cell has no examples, only numbers.
    """
    return columns["group_id"]

  def totals(self, columns: Columns) -> dict[str, resampling.Totals]:
    """Return the sums over groups of a cell's metrics that `headlines` need.

    The result is empty if they are not means over examples; `replicates` is
    overridden then.
    """
    return {}

  def replicates(
    self, columns: Columns, draws: resampling.Draws, truth: Truth = None
  ) -> dict[str, resampling.Replicates]:
    """Return the replicates of a cell's metrics that `headlines` need.

    For many cells at once `headlines/spread.cell_replicates` is faster.

    Args:
      draws: draws of the groups of all cells.
      truth: the result of `truth`, for tasks that have one.
    """
    totals = self.totals(columns)
    return dict(zip(totals, draws.total_means(list(totals.values()))))

  def score(
    self, cells: Iterable[tuple[Cell, Columns]], truth: Truth = None
  ) -> RunScores:
    """Return the scores of some cells, each read once.

    Args:
      cells: cells with their columns, in the order of the table.
      truth: the result of `truth`, for tasks that have one.
    """
    scorer, listed = Scorer(self, truth), []
    for cell, columns in cells:
      scorer.add(cell, columns)
      listed.append(cell)
    return scorer.scored(listed)

  def examples(self, columns: Columns, truth: Truth = None) -> int:
    """Return the number of examples of a cell; 0 if it does not name them."""
    return len(np.unique(columns.get("example_id", ())))

  @property
  def note(self) -> str:
    """The note about the run's pixels in every row; '' by default."""
    return ""

  @property
  def subset(self) -> str:
    """The subset of the data set's examples that is used, in words; '' for all.

    Every row and caption shows it.
    """
    name = self.setting.data.get("subset")
    return f"subset {name}" if name else ""

  def check_baseline(self, labels: Sequence[str]) -> None:
    """Raise UserError unless the setting's baseline fits; by default none does."""
    if self.setting.baseline:
      got = repr(self.setting.baseline)
      words = self.no_baseline.format(task=self.facts.task, got=got)
      raise errors.UserError(words)

  # What reports show besides.

  @property
  def baseline(self) -> str:
    """A description of what normalised numbers are divided by."""
    return corruption_error.describe(self.setting.baseline)

  @property
  def common(self) -> tuple[str, ...]:
    """The names of conditions that enter the benchmark's published mean."""
    return self.family.names("common") if self.corrupts else ()

  def published_networks(self) -> Mapping[str, Sequence[float]]:
    """Return the paper's numbers of other networks by printed name, for figures."""
    return {}

  def sample(
    self, pixels: np.ndarray, condition: Condition, example_id: str
  ) -> np.ndarray | None:
    """Return an example under a condition if `show` does not show it whole.

    It is only called on the fly, and if `per_model` is set or for the worst
    examples.
    """
    return None

  def gallery(
    self,
    find: Callable[[Collection[str]], Mapping[str, np.ndarray]],
    columns: Mapping[str, Columns],
    class_names: Sequence[str],
  ) -> dict[str, list[tuple[np.ndarray, str]]]:
    """Return the report's examples of the only condition: title -> (picture, caption).

    Args:
      find: example ids -> id -> picture.
      columns: model -> columns.
      class_names: class names in label order.
    """
    return {}

  def worst(self, columns: Columns) -> list[tuple[str, float]]:
    """Return ids and values of a cell's worst examples; [] if none are shown."""
    return []

  def pairs(self, columns: Columns) -> np.ndarray:
    """Return the true and the predicted class of a cell's examples: int `[N, 2]`."""
    raise NotImplementedError(f"{self.facts.task} has no pairs.")

  def overlay_limit(
    self, columns: Columns, truth: Mapping[str, Any]
  ) -> tuple[float, str]:
    """Return the least score that `overlays` shows, and the reason in words.

    Args:
      columns: columns of the cell that decides, the clean one if there is one.
      truth: the result of `truth`.
    """
    raise NotImplementedError(f"{self.facts.task} has no overlays.")

  def overlaid(
    self, columns: Columns, truth: Mapping[str, Any]
  ) -> dict[str, list[str]]:
    """Return the examples of the only condition that boxes are drawn in, by title.

    An empty result stands for the first examples of every condition.
    """
    return {}

  def overlays(
    self,
    example_id: str,
    columns: Columns,
    truth: Mapping[str, Any],
    least_score: float,
  ) -> list[Overlay]:
    """Return the boxes to draw into a picture of a cell.

    Args:
      truth: the result of `truth`.
      least_score: see `overlay_limit`.
    """
    raise NotImplementedError(f"{self.facts.task} has no overlays.")

  def class_map(self, example_id: str, columns: Columns) -> np.ndarray | None:
    """Return the classes that a model answered for an example's pixels.

    Returns:
      uint8 `[H, W]`; None if they were not kept.
    """
    raise NotImplementedError(f"{self.facts.task} has no class maps.")


class Scorer:
  """A scorer that measures cells as they come and then makes the table of all."""

  def __init__(self, task: Task, truth: Truth = None):
    """Create the scorer without cells.

    Args:
      task: the task that measures.
      truth: the result of `Task.truth`, for tasks that have one.
    """
    self._task, self._truth = task, truth
    self._measured: dict[Cell, Measured] = {}
    self._part = ""
    self._pairs: dict[Cell, np.ndarray] = {}
    self._reliability: dict[Cell, calibration.Bins] = {}
    self._answers: dict[Cell, adapted.Answers] = {}

  def add(self, cell: Cell, columns: Columns) -> list[table.Row]:
    """Measure a cell and return its rows; its columns are not needed afterwards."""
    task = self._task
    if not self._measured:  # all cells are of the same examples
      count = task.examples(columns, self._truth)
      setting = task.setting
      split = setting.data.get("split")
      self._part = example_checks.part(setting.dataset, count, split)
    self._measured[cell] = task.measure(cell, columns, self._truth)
    if task.has_pairs:
      self._pairs[cell] = task.pairs(columns)
    answers = adapted.Answers.from_cell(cell, columns) if task.adapts else None
    if answers is not None:
      self._answers[cell] = answers
    bins = reliability.bins(columns)
    if bins is not None:
      self._reliability[cell] = bins
    return self._measured[cell].rows

  def scored(self, cells: Sequence[Cell]) -> RunScores:
    """Return the table of the added cells.

    Args:
      cells: the cells in the order of the table.
    """
    task, measured = self._task, self._measured
    rows = [row for cell in cells for row in measured[cell].rows]
    models = self._models(cells)
    if rows:
      rows += task.summary_rows(list(models.values()))
      rows += adapted.rows(cells, models) if task.adapts else []
    notes = task.note, task.subset, self._part
    pairs, bins = self._pairs, self._reliability
    return RunScores(
      [functools.reduce(table.Row.add_note, notes, row) for row in rows],
      cells,
      {c: pairs[c] for c in cells if c in pairs},
      {c: bins[c] for c in cells if c in bins},
      {label: self._drawn(model) for label, model in models.items()},
      self._part,
      adapted.curves(cells, self._answers),
    )

  def _models(
    self, cells: Sequence[Cell]
  ) -> dict[str, headlines_lib.ModelCells]:
    """Return the cells of every model, drawn together."""
    models: dict[str, dict[Condition, Measured]] = {}
    for cell in cells:
      models.setdefault(cell.model, {})[cell.condition] = self._measured[cell]
    numbers = _numbers(models)
    trained_on = {
      c.model: c.conditions_seen for c in cells if not c.condition.clean
    }
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
        trained_on=trained_on.get(model, ()),
      )
      for model, measured in models.items()
    }

  def _drawn(
    self, model: headlines_lib.ModelCells
  ) -> dict[Key, resampling.Replicates]:
    """Return the headlines that have draws or blocks."""
    listed = self._task.all_headlines(
      model.numbers, model.reference, model.trained_on
    )
    whole = (h for h in listed if not h.missing(model.numbers, model.reference))
    every = {h.key: model.number(h) for h in whole}
    every |= adapted.drawn(model) if self._task.adapts else {}
    return {key: number for key, number in every.items() if number.blocks}


def _numbers(
  models: Mapping[str, Mapping[Condition, Measured]],
) -> dict[str, headlines_lib.Numbers]:
  """Return the numbers of all cells of every model, from one draw of groups."""
  totals = {
    model: {c: m.totals for c, m in measured.items()}
    for model, measured in models.items()
  }
  draws = spread.draws_of(
    [of_cell for cells in totals.values() for of_cell in cells.values()]
  )
  out: dict[str, headlines_lib.Numbers] = {}
  for model, measured in models.items():
    drawn = spread.cell_replicates(totals[model], draws) if draws else {}
    out[model] = {
      c: {**m.numbers, **drawn.get(c, {})} for c, m in measured.items()
    }
  return out
