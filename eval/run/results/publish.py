"""The end of a run: its table, its timing and its reports."""

import functools
import itertools
import json
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from etils import epath
from jax.sharding import Mesh

from eval.cells import provenance, table
from eval.cells.cell import Cell
from eval.cells.files.overlay import Overlay
from eval.cells.number import Number
from eval.cells.workdir import Workdir
from eval.pipeline import blocks, inputs
from eval.run.data import Data
from eval.run.execution import timing
from eval.run.model import training_data
from eval.run.plan import Plan
from eval.tables import numbers
from eval.tables.context import CellKey, Context
from eval.tasks import base
from robust_tfds import devices, strings
from robust_tfds.conditions import Condition
from robust_tfds.storage import disk

_OVERLAID = 2  # pictures with boxes
_OVERLAID_LEVEL = 3  # the level shown of every corruption, besides clean
_WORST_CONDITIONS = 3  # their worst examples are shown, besides clean's


class Outcome:
  """The results that follow from a run's cells, each added once, in any order."""

  def __init__(
    self,
    plan: Plan,
    workdir: Workdir,
    data: Data,
    truth: Mapping[str, Any] | None,
  ):
    """Read a first example if there will be reports.

    Args:
      workdir: where the table and the reports go.
      truth: what cells are scored with, if the task has one.
    """
    self._plan, self._workdir, self._data = plan, workdir, data
    self._scorer = base.Scorer(plan.task, truth)
    self._published: base.RunScores | None = None
    self._pictures = None
    if plan.config.reports:
      self._pictures = _Pictures(plan, data, truth)

  def add(self, cell: Cell, columns: base.Columns) -> str:
    """Measure a cell; return its main number for the progress line."""
    row = self._scorer.add(cell, columns)[0]
    if self._pictures:
      self._pictures.add(cell, columns)
    return f"{cell.model} {row.metric} {row.value:.3f}"

  @property
  def shown_ids(self) -> Sequence[str]:
    """Ids of the examples whose pixels the reports show, see `one_pass.Setup`."""
    return self._pictures.shown_ids if self._pictures else ()

  def note(self, condition: Condition, name: str, pixels: np.ndarray) -> None:
    """Keep what models see of a wanted example."""
    assert self._pictures is not None  # nothing else is wanted
    self._pictures.seen[condition, name] = pixels.copy()

  def publish(
    self, cells: Sequence[Cell], stages: timing.Stages
  ) -> list[table.Row]:
    """Write table.csv and timing.json; return the table.

    Args:
      cells: all, in the order of the table.
      stages: where the time went.
    """
    workdir, scored = self._workdir, self._scorer.scored(cells)
    table.write(scored.rows, workdir.table_path)
    took = stages.summary(self._data.decoded)
    text = json.dumps(took, indent=1, sort_keys=True)
    disk.write_text(workdir.timing_path, text + "\n")
    self._published = scored
    return scored.rows

  def report(self, folder: epath.Path) -> None:
    """Write the reports of the published table, if the config asks for them.

    Args:
      folder: made where it is not there.
    """
    if not self._pictures or not self._published:
      return
    from eval.report import reports
    from eval.run import photographs

    plan, scored = self._plan, self._published
    real = (
      {"gallery": photographs.classified()} if plan.config.photographs else {}
    )
    shown = context(
      plan.task,
      scored,
      {k: e.name for k, e in plan.models.items() if not e.adapt},
      **self._pictures.all() | real,
      class_names=self._pictures.class_names,
      gflops=_gflops(plan),
      provenance=_provenance(plan, self._data.clean),
    )
    with disk.writing(folder):
      reports.write_all(shown, folder)


