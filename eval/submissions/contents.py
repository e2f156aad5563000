"""What a submission holds, read once: its cells against its manifest and itself.

Everything here is found without the data and without the model: that each cell is
of the config's models, data and conditions, that facts are the same wherever they
stand and their hashes are theirs, that ids and labels are those of the data set,
and that every value is one that a model can give.
"""

import collections
import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from etils import epath

from eval import tasks
from eval.cells import cell_facts
from eval.cells import workdir as workdir_lib
from eval.cells.cell import Cell
from eval.cells.cell_facts import ModelFacts
from eval.cells.files import config_file
from eval.cells.files import examples as examples_lib
from eval.cells.files import note as note_lib
from eval.cells.files import predictions as predictions_lib
from eval.cells.files.columns import Columns
from eval.cells.workdir import Workdir
from eval.compare import runs as runs_lib
from eval.metrics.detection import checks
from eval.readers.base import Run
from eval.submissions import layout, values
from eval.submissions import manifest as manifest_lib
from eval.submissions.manifest import Manifest
from eval.tasks.detections import result_lists
from eval.tasks.headlines import stored_numbers
from eval.tasks.parts import example_checks
from robust_tfds import conditions, datasets, errors

# What the config and the facts of another program's predictions both may say.
_SHARED = ("split", "subset", "codec", "geometry", "settings", "metric")
# Columns that an example has alike in all cells.
_SAME = ("group_id", "label", "image_id", "labels", "reviewed")


@dataclasses.dataclass
class Account:
  """What was held against what, for the report.

  Attributes:
    cells: how many.
    planned: how many the config's models, data and conditions would give.
    marked: those whose fingerprint is that of their facts.
    stated: data set -> facts of its data that follow from nothing here.
    examples: data set -> what was held against what is known of it.
    trained: labels of models whose weights lie beside the cells.
    labels: data set -> (rows whose id tells the label, rows).
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
  """The run of a submission whose files are those of its manifest.

  Raises:
    UserError: it is no workdir that can be read.
  """
  (run,) = runs_lib.read([str(folder)])
  return run


def check(folder: epath.Path, manifest: Manifest, run: Run) -> Account:
  """Refuse a submission that contradicts its manifest, its config or itself.

  Args:
    manifest: that lies in it.
    run: see `read`.

  Raises:
    UserError: names the file and what is wrong.
  """
  _check_manifest(folder, manifest, run)
  _check_truth(folder / layout.TRUTH[0], run.truth)
  checker = _Checker(folder, manifest, run)
  trained = _check_weights(folder, manifest, run)
  account = Account(planned=checker.planned, trained=trained)
  for cell in run.cells:
    checker.check(cell, account)
  return account


def _check_manifest(folder: epath.Path, manifest: Manifest, run: Run) -> None:
  source = folder / manifest_lib.FILE
  cells = run.cells
  task = str(run.config.get("task"))
  if manifest.task != task:
    raise errors.UserError(
      f"{source}: task: got {manifest.task!r}, but config.json has {task!r}."
    )
  if manifest.cells != len(cells):
    raise errors.UserError(
      f"{source}: cells: got {manifest.cells}, but there are {len(cells)}."
    )
  labels = run.labels()
  if set(labels) != manifest.models.keys():
    raise errors.UserError(
      f"{source}: models: got {', '.join(manifest.models)}, but the cells are of"
      f" {', '.join(sorted(labels))}."
    )
  for label, facts in manifest.models.items():
    if not (facts.trained_on or "").strip():
      raise errors.UserError(
        f"{source}: models.{label}.trained_on: missing. A submission says what"
        " its models were trained on."
      )
    stated = run.model_names.get(label)
    if facts.name and stated and facts.name != stated:
      raise errors.UserError(
        f"{source}: models.{label}.name: got {facts.name!r}, but config.json has"
        f" {stated!r}."
      )
    for name in facts.corruptions_seen or ():
      if name not in conditions.every_name():
        raise errors.UserError(
          f"{source}: models.{label}.corruptions_seen: {name!r} is no corruption"
          " or perturbation."
        )
  for mark, data in manifest.data.items():
    if data.hash != mark:
      raise errors.UserError(
        f"{source}: data.{mark}: these facts have the hash {data.hash}."
      )
  _check_files(folder, manifest, run)


def _check_files(folder: epath.Path, manifest: Manifest, run: Run) -> None:
  """Refuse files that belong to no cell."""
  workdir = Workdir(folder)
  expected = set()
  for cell in run.cells:
    place = workdir.cell_folder(cell).relative_to(folder).as_posix()
    note = workdir.note(cell)
    if set(note.files) != {predictions_lib.FILE}:
      raise errors.UserError(
        f"{workdir.cell_folder(cell) / note_lib.FILE}: files: expected"
        f" {predictions_lib.FILE} alone."
      )
    of_examples = examples_lib.path(workdir.examples, note.examples)
    expected |= {
      f"{place}/{predictions_lib.FILE}",
      f"{place}/{note_lib.FILE}",
      of_examples.relative_to(folder).as_posix(),
    }
  expected |= {
    path.relative_to(folder).as_posix()
    for path in _weights(folder, manifest).values()
  }
  listed = {name for name in manifest.files if "/" in name}
  for name in sorted(listed - expected):
    raise errors.UserError(f"{folder / name}: it belongs to no finished cell.")
  for name in sorted(expected - listed):
    raise errors.UserError(
      f"{folder / manifest_lib.FILE}: files: lacks {name}, which a cell needs."
    )


def _weights(folder: epath.Path, manifest: Manifest) -> dict[str, epath.Path]:
  """Label -> where the model's weights lie, of those that the manifest names."""
  from eval.run.model import weights

  places = {m: weights.path(Workdir(folder), m) for m in manifest.models}
  return {
    label: path
    for label, path in places.items()
    if path.relative_to(folder).as_posix() in manifest.files
  }


