"""A run's folder: the place and owner of everything in it.

config.json                                    the run's config, and `versions`
cells/<label>/<dataset>/<condition>/seed<n>/   predictions.npz, provenance.json
examples/                                      ids and labels that cells share
truth.json  truth.sha256                       ground truth, where a task has one
models/<label>/                                weights that the run trained
data/                                          TFDS sets, where no other is named
table.csv  timing.json  contents.json  reports/
parts/                                         of cells that are being made
streams/                                       states of models that adapt
running.json                                   the run that is writing

Other files in it are left alone. `eval/cells/names.py` makes labels into folder
names. It may be in a bucket, where a folder is only a prefix of names.

Checks: `check_cells` and `cells` compare notes with each other and with the
sizes of files, without reading them; `columns` reads a cell's files once and
compares checksums. So a run that first reads its finished cells knows of any damage
before it computes.
"""

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import ml_collections
import numpy as np
from etils import epath

from eval.cells import cell_facts, names
from eval.cells.cell import Cell
from eval.cells.files import columns as columns_lib
from eval.cells.files import config_file, damage, lock, predictions
from eval.cells.files import examples as examples_lib
from eval.cells.files import note as note_lib
from robust_tfds import conditions, errors, own_corruptions, reading
from robust_tfds.storage import disk, paths

_FOLDERS = (
  "cells",
  "data",
  "examples",
  "models",
  "parts",
  "reports",
  "streams",
)
_FILES = ("config.json", "contents.json", "table.csv", "timing.json")
_SEED = re.compile(r"seed-?\d+")