def context(
  task: base.Task,
  scored: base.RunScores,
  models: Mapping[str, str],
  **others: Any,
) -> Context:
  """Return the context of a scored run's reports.

  Args:
    models: label -> name in `models`, of which papers print numbers; these are
      shown beside a run of the same data alone.
    **others: further attributes of the context.
  """
  from eval import papers
  from eval.run.results import citations

  names = tuple(dict.fromkeys(c.name for c in scored.cells if c.name))
  dataset, other = task.setting.dataset, _is_other_data(task, scored)
  return Context(
    facts=task.facts,
    family=task.family,
    dataset=f"{dataset}, {task.subset}" if task.subset else dataset,
    rows=[r for r in scored.rows if r.has_value],
    notes=[r for r in scored.rows if r.note],
    corruptions=names,
    baseline=task.baseline,
    networks={} if other else task.published_networks(),
    published={}
    if other
    else {
      label: papers.printed(name, dataset) for label, name in models.items()
    },
    citations=citations.text(
      task.facts.task, dataset, models.values(), natural=not names
    ),
    confusions={
      (cell.model, cell.name, cell.level): pairs
      for cell, pairs in scored.pairs.items()
    },
    reliability={
      (cell.model, cell.name, cell.level): bins
      for cell, bins in scored.reliability.items()
    },
    curves=scored.curves,
    **others,
  )


def _is_other_data(task: base.Task, scored: base.RunScores) -> bool:
  """Return whether printed numbers are of other data, or of more of it."""
  known = next((cell.data for cell in scored.cells if cell.data), None)
  if known is None:  # from another program
    return bool(task.subset or scored.part)
  from eval import papers

  return bool(papers.other_data(task.setting.dataset, known.words()))


