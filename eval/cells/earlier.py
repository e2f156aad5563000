"""Workdirs to be read, those of earlier versions too; none of them is continued.

What each version wrote (`config_file.VERSION`):

version 2  no checksum anywhere. `predictions.npz` of a cell holds all columns as
           plain arrays, its note the cell's own fields alone; in the names of
           folders `-` stands for what is no letter, no digit and none of `._-+`
version 3  checksums in the notes (their version 1) and beside `truth.json`, of
           config.json only later; all columns in every cell still
version 4  of today: `eval/cells/workdir.py`

A reader of any of them gives what one of today gives: cells, and notes as today's
code would write them. What an earlier note does not say stays unknown. Pixels of
another version are a fact of a workdir then, and no reason to refuse it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import ml_collections
import numpy as np
import pydantic
from etils import epath

from robust_tfds import errors, reading
from robust_tfds.eval.cells import (
  checksums,
  config_file,
  damage,
  disk,
  predictions,
)
from robust_tfds.eval.cells import examples as examples_lib
from robust_tfds.eval.cells import note as note_lib
from robust_tfds.eval.cells.cell import Cell
from robust_tfds.eval.cells.workdir import Workdir
from robust_tfds.reading import limits
from robust_tfds.storage import paths

_STAY = "._-+"  # in names of folders of version 2
_REMEDY = (
  "No code makes this cell anew; move its folder away to read the others, or run"
  " again in a new --workdir"
)


class _Record(pydantic.BaseModel):
  model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True)


class _Note2(_Record):
  """The note of a cell of version 2."""

  model: Annotated[str, pydantic.Field(min_length=1)]
  dataset: Annotated[str, pydantic.Field(min_length=1)]
  config: str
  corruption: str
  severity: int
  kind: str
  seed: int
  fingerprint: str
  random: bool = False


class _Note3(_Note2):
  """The note of a cell of version 3, the first with checksums."""

  version: Literal[1]
  split: note_lib.Split
  files: dict[str, note_lib.File]
  checksum: str


def opened(path: epath.Path) -> ReadWorkdir:
  """A workdir of any version that can be read.

  Raises:
    UserError: no workdir, one of another version, or a damaged config.json.
  """
  version = config_file.read_earlier(epath.Path(path) / "config.json")
  kinds = {2: _Workdir2, 3: _Workdir3}
  return kinds.get(version["versions"]["workdir"], ReadWorkdir)(path)


@dataclasses.dataclass(frozen=True)
class ReadWorkdir(Workdir):
  """A workdir in which nothing is written."""

  def config(self) -> ml_collections.ConfigDict:
    """The settings of the run; see `Workdir.config`."""
    settings = config_file.read_earlier(self.config_path)
    for name in ("versions", "checksum"):
      settings.pop(name, None)
    return ml_collections.ConfigDict(settings)

  def check_writer(self) -> None:
    """Refuses to write a cell."""
    raise errors.UserError(
      f"{self.path}: this workdir is read, and nothing is written in it."
    )


@dataclasses.dataclass(frozen=True)
class _EarlierWorkdir(ReadWorkdir):
  """Cells that hold all their columns; subclasses read the notes.

  A note is known when the file beside it was read, which is done once.
  """

  _notes: dict[tuple, note_lib.Note] = dataclasses.field(
    default_factory=dict, repr=False, compare=False
  )

  def columns(self, cell: Cell) -> dict[str, np.ndarray]:
    """The predictions of a finished cell, see `Workdir.columns`."""
    folder = self.cell_folder(cell)
    note = self.note(cell)
    if note.fingerprint != cell.fingerprint:
      raise errors.UserError(
        f"{folder / note_lib.FILE}: fingerprint: got {note.fingerprint!r},"
        f" expected {cell.fingerprint!r}: the cell was replaced while it was"
        " read."
      )
    data = self._data(folder)
    if note_lib.File.of(data) != note.files[predictions.FILE]:
      raise _damaged(f"{folder / predictions.FILE}: changed while it was read")
    return self._unpacked(folder, data)

  def damaged(self) -> dict[epath.Path, str]:
    """What is damaged, see `Workdir.damaged`; nothing can be made anew."""
    out = {}
    for folder in self._folders():
      try:
        self._note(folder)
      except errors.UserError as e:
        out[folder] = str(e)
    return out

  def check_cells(self) -> None:
    """Reads all notes; see `Workdir.check_cells`."""
    for folder in self._folders():
      self._note(folder)

  def _note(self, folder: epath.Path) -> note_lib.Note:
    """The note that today's code would write of what lies in a folder."""
    damage.check_no_links(self.path, folder)
    files = [folder / name for name in (note_lib.FILE, predictions.FILE)]
    mark = str(folder), *(paths.states(files).values())
    try:
      if mark not in self._notes:
        self._notes[mark] = self._read_note(folder)
    except errors.UserError as e:
      raise _damaged(str(e)) from e
    return self._notes[mark]

  def _read_note(self, folder: epath.Path) -> note_lib.Note:
    raise NotImplementedError

  def _check_place(self, folder: epath.Path, note: _Note2) -> None:
    place = note.model, note.dataset, note.config, f"seed{note.seed}"
    its_folder = self._folder(*place)
    if its_folder != folder:
      raise errors.UserError(
        f"{folder}: holds the cell {' '.join(place)}, which belongs in"
        f" {its_folder}."
      )

  def _folder(self, *parts: str) -> epath.Path:
    """Where the cell of a place lies."""
    return predictions.folder(self.path / "cells", *parts)

  def _data(self, folder: epath.Path) -> bytes:
    path = folder / predictions.FILE
    return reading.file_bytes(path, limit=limits.ARRAY_BYTES)

  def _unpacked(self, folder: epath.Path, data: bytes) -> dict[str, np.ndarray]:
    """All columns, sorted by (example_id, frame)."""
    source = folder / predictions.FILE
    columns = reading.npz_bytes(data, str(source))
    for name in ("example_id", "group_id", "frame"):
      if name not in columns:
        raise _damaged(f"{source}: lacks the column {name}")
    rows = {name: values.shape[:1] for name, values in columns.items()}
    if len(set(rows.values())) != 1 or () in rows.values():
      raise _damaged(f"{source}: its columns have other numbers of rows")
    return predictions.sort(columns)