@dataclasses.dataclass(frozen=True)
class Workdir:
  """The folder of a run, or of predictions that were scored.

  Attributes:
    path: path of the folder; a link is followed.
    writer: nonce of the lock of the run that writes cells; empty if no other
      process can write to the folder.
  """

  path: epath.Path
  writer: str = ""
  _examples: examples_lib.Reader = dataclasses.field(
    default_factory=examples_lib.Reader, repr=False, compare=False
  )

  def __post_init__(self) -> None:
    """Convert any path."""
    object.__setattr__(self, "path", epath.Path(self.path))

  @property
  def config_path(self) -> epath.Path:
    """The path of the run's settings."""
    return self.path / "config.json"

  @property
  def table_path(self) -> epath.Path:
    """The path of the tidy table."""
    return self.path / "table.csv"

  @property
  def timing_path(self) -> epath.Path:
    """The path of the run's timing."""
    return self.path / "timing.json"

  @property
  def contents_path(self) -> epath.Path:
    """The path of hashes of files: `eval/run/execution/contents.py`."""
    return self.path / "contents.json"

  @property
  def reports(self) -> epath.Path:
    """The folder of the reports."""
    return self.path / "reports"

  @property
  def data(self) -> epath.Path:
    """The folder of TFDS sets, if the config names none."""
    return self.path / "data"

  def model_folder(self, label: str) -> epath.Path:
    """Return the folder of weights that the run trained."""
    return self.path / "models" / names.folder_name(label)

  def check_layout(self) -> None:
    """Refuse a folder with files that cannot be a workdir's.

    Raises:
      UserError: the message names the path.
    """
    if not paths.is_local(self.path):  # no folder is in a file's way there
      return
    if disk.exists(self.path) and not self.path.is_dir():
      raise errors.UserError(
        f"{self.path}: a workdir is a folder, and something else has that name."
        " Name another."
      )
    for kinds, names_of_kind in (("folder", _FOLDERS), ("file", _FILES)):
      for name in names_of_kind:
        path = self.path / name
        right = path.is_dir() if kinds == "folder" else path.is_file()
        if disk.exists(path) and not right:
          raise errors.UserError(
            f"{path}: a {kinds} of the workdir belongs here, and something else"
            " has that name. Move it away."
          )

  # The config.

  def config(self) -> ml_collections.ConfigDict:
    """Return the settings of the run.

    Raises:
      UserError: no workdir, one of another version, or a damaged config.json.
    """
    return _settings(config_file.read(self.config_path))

  def versions(self) -> dict[str, int]:
    """Return the versions of the layout (`workdir`) and of the pixels (`pixels`).

    Raises:
      UserError: no workdir, or one that cannot be read.
    """
    config = config_file.read(self.config_path, any_pixels=True)
    return dict(config["versions"])

  def claim(
    self, config: ml_collections.ConfigDict, pixels: int | None = None
  ) -> None:
    """Write config.json, or check that it is this run's.

    A config without finished cells is replaced, and what was made for it is
    removed.

    Args:
      pixels: version of the pixels of cells; the current one if None.

    Raises:
      UserError: the workdir belongs to another config (the message names what
        differs) or to another version, or labels cannot name folders.
    """
    self.check(config)
    if disk.exists(self.config_path) and not self._has_cells():
      self._make_room(config)
    with disk.writing(self.path):
      self.path.mkdir(parents=True, exist_ok=True)
    config_file.write(self.config_path, config, pixels)

  def check(self, config: ml_collections.ConfigDict) -> None:
    """Check that `claim` would accept the config; write nothing."""
    names.check_distinct(labels_of(config), "model")
    names.check_distinct(config.data.name.split(","), "dataset")
    self.check_layout()
    if disk.exists(self.config_path):
      if self._has_cells():
        config_file.check_same(self.config_path, config)
      else:
        config_file.read(self.config_path)

  def _has_cells(self) -> bool:
    """Return whether a cell was finished here, so that the config stays."""
    return next(self._folders(), None) is not None

  def _make_room(self, config: ml_collections.ConfigDict) -> None:
    """Remove what was made for another config that has no finished cell."""
    before = config_file.read(self.config_path)
    differ = config_file.differences(before, config_file.plain(config))
    if not differ:
      return
    for path in self._truth_paths:
      disk.remove(path)
    if any(key.startswith("model") for key in differ):  # weights it trained
      disk.remove(self.path / "models")

  # Cells.

  def cell_folder(self, cell: Cell) -> epath.Path:
    """Return the folder of a cell."""
    return predictions.folder(self.path / "cells", *cell.place)

  @property
  def examples(self) -> epath.Path:
    """The folder of the facts of examples, which cells share."""
    return self.path / examples_lib.FOLDER

  def done(self, cell: Cell) -> bool:
    """Return whether a cell is finished: its note, written last, exists."""
    return disk.exists(self.cell_folder(cell) / note_lib.FILE)

  def note(self, cell: Cell) -> note_lib.Note:
    """Return the note of a finished cell, with its own fingerprint.

    Raises:
      DamagedError: it is not a cell, or another one.
    """
    folder = self.cell_folder(cell)
    note = self._note(folder)
    same = cell.note()
    # Of other weights or data is not damaged: `columns` compares these.
    for name in ("fingerprint", "of_model", "data", "by"):
      same.pop(name, None)
    for field, expected in same.items():
      got = getattr(note, field)
      if got != expected:
        raise damage.DamagedError(
          f"{folder / note_lib.FILE}: {field}: got {got!r}, expected"
          f" {expected!r}",
          folder,
        )
    return note

  def example_columns(self, cell: Cell) -> dict[str, np.ndarray]:
    """Return the columns of a finished cell that are facts of its examples.

    Raises:
      DamagedError: see `columns`.
    """
    try:
      return self._examples.columns(self.examples, self.note(cell).examples)
    except errors.UserError as e:
      raise damage.DamagedError(str(e), self.cell_folder(cell)) from e

  def columns(self, cell: Cell) -> dict[str, np.ndarray]:
    """Return the predictions of a finished cell, read and checked.

    Columns of examples are read once for all cells and must not be changed.

    Raises:
      DamagedError: it was changed, or belongs to another cell.
    """
    folder = self.cell_folder(cell)
    note = self.note(cell)
    if note.fingerprint != cell.fingerprint:
      raise damage.DamagedError(
        f"{folder / note_lib.FILE}: fingerprint: got"
        f" {note.fingerprint!r}, expected"
        f" {cell.fingerprint!r}: the cell was replaced while it was read",
        folder,
      )
    try:
      example_columns = self._examples.columns(self.examples, note.examples)
      model_columns = predictions.outputs(folder, note)
      columns = predictions.together(folder, example_columns, model_columns)
      columns_lib.check_ranges(str(folder / predictions.FILE), columns)
      return columns
    except errors.UserError as e:
      raise damage.DamagedError(str(e), folder) from e

  def write_cell(
    self, cell: Cell, columns: predictions.Columns, split: str = ""
  ) -> dict[str, np.ndarray]:
    """Write a complete cell at once, which is then finished.

    Args:
      columns: columns of all its rows.
      split: name of what was read, see `note.Split`.

    Returns:
      The columns as they are read back.
    """
    self.check_writer()
    return predictions.finish(
      self.cell_folder(cell), self.examples, columns, cell.note(), split
    )

  def check_writer(self) -> None:
    """Refuse to continue after another run took over, see `lock.check`."""
    if self.writer:
      lock.check(self.path, self.writer)

  def cells(self) -> list[Cell]:
    """Return all finished cells: by model, then in the order of the conditions.

    Raises:
      DamagedError: one of them was changed. Other files than the notes are
        checked when `columns` reads them.
    """
    notes = {folder: self._note(folder) for folder in self._folders()}
    for folder, reason in damage.find_deviating_examples(notes):
      raise damage.DamagedError(reason, folder)
    listed = [_cell_of(folder, note) for folder, note in notes.items()]
    labels = self.labels()
    labels += sorted({c.model for c in listed} - set(labels))
    return sorted(
      listed,
      key=lambda c: (labels.index(c.model), *sort_key(c.condition), c.seed),
    )

  def check_cells(self) -> None:
    """Check notes, and only the sizes of files; `columns` reads them.

    Raises:
      DamagedError: the message names the first damaged part, and their number.
    """
    notes, damaged = {}, {}
    for folder in self._folders():
      try:
        note = self._note(folder)
        predictions.check(folder, note)
        notes[folder] = note
      except damage.DamagedError as e:
        damaged[folder] = e.reason
      except errors.UserError as e:
        damaged[folder] = str(e)
    missing_examples = damage.find_missing_examples(self.examples, notes)
    deviating_examples = damage.find_deviating_examples(notes)
    damaged = {**dict(missing_examples), **damaged, **dict(deviating_examples)}
    if damaged:
      path, reason = next(iter(damaged.items()))
      if len(damaged) > 1:
        reason = f"{reason.rstrip('.')} ({len(damaged):,} are damaged)"
      raise damage.DamagedError(reason, path)

  def has_cells(self) -> bool:
    """Return whether there is any cell."""
    return (self.path / "cells").is_dir()

  def _folders(self) -> Iterator[epath.Path]:
    """Yield the folders of finished cells, and other files in their place."""
    folders = disk.below(self.path / "cells", 4)
    for folder in folders:
      if _SEED.fullmatch(folder.name) and (
        disk.exists(folder / note_lib.FILE)
        or paths.is_local(folder)
        and not damage.is_folder(folder)
      ):
        yield folder

  def _note(self, folder: epath.Path) -> note_lib.Note:
    """Return the note in a folder, which must be the place of its cell."""
    damage.check_no_links(self.path, folder)
    try:
      note = note_lib.read(folder)
      its_folder = predictions.folder(self.path / "cells", *note.place)
    except errors.UserError as e:
      raise damage.DamagedError(str(e), folder) from e
    if its_folder != folder:
      raise damage.DamagedError(
        f"{folder}: holds the cell {' '.join(note.place)}, which belongs in"
        f" {its_folder}",
        folder,
      )
    return note

  def labels(self) -> list[str]:
    """Return the labels of the run's models, in the order of the config."""
    return labels_of(self.config())

  # Everything else.

  def truth(self) -> dict[str, Any] | None:
    """Return the ground truth that the run's cells are scored with, if it has one.

    Raises:
      DamagedError: it is not what was written.
    """
    path, mark = self._truth_paths
    if not disk.exists(mark):  # it is written last
      return None
    if not disk.exists(path):
      raise damage.DamagedError(f"{path}: gone, though {mark} is there", mark)
    try:
      if reading.text_file(mark).strip() != note_lib.file_sha256(path):
        raise errors.UserError(
          f"{path}: its checksum is not the recorded one ({mark.name})"
        )
      return reading.json_file(path)
    except errors.UserError as e:
      raise damage.DamagedError(str(e), mark) from e

  def write_truth(self, truth: Mapping[str, Any]) -> None:
    """Store the ground truth beside the cells."""
    path, mark = self._truth_paths
    disk.write_text(path, json.dumps(truth))
    disk.write_text(mark, note_lib.file_sha256(path) + "\n")

  @property
  def truth_sha256(self) -> str:
    """The sha256 of the ground truth; empty if the run has none."""
    _, mark = self._truth_paths
    return reading.text_file(mark).strip() if disk.exists(mark) else ""

  @property
  def _truth_paths(self) -> tuple[epath.Path, epath.Path]:
    """The paths of the ground truth and of its checksum."""
    return self.path / "truth.json", self.path / "truth.sha256"