class _Pictures:
  """Some examples as the models saw them, with their answers.

  Pixels are those of the run: made by the same steps from the same keys, codec
  included, or read from the same prepared sets.
  """

  def __init__(self, plan: Plan, data: Data, truth: Mapping[str, Any] | None):
    self._plan, self._data, self._truth = plan, data, truth
    features = data.clean.builder.info.features
    label = plan.task.label_feature(features)
    self.class_names: Sequence[str] = list(label.names or [])
    # One device: the others need not take part, and change no pixel.
    self._mesh = devices.mesh(jax.local_devices()[:1])
    self._sample = data.clean.sample()
    self._name = strings.text(self._sample["example_id"])
    self.seen: dict[tuple[Condition, str], np.ndarray] = {}  # while it ran
    self._predicted: dict[CellKey, np.ndarray] = {}
    self._columns: dict[str, base.Columns] = {}
    self._boxes: dict[Condition, dict[str, list[Overlay]]] = {}
    self._overlaid: dict[str, list[str]] = {}
    self._maps: dict[Condition, dict[str, np.ndarray | None]] = {}
    # The least score of a box, and why.
    self._limit: tuple[float, str] | None = None
    # Of the first model: the worst examples, and the cell's main number.
    self._worst: dict[Condition, tuple[float, list[tuple[str, float]]]] = {}

  @functools.cached_property
  def shown_ids(self) -> Sequence[str]:
    """Ids of the examples that are shown as the run makes them."""
    task = self._plan.task
    if not self._plan.fly or task.per_model:
      return ()
    several = task.has_overlays or task.has_maps
    return self._first_ids if several else [self._name]

  def add(self, cell: Cell, columns: base.Columns) -> None:
    """Note what of a cell will be shown."""
    rows = columns["example_id"] == self._name
    if "top5" in columns and rows.any():
      key = cell.model, cell.name, cell.level
      self._predicted[key] = columns["top5"][rows][0]
    if len(self._plan.conditions) == 1:
      self._columns[cell.model] = columns
    first = next(iter(self._plan.models))
    if cell.model == first and (worst := self._plan.task.worst(columns)):
      number = self._plan.task.cell_rows(cell, columns)[0].value
      self._worst[cell.condition] = number, worst
    drawn = cell.model == first and cell.level in (0, _OVERLAID_LEVEL)
    if self._plan.task.has_maps and drawn:
      self._maps[cell.condition] = {
        name: self._plan.task.class_map(name, columns)
        for name in self._first_ids
      }
    if self._plan.task.has_overlays and drawn:
      truth = self._truth
      assert truth is not None  # tasks with overlays have one
      if self._limit is None:  # clean comes first
        least, why = self._plan.task.overlay_limit(columns, truth)
        self._limit = least, f"{cell.model}: {why} ({cell.condition.config})"
      self._overlaid = self._plan.task.overlaid(columns, truth)
      chosen = [name for names in self._overlaid.values() for name in names]
      self._boxes[cell.condition] = {
        name: self._plan.task.overlays(name, columns, truth, self._limit[0])
        for name in chosen or self._first_ids
      }

  def all(self) -> dict[str, Any]:
    """Return the context's attributes."""
    return {
      "samples": self._samples(self._sample, self._name),
      "predicted": self._predicted,
      "gallery": self._gallery(),
      "overlays": self._overlays(),
      "maps": self._class_maps(),
      "overlay_note": "" if self._limit is None else self._limit[1],
    }

  def _samples(
    self, example: Mapping[str, Any], name: str
  ) -> dict[tuple[str, int], np.ndarray]:
    """Return the first example under every condition."""
    clean = np.asarray(example[self._data.clean.pixels])
    out = {}
    for condition in self._plan.conditions:
      key = condition.name, condition.level
      if not self._plan.fly:
        # The authors' files may have ids of their own.
        prepared = self._data.source(condition).find([name])
        if name in prepared:
          out[key] = prepared[name]
      elif self._plan.task.per_model:
        pixels = self._plan.task.sample(clean, condition, name)
        if pixels is not None:
          out[key] = pixels
      else:
        out[key] = self._as_models_see(condition, 1)[0]
    return out

  @functools.cached_property
  def _first_ids(self) -> list[str]:
    """The ids of the pictures that boxes are drawn into."""
    clean = self._data.clean
    # On the fly the pictures come of one batch.
    count = min(_OVERLAID, clean.batch_size)
    examples = clean.metadata(clean.pictures)
    return [
      strings.text(e["example_id"]) for e in itertools.islice(examples, count)
    ]

  @functools.cached_property
  def _first_rows(self) -> list[blocks.Picture]:
    """The first rows of the clean set, decoded once for all conditions."""
    return list(blocks.PictureReader(self._data.clean).rows(0, _OVERLAID))

  def _as_models_see(
    self, condition: Condition, count: int
  ) -> list[np.ndarray]:
    """Return the first pictures as models see them under a condition.

    Noted while the run made them; where an earlier one did, made in batches of the
    shapes that it had, so that nothing is compiled anew.
    """
    rows = self._first_rows[:count]
    names = [strings.text(row.example["example_id"]) for row in rows]
    if all((condition, name) in self.seen for name in names):
      return [self.seen[condition, name] for name in names]
    reader = blocks.PictureReader(self._data.clean)
    places: dict[Hashable, list[int]] = {}
    for place, row in enumerate(rows):
      places.setdefault(reader.group(row), []).append(place)
    out: dict[int, np.ndarray] = {}
    for group in places.values():
      batch = reader.batch([rows[place] for place in group])
      images = as_shown(self._plan.task, condition, batch, self._mesh)
      for place, image, (height, width) in zip(group, images, batch.size):
        whole = batch.any_size and self._plan.task.sized
        out[place] = image[:height, :width] if whole else image
    return [out[place] for place in range(len(rows))]

  def _gallery(self) -> dict[str, Any]:
    """Return what the task picks to show of a run of one condition, or the worst
    examples of clean data and of the worst conditions.
    """
    if self._worst:
      return self._worst_examples()
    if not self._columns:
      return {}
    find = self._data.clean.find
    return self._plan.task.gallery(find, self._columns, self.class_names)

  def _worst_examples(self) -> dict[str, Any]:
    task, clean = self._plan.task, self._data.clean
    main = task.facts.metric(task.facts.others[0].name)
    order = sorted(
      (c for c in self._worst if not c.clean),
      key=lambda c: main.sign * self._worst[c][0],
    )
    chosen = [c for c in self._worst if c.clean] + order[:_WORST_CONDITIONS]
    out: dict[str, list[tuple[np.ndarray, str]]] = {}
    for condition in chosen:
      source = clean if self._plan.fly else self._data.source(condition)
      worst = self._worst[condition][1]
      pictures = source.find([name for name, _ in worst])
      for name, value in worst:
        pixels = pictures[name]
        if self._plan.fly:
          shown = task.sample(pixels, condition, name)
          pixels = pixels if shown is None else shown
        if pixels.ndim == 4:  # the middle frame of a video
          pixels = pixels[len(pixels) // 2]
        words = f"{name}: {numbers.text(main, Number(value))}"
        out.setdefault(condition.config, []).append((pixels, words))
    return out

  def _overlays(self) -> dict[str, Any]:
    """Return some pictures with the first model's detections."""
    out = {}
    for title, names in self._overlaid.items():
      (boxes,) = self._boxes.values()
      pictures = self._data.clean.find(names)
      out[title] = [(pictures[name], boxes[name]) for name in names]
    for condition in () if self._overlaid else self._plan.conditions:
      if condition in self._boxes:
        boxes = self._boxes[condition]
        out[condition.config] = [
          (image, boxes[name])
          for name, image in self._images(condition, list(boxes)).items()
        ]
    return out

  def _class_maps(self) -> dict[str, list[tuple[np.ndarray, ...]]]:
    """Return the first pictures with their masks and the first model's answers."""
    if not self._maps:
      return {}
    truth = {
      strings.text(row.example["example_id"]): row.example["mask"][..., 0]
      for row in self._first_rows
    }
    return {
      condition.config: [
        (image, truth[name], answer)
        for name, image in self._images(condition, list(answers)).items()
        if (answer := answers[name]) is not None
      ]
      for condition, answers in self._maps.items()
    }

  def _images(
    self, condition: Condition, ids: Sequence[str]
  ) -> dict[str, np.ndarray]:
    """Return id -> picture under a condition, for ids that the set has."""
    if self._plan.fly:
      return dict(zip(ids, self._as_models_see(condition, len(ids))))
    return self._data.source(condition).find(ids)


def as_shown(
  task: base.Task, condition: Condition, batch: inputs.Batch, mesh: Mesh
) -> np.ndarray:
  """Return what models see of a batch: uint8 `[B, ...]` on the host."""
  show = task.show(mesh, {})
  images, _ = show.see(show.put(batch), condition, None)
  return devices.local_rows(images)


def _gflops(plan: Plan) -> dict[str, float]:
  """Return the GFLOPs of the models whose specs have them."""
  specs = {label: plan.model(label).spec for label in plan.models}
  return {label: s.gflops for label, s in specs.items() if s.gflops}


def _provenance(plan: Plan, clean: inputs.Source) -> list[str]:
  setting, own = plan.task.setting, clean.builder.OWN
  set_words = f"{own.name} (content {own.content}), " if own else ""
  if own and own.left_out:
    set_words += f"{own.left_out:,} files that cannot be read left out, "
  return [
    f"robust_tfds {provenance.code_version()}",
    f"{set_words}{clean.builder.info.full_name}, split {clean.split},"
    f" {clean.builder.counted(clean.total, clean.split)} examples",
    f"edition {setting.edition or 'none'}, codec"
    f" {setting.codec or 'as stored'}, {pixel_origin(plan)}, seed {setting.seed}",
    *plan.crop_lines,
    *plan.task.pixel_words,
    *(
      f"{label} was trained on: {training_data.words(entry) or 'not stated'}"
      for label, entry in plan.models.items()
    ),
  ]


def pixel_origin(plan: Plan) -> str:
  """Return a text about the origin of corrupted pixels."""
  if not plan.names:
    return "not corrupted"
  made = "corrupted on the fly" if plan.fly else "prepared"
  return ", ".join(filter(None, (made, plan.left_out)))
