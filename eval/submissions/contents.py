"""The cells of a submission, compared with its manifest, config and data set.

This needs neither the data nor the model: the cells are of the config's models,
data and conditions; the facts of a cell are those of the manifest and follow from
the config; hashes follow from the facts; ids and labels are those of the data
set.
"""

import collections
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from etils import epath

from eval import tasks
from eval.cells import cell_facts
from eval.cells import workdir as workdir_lib
from eval.cells.cell import Cell
from eval.cells.cell_facts import DataFacts, ModelFacts
from eval.cells.files import columns as columns_lib
from eval.cells.files import config_file, predictions
from eval.cells.files import examples as examples_lib
from eval.cells.files import note as note_lib
from eval.cells.files.columns import Columns
from eval.cells.workdir import Workdir
from eval.compare import runs as runs_lib
from eval.metrics.detection import checks
from eval.readers.base import Run
from eval.submissions import files as files_lib
from eval.submissions import manifest as manifest_lib
from eval.submissions.manifest import Manifest
from eval.tasks.detections import result_lists
from eval.tasks.headlines import stored_numbers
from eval.tasks.parts import example_checks
from robust_tfds import datasets, errors

# Facts that both the config and the facts of another program's predictions have.
_SHARED = ("split", "subset", "codec", "geometry", "settings", "metric")
# Columns of classes -> the least class; -1 is a place without a class.
_CLASSES = {"label": 0, "labels": -1, "top5": -1, "classes": -1}


@dataclasses.dataclass
class Comparison:
  """The results of the comparison, for the checker's answer.

  Attributes:
    cells: number of cells.
    planned: number of cells that the config asks for.
    marked: number of cells whose fingerprint follows from their facts.
    stated: data set -> facts of its data that follow from nothing here.
    examples: data set -> how its examples compare with the known ones.
    labels: data set -> (rows whose id implies the label, rows).
    trained: labels of models whose weights are in the submission.
  """

  cells: int = 0
  planned: int = 0
  marked: int = 0
  stated: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
  examples: dict[str, set[example_checks.Examples]] = dataclasses.field(
    default_factory=lambda: collections.defaultdict(set)
  )
  labels: dict[str, tuple[int, int]] = dataclasses.field(default_factory=dict)
  trained: Sequence[str] = ()


def read(folder: epath.Path) -> Run:
  """Return the run of a submission whose files are those of its manifest.

  Raises:
    UserError: it is not a readable workdir.
  """
  (run,) = runs_lib.read([str(folder)])
  return run


def check(folder: epath.Path, manifest: Manifest, run: Run) -> Comparison:
  """Refuse a submission that contradicts its manifest, its config or itself.

  Args:
    manifest: the submission's manifest.
    run: the result of `read`.

  Raises:
    UserError: the message names the file and what is wrong.
  """
  _check_manifest(folder / manifest_lib.FILE, manifest, run)
  weights = _weights(folder, manifest, run)
  _check_files(folder, manifest, run, weights.values())
  if run.truth is not None:
    with errors.prefixed(folder / files_lib.TRUTH[0]):
      checks.ground_truth(run.truth)
  checker = _Checker(folder, manifest, run)
  for cell in run.cells:
    checker.check(cell)
  checker.comparison.trained = list(weights)
  return checker.comparison


def _check_manifest(source: epath.Path, manifest: Manifest, run: Run) -> None:
  for name, got, expected in (
    ("task", manifest.task, run.task_name),
    ("cells", manifest.cells, len(run.cells)),
    ("models", sorted(manifest.models), sorted(run.labels())),
  ):
    if got != expected:
      raise errors.UserError(
        f"{source}: {name}: got {got!r}, but the submission has {expected!r}."
      )
  for label, facts in manifest.models.items():
    if not (facts.trained_on or "").strip():
      raise errors.UserError(
        f"{source}: models.{label}.trained_on: missing. A submission says what"
        " its models were trained on."
      )
    named = run.model_names.get(label)
    if facts.name and named and facts.name != named:
      raise errors.UserError(
        f"{source}: models.{label}.name: got {facts.name!r}, but config.json has"
        f" {named!r}."
      )


def _weights(
  folder: epath.Path, manifest: Manifest, run: Run
) -> dict[str, epath.Path]:
  """Return label -> file of the weights that the run trained.

  Raises:
    UserError: weights with another sha256 than that of the facts.
  """
  from eval.run.model import weights
  from models import weights_file

  out = {}
  for label in run.trained:
    path = weights.path(Workdir(folder), label)
    if path.relative_to(folder).as_posix() in manifest.files:
      weights_file.read(path, manifest.models[label].weights)
      out[label] = path
  return out