@dataclasses.dataclass(frozen=True)
class ReadWorkdir(Workdir):
  """A workdir in which nothing is written.

  Pixels of another version are accepted.
  """

  def config(self) -> ml_collections.ConfigDict:
    """Return the settings of the run; see `Workdir.config`."""
    return _settings(config_file.read(self.config_path, any_pixels=True))

  def check_writer(self) -> None:
    """Refuse to write a cell."""
    raise errors.UserError(
      f"{self.path}: this workdir is read, and nothing is written in it."
    )


def _settings(config: Mapping[str, Any]) -> ml_collections.ConfigDict:
  """Return the settings of the run in config.json."""
  file_keys = ("versions", "checksum")
  return ml_collections.ConfigDict(
    {name: value for name, value in config.items() if name not in file_keys}
  )


def _cell_of(folder: epath.Path, note: note_lib.Note) -> Cell:
  """Return the cell of a note.

  Raises:
    UserError: its corruption is a user's own that is not registered here.
  """
  settings = note.data.settings if note.data else {}
  if note.kind == "pictures" and cell_facts.OWN in settings:
    where, sha256 = str(folder / note_lib.FILE), str(settings[cell_facts.OWN])
    own_corruptions.check_noted(where, note.corruption, sha256)
  try:
    return Cell.from_note(note)
  except errors.UserError as e:
    reason = f"{folder / note_lib.FILE}: {e}"
    raise damage.DamagedError(reason, folder) from e


def models_of(config: ml_collections.ConfigDict) -> dict[str, Mapping]:
  """Return label -> settings; empty for another program's models."""
  if "model" in config and config.model.get("name"):
    return {config.model.get("label") or config.model.name: config.model}
  models = config.get("models") or {}
  if hasattr(models, "items"):
    return dict(models.items())
  return {label: {} for label in models}


def labels_of(config: ml_collections.ConfigDict) -> list[str]:
  """Return the labels of a config's models."""
  return list(models_of(config))


def sort_key(condition: conditions.Condition) -> tuple[int, int]:
  """Return the sort key of a condition: clean first, then as in the papers."""
  if condition.clean:
    return -1, 0
  names = conditions.family(condition.kind).known_names
  return names.index(condition.name), condition.level