def _check_weights(
  folder: epath.Path, manifest: Manifest, run: Run
) -> list[str]:
  """Refuse weights that are not those of the facts and return whose there are."""
  from models import weights_file

  there = _weights(folder, manifest)
  for label, path in there.items():
    if label not in run.trained:
      raise errors.UserError(
        f"{path}: config.json does not train {label}: a submission holds no other"
        " weights."
      )
    weights_file.read(path, manifest.models[label].weights)
  return list(there)


def _check_truth(path: epath.Path, truth: Mapping | None) -> None:
  """Refuse ground truth that nothing can be scored with."""
  if truth is None:
    return
  with errors.prefixed(path):
    checks.ground_truth(truth)


class _Checker:
  """Cells one after the other, each also against those before it."""

  def __init__(self, folder: epath.Path, manifest: Manifest, run: Run):
    self._workdir, self._manifest = Workdir(folder), manifest
    self._run = run
    self._task_name, self._named = manifest.task, _names_models(run)
    self._versions = self._workdir.versions()
    config = run.config
    self._config, self._models = config, workdir_lib.labels_of(config)
    self._datasets = str(config.data.name).split(",")
    self._conditions = {
      dataset: set(run.task(dataset).conditions()) for dataset in self._datasets
    }
    with errors.prefixed(self._workdir.config_path):
      self._expected = {
        dataset: _expected(run, dataset, self._versions["pixels"])
        for dataset in self._datasets
      }
    # Files of examples that were checked, and of which data.
    self._checked: set[tuple[str, str, str]] = set()
    self._labels: dict[str, dict[tuple, tuple]] = collections.defaultdict(dict)

  @property
  def planned(self) -> int:
    """How many cells the config names."""
    of_model = sum(map(len, self._conditions.values()))
    return len(self._models) * of_model

  def check(self, cell: Cell, account: Account) -> None:
    """All of a cell.

    Raises:
      UserError: see `check` of this file.
    """
    note = self._workdir.note(cell)
    source = self._workdir.cell_folder(cell)
    self._check_config(str(source / note_lib.FILE), cell)
    stated = self._check_facts(str(source / note_lib.FILE), cell, note)
    account.stated.setdefault(cell.dataset, {}).update(stated)
    account.marked += _check_marks(str(source / note_lib.FILE), cell, note)
    columns = self._run.columns(cell)
    classes = datasets.classes(cell.dataset)
    rules = values.Rules(self._task_name, classes, self._run.truth)
    values.check(
      str(source / predictions_lib.FILE), columns, rules, cell.condition
    )
    _check_frames(str(source / predictions_lib.FILE), cell, columns)
    _check_split(str(source / note_lib.FILE), note, columns)
    self._check_examples(cell, note, columns, account)
    account.cells += 1

  def _check_config(self, source: str, cell: Cell) -> None:
    if cell.model not in self._models:
      raise errors.UserError(
        f"{source}: model: got {cell.model!r}, but config.json has"
        f" {', '.join(self._models)}."
      )
    if cell.dataset not in self._datasets:
      raise errors.UserError(
        f"{source}: dataset: got {cell.dataset!r}, but config.json has"
        f" {', '.join(self._datasets)}."
      )
    if cell.condition not in self._conditions[cell.dataset]:
      raise errors.UserError(
        f"{source}: config: {cell.condition.config} is none of the conditions of"
        " config.json."
      )
    if cell.seed != self._config.get("seed", 0):
      raise errors.UserError(
        f"{source}: seed: got {cell.seed}, but config.json has"
        f" {self._config.get('seed', 0)}."
      )

  def _check_facts(
    self, source: str, cell: Cell, note: note_lib.Note
  ) -> dict[str, Any]:
    """Holds a note's facts of its data against the manifest and the config.

    Returns:
      Those that follow from neither.
    """
    if note.data is None or note.model_facts is None:
      raise errors.UserError(
        f"{source}: data, by: a submission's cells say their facts."
      )
    if note.model_facts != self._manifest.models[cell.model]:
      differ = cell_facts.differences(
        note.model_facts.words(), self._manifest.models[cell.model].words()
      )
      raise errors.UserError(
        f"{source}: by: other facts than {manifest_lib.FILE} has of"
        f" {cell.model}: {_listed(differ)}."
      )
    if self._manifest.data.get(note.data.hash) != note.data:
      raise errors.UserError(
        f"{source}: data: {manifest_lib.FILE} has no such facts (hash"
        f" {note.data.hash})."
      )
    foreign_format = note.model_facts.adapter == cell_facts.ELSEWHERE
    if foreign_format != (config_file.BESIDE in self._config):
      raise errors.UserError(
        f"{source}: by.adapter: got {note.model_facts.adapter!r}; it is"
        f" {cell_facts.ELSEWHERE!r} where config.json says beside which run the"
        " predictions stand (--facts), and nowhere else."
      )
    facts = note.data.model_dump()
    facts["settings"].pop(cell_facts.OWN, None)  # of a file of somebody's own
    if cell.dataset not in datasets.names():
      facts["settings"].pop(
        cell_facts.SHOWN, None
      )  # the pictures' sizes decide
    for name, expected in self._expected[cell.dataset].items():
      if facts[name] != expected and (self._named or facts[name] is not None):
        raise errors.UserError(
          f"{source}: data.{name}: got {facts[name]!r}, but {expected!r} follows"
          " from config.json."
        )
    known = {*self._expected[cell.dataset], "examples"}
    return {k: v for k, v in note.data.words().items() if k not in known}

  def _check_examples(
    self, cell: Cell, note: note_lib.Note, columns: Columns, account: Account
  ) -> None:
    """Ids and labels against the set's, once for each file of examples."""
    if stored_numbers.holds_numbers(columns) or result_lists.holds_results(
      columns
    ):
      return
    assert note.data is not None
    path = examples_lib.path(self._workdir.examples, note.examples)
    key = note.examples.sha256, cell.dataset, note.data.hash
    if key in self._checked:
      return
    self._checked.add(key)
    source = str(path)
    if note.data.examples not in (None, note.split.examples):
      raise errors.UserError(
        f"{source}: {note.split.examples:,} examples, but the facts of the data"
        f" say {note.data.examples:,}."
      )
    rows = columns["example_id"].tolist()
    ids = list(dict.fromkeys(rows))
    # Only a set's frames may have one name in two of its groups.
    if len(ids) < len(rows) and "reviewed" not in columns:
      twice = collections.Counter(rows).most_common(1)[0][0]
      raise errors.UserError(
        f"{source}: {twice!r} is there more than once: {len(rows):,} rows of"
        f" {len(ids):,} examples."
      )
    limit = int(self._config.data.get("limit", 0) or 0)
    account.examples[cell.dataset].add(
      example_checks.check_examples(source, note.data, limit, ids)
    )
    if "label" in columns:
      by_id = example_checks.check_labels(
        source, cell.dataset, rows, columns["label"]
      )
      account.labels[cell.dataset] = by_id, len(rows)
      for more in columns["labels"].T if by_id and "labels" in columns else ():
        named = list(itertools.compress(rows, more >= 0))
        example_checks.check_labels(
          source, cell.dataset, named, more[more >= 0]
        )
    elif self._run.truth is not None and "image_id" in columns:
      _check_pictures(source, columns, self._run.truth)
    self._check_same(source, cell.dataset, columns)

  def _check_same(self, source: str, dataset: str, columns: Columns) -> None:
    """Refuse an example that is another one in another cell."""
    names = [n for n in _SAME if n in columns]
    ids = zip(columns["example_id"].tolist(), columns["frame"].tolist())
    rows = zip(*(columns[n].tolist() for n in names))
    first = self._labels[dataset]
    for example, row in zip(ids, rows):
      if first.setdefault(example, row) != row:
        raise errors.UserError(
          f"{source}: {', '.join(names)} of {example[0]!r}: got {row}, but"
          f" {first[example]} in another cell of {dataset}."
        )