def _check_files(
  folder: epath.Path,
  manifest: Manifest,
  run: Run,
  weights: Iterable[epath.Path],
) -> None:
  """Refuse a manifest whose files are not exactly those that the cells need."""
  workdir = Workdir(folder)
  expected = {*weights, *(folder / name for name in files_lib.REQUIRED)}
  if run.truth is not None:
    expected |= {folder / name for name in files_lib.TRUTH}
  for cell in run.cells:
    note, place = workdir.note(cell), workdir.cell_folder(cell)
    expected |= {place / predictions.FILE, place / note_lib.FILE}
    expected.add(examples_lib.path(workdir.examples, note.examples))
  names = {path.relative_to(folder).as_posix() for path in expected}
  for name in sorted(manifest.files.keys() - names):
    raise errors.UserError(
      f"{folder / name}: no finished cell needs this file. Remove it."
    )
  for name in sorted(names - manifest.files.keys()):
    raise errors.UserError(
      f"{folder / manifest_lib.FILE}: files: {name} is missing, and a cell needs"
      " it."
    )


class _Checker:
  """Checks one cell after the other and keeps the comparison."""

  def __init__(self, folder: epath.Path, manifest: Manifest, run: Run):
    self._workdir, self._manifest, self._run = Workdir(folder), manifest, run
    self._config = run.config
    self._names_models = any(workdir_lib.models_of(run.config).values())
    listed = str(run.config.data.name).split(",")
    labels = workdir_lib.labels_of(run.config)
    self._planned = {
      (label, dataset, condition)
      for dataset in listed
      for condition in run.task(dataset).conditions()
      for label in labels
    }
    pixels = self._workdir.versions()["pixels"]
    with errors.prefixed(self._workdir.config_path):
      self._expected = {d: self._config_facts(d, pixels) for d in listed}
    # Files of examples that were checked, and their data.
    self._checked: set[tuple[str, str, str]] = set()
    self.comparison = Comparison(planned=len(self._planned))

  def _config_facts(self, dataset: str, pixels: int) -> dict[str, Any]:
    """Return the facts of a cell's data that follow from the config.

    Raises:
      UserError: the data set has no such config or crop.
    """
    settings, builder = (
      self._run.settings(dataset),
      datasets.class_or_unknown(dataset),
    )
    rule = settings.data.get("geometry") or ""
    is_ours = dataset in datasets.names()
    task = tasks.bind(settings, builder.edition_of(rule) if is_ours else "")
    out = {**task.config_facts(), "pixels": pixels}
    if split := settings.data.get("split"):
      out["split"] = split
    if not self._names_models and config_file.REFERENCE_KEY not in self._config:
      shared = {k: out[k] for k in _SHARED if out.get(k)}
      return {**shared, "dataset": dataset, "source": cell_facts.ELSEWHERE}
    if not is_ours:
      del out["edition"], out["px"]
      return out
    if rule:
      builder.config_of(task.base_config, geometry=rule)
    decoders = builder.known_decoders(task.setting.codec)
    return out if decoders is None else {**out, "decoders": decoders}

  def check(self, cell: Cell) -> None:
    """Check one cell.

    Raises:
      UserError: the message names the file and what is wrong.
    """
    note, folder = self._workdir.note(cell), self._workdir.cell_folder(cell)
    source = str(folder / note_lib.FILE)
    seed = self._config.get("seed", 0)
    planned = (cell.model, cell.dataset, cell.condition) in self._planned
    if not planned or cell.seed != seed:
      raise errors.UserError(
        f"{source}: config.json does not ask for the cell {'/'.join(cell.place)}."
      )
    if note.data is None or note.model_facts is None:
      raise errors.UserError(
        f"{source}: data, by: missing. A submission's cells say their facts."
      )
    self._check_facts(source, cell, note.data, note.model_facts)
    self.comparison.marked += _check_marks(source, cell, note)
    columns = self._run.columns(cell)
    source = str(folder / predictions.FILE)
    columns_lib.check(source, columns, self._manifest.task, cell.condition)
    _check_classes(source, cell.dataset, columns, self._run.truth)
    self._check_examples(cell, note, columns)
    self.comparison.cells += 1

  def _check_facts(
    self, source: str, cell: Cell, data: DataFacts, model: ModelFacts
  ) -> None:
    """Compare a note's facts with the manifest and the config."""
    stated = self._manifest.models[cell.model]
    if model != stated:
      differ = cell_facts.differences(model.words(), stated.words())
      name, (got, expected) = next(iter(differ.items()))
      raise errors.UserError(
        f"{source}: by.{name}: got {got!r}, but {manifest_lib.FILE} has"
        f" {expected!r}."
      )
    if self._manifest.data.get(data.hash) != data:
      raise errors.UserError(
        f"{source}: data: {manifest_lib.FILE} has no such facts (hash"
        f" {data.hash})."
      )
    is_elsewhere = model.adapter == cell_facts.ELSEWHERE
    if is_elsewhere != (config_file.REFERENCE_KEY in self._config):
      raise errors.UserError(
        f"{source}: by.adapter: got {model.adapter!r}; it is"
        f" {cell_facts.ELSEWHERE!r} if and only if config.json names the run that"
        " the predictions stand beside (--facts)."
      )
    facts = data.model_dump()
    facts["settings"].pop(cell_facts.OWN, None)  # the file of a user's own
    if cell.dataset not in datasets.names():
      facts["settings"].pop(
        cell_facts.SHOWN, None
      )  # depends on pictures' sizes
    expected_facts = self._expected[cell.dataset]
    for name, expected in expected_facts.items():
      got = facts[name]
      if got != expected and (self._names_models or got is not None):
        raise errors.UserError(
          f"{source}: data.{name}: got {got!r}, but {expected!r} follows from"
          " config.json."
        )
    follow = {*expected_facts, "examples"}
    self.comparison.stated.setdefault(cell.dataset, {}).update(
      {k: v for k, v in data.words().items() if k not in follow}
    )

  def _check_examples(
    self, cell: Cell, note: note_lib.Note, columns: Columns
  ) -> None:
    """Compare ids and labels with the set's, once for each file of examples."""
    assert note.data is not None  # checked before
    key = note.examples.sha256, cell.dataset, note.data.hash
    if key in self._checked or (
      stored_numbers.holds_numbers(columns)
      or result_lists.holds_results(columns)
    ):
      return
    self._checked.add(key)
    source = str(examples_lib.path(self._workdir.examples, note.examples))
    rows = columns["example_id"].tolist()
    ids = list(dict.fromkeys(rows))
    if note.data.examples not in (None, len(ids)):
      raise errors.UserError(
        f"{source}: {len(ids):,} examples, but the facts of the data say"
        f" {note.data.examples:,}."
      )
    limit = int(self._config.data.get("limit", 0) or 0)
    self.comparison.examples[cell.dataset].add(
      example_checks.check_examples(source, note.data, limit, ids)
    )
    if "label" in columns:
      implied = example_checks.check_labels(
        source, cell.dataset, rows, columns["label"]
      )
      self.comparison.labels[cell.dataset] = implied, len(rows)