class _Workdir2(_EarlierWorkdir):
  """Before checksums: what can be read is what was written."""

  def _read_note(self, folder: epath.Path) -> note_lib.Note:
    path = folder / note_lib.FILE
    note = reading.records(reading.json_file(path), _Note2, str(path))
    self._check_place(folder, note)
    data = self._data(folder)
    columns = self._unpacked(folder, data)
    return _todays(note, "", data, columns)

  def cell_folder(self, cell: Cell) -> epath.Path:
    """Where a cell lies."""
    return self._folder(*cell.place)

  def _folder(self, *parts: str) -> epath.Path:
    names = (
      "".join(c if c.isalnum() or c in _STAY else "-" for c in part)
      for part in parts
    )
    return epath.Path(self.path / "cells").joinpath(*names)

  def truth(self) -> dict[str, Any] | None:
    """The ground truth that the run's cells are scored with, if it has one."""
    path, _ = self._truth_paths
    return reading.json_file(path) if disk.exists(path) else None

  @property
  def truth_sha256(self) -> str:
    """sha256 of the ground truth; empty where the run has none."""
    path, _ = self._truth_paths
    return note_lib.file_sha256(path) if disk.exists(path) else ""


class _Workdir3(_EarlierWorkdir):
  """Notes have checksums; every cell holds the facts of its examples."""

  def _read_note(self, folder: epath.Path) -> note_lib.Note:
    path = folder / note_lib.FILE
    value = reading.json_file(path)
    note = reading.records(value, _Note3, str(path))
    checksums.check(path, value)
    self._check_place(folder, note)
    if predictions.FILE not in note.files:
      raise errors.UserError(f"{path}: files: lacks {predictions.FILE}.")
    for name, file in note.files.items():
      note_lib.read_file(folder / name, file)
    data = self._data(folder)
    out = _todays(note, note.split.name, data, self._unpacked(folder, data))
    if (out.split.ids, out.split.rows) != (note.split.ids, note.split.rows):
      raise errors.UserError(
        f"{folder / predictions.FILE}: its examples are not those of {path}."
      )
    return out


def _todays(
  note: _Note2, split: str, data: bytes, columns: Mapping[str, np.ndarray]
) -> note_lib.Note:
  """The note that today's code would write, of the file that is there.

  The facts of examples lie in that file too.

  Args:
    note: that was written.
    split: name of the examples.
    data: of `predictions.npz`.
    columns: that it holds.
  """
  facts = note.model_dump(include=set(_Note2.model_fields))
  file = note_lib.File.of(data)
  examples = note_lib.split_of(
    split, columns["example_id"], examples_lib.labels(columns)
  )
  return note_lib.make(facts, examples, {predictions.FILE: file}, file)


def _damaged(reason: str) -> errors.UserError:
  """A refusal with what to do, once."""
  reason = reason.rstrip(".")
  return errors.UserError(
    f"{reason}." if _REMEDY in reason else f"{reason}. {_REMEDY}."
  )