def _expected(run: Run, dataset: str, pixels: int) -> dict[str, Any]:
  """Facts of the data as they follow from the config; nothing of what does not.

  Raises:
    UserError: the data set has no such config or crop.
  """
  settings, builder = run.settings(dataset), datasets.class_or_unknown(dataset)
  rule = settings.data.get("geometry") or ""
  is_ours, edition = dataset in datasets.names(), ""
  if is_ours:
    edition = builder.edition_of(rule)
  task = tasks.bind(settings, edition)
  out = {**task.config_facts(), "pixels": pixels}
  if split := settings.data.get("split"):
    out["split"] = split
  if not _names_models(run) and config_file.BESIDE not in run.config:
    shared = {k: out[k] for k in _SHARED if out.get(k)}
    return {**shared, "dataset": dataset, "source": cell_facts.ELSEWHERE}
  if not is_ours:
    del out["edition"], out["px"]
    return out
  if rule:
    builder.config_of(task.base_config, geometry=rule)
  decoders = builder.known_decoders(task.setting.codec)
  return out if decoders is None else {**out, "decoders": decoders}


def _names_models(run: Run) -> bool:
  """Whether the run's own models predicted, and not another program."""
  return any(workdir_lib.models_of(run.config).values())


def _check_marks(source: str, cell: Cell, note: note_lib.Note) -> bool:
  """Holds hashes against facts; whether all facts they are of are known.

  What the model was trained on may have been said after the run.

  Raises:
    UserError: they are of other facts.
  """
  assert note.model_facts is not None and note.data is not None
  if not (note.model_facts.weights and note.of_model):
    return False
  config = cell.condition.config
  for facts in _as_noted(note.model_facts):
    mark = cell_facts.fingerprint(note.data, facts, config, cell.seed)
    if (facts.hash, mark) == (note.of_model, note.fingerprint):
      return True
  raise errors.UserError(
    f"{source}: fingerprint: {note.fingerprint} of the model {note.of_model} is"
    " not the hash of the facts beside it: a fact was changed since."
  )