def _check_classes(
  source: str, dataset: str, columns: Columns, truth: Mapping[str, Any] | None
) -> None:
  """Refuse a class that the data set or the ground truth does not have."""
  categories = [c["id"] for c in (truth or {}).get("categories", ())]
  count = datasets.classes(dataset)
  for name, least in _CLASSES.items():
    values = columns.get(name, np.zeros(0, int))
    most = len(categories) if name == "classes" else count
    wrong = (values < least) | ((values >= most) & (most > 0))
    if wrong.any():
      raise errors.UserError(
        f"{source}: {name}: got the class {values[wrong][0]}, expected"
        f" {least} to {most - 1 if most else 'any'}."
      )
  ids = columns.get("category_id", np.zeros(0, int))
  for category in sorted(set(ids.tolist()) - set(categories)):
    raise errors.UserError(
      f"{source}: category_id: the ground truth has no class {category}."
    )


def _check_marks(source: str, cell: Cell, note: note_lib.Note) -> bool:
  """Compare hashes with the facts and return whether all facts are known.

  Raises:
    UserError: the hashes are of other facts.
  """
  assert note.model_facts is not None and note.data is not None
  if not (note.model_facts.weights and note.of_model):
    return False
  for facts in _facts_as_noted(note.model_facts):
    mark = cell_facts.fingerprint(
      note.data, facts, cell.condition.config, cell.seed
    )
    if (facts.hash, mark) == (note.of_model, note.fingerprint):
      return True
  raise errors.UserError(
    f"{source}: fingerprint: {note.fingerprint} of the model {note.of_model} is"
    " not the hash of the facts beside it: a fact was changed since."
  )


def _facts_as_noted(facts: ModelFacts) -> Iterable[ModelFacts]:
  """Yield facts as the run may have known them, before --trained_on was given."""
  yield facts
  seen = ("corruptions_seen", "severities_seen")
  for names in (("trained_on",), seen, ("trained_on", *seen)):
    yield facts.model_copy(update=dict.fromkeys(names))