def _as_noted(facts: ModelFacts) -> Iterable[ModelFacts]:
  """Facts of a model as a run may have known them."""
  yield facts
  seen = ("corruptions_seen", "severities_seen")
  for names in (("trained_on",), seen, ("trained_on", *seen)):
    yield facts.model_copy(update=dict.fromkeys(names))


def _check_frames(source: str, cell: Cell, columns: Columns) -> None:
  """Refuse sequences of another length than those of their edition."""
  if "flips" not in columns or cell.data is None or not cell.data.edition:
    return
  from robust_tfds.corruptions.sequence import frame_count

  got = columns["top5"].shape[1]
  expected = frame_count(cell.condition.name, cell.data.edition)
  if got != expected:
    raise errors.UserError(
      f"{source}: {got} frames a sequence, but {cell.condition.config} of"
      f" {cell.dataset} has {expected}."
    )


def _check_split(source: str, note: note_lib.Note, columns: Columns) -> None:
  split = note_lib.split_of(
    note.split.name, columns["example_id"], examples_lib.labels(columns)
  )
  if split != note.split:
    raise errors.UserError(
      f"{source}: split: {note.split.examples:,} examples and their hashes are"
      f" not those of the {split.examples:,} in the cell's columns."
    )


def _check_pictures(source: str, columns: Columns, truth: Mapping) -> None:
  """Refuse detections of other pictures than those of the ground truth."""
  expected = {i["id"] for i in truth["images"]}
  got = columns["image_id"].tolist()
  missing = expected - set(got)
  if missing or len(got) != len(expected):
    raise errors.UserError(
      f"{source}: {len(got):,} pictures, but the ground truth (truth.json) has"
      f" {len(expected):,}; e.g. {min(missing, default=got[0])} differs."
    )


def _listed(differ: Mapping[str, tuple]) -> str:
  return "; ".join(
    f"{name}: {one!r} and {two!r}" for name, (one, two) in differ.items()
  )
