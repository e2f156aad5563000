"""Predictions on disk: one folder per finished cell.

A cell's folder holds `predictions.npz` (no pickles) and its note
(`eval/results/note.py`). It is made in a folder of the run that makes it and
renamed into place when whole. Rows are sorted by (example_id, frame): neither the
batch size nor the number of hosts changes a byte.

Classification columns, one row per example:

  example_id  str         the example's stable id
  group_id    str         sequence, clip or anchor set; the id itself for images
  frame       int32       0 for images
  label       int32       the true class
  top5        int32 [5]   class ids, best first, ties by lower id; -1 pads models
                          of fewer than five classes
  score       float32 [5] their softmax probabilities; 0 pads

Other tasks add columns of their own (`columns` of each in `eval/tasks/`).
"""

from __future__ import annotations

import os
import pathlib
import shutil
import zipfile
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np

from robust_tfds import errors
from robust_tfds import reading
from robust_tfds.eval.results import disk
from robust_tfds.eval.results import names
from robust_tfds.eval.results import note as note_lib

COLUMNS = ("example_id", "group_id", "frame", "label", "top5", "score")
FILE = "predictions.npz"

Columns = Mapping[str, np.ndarray]


def folder(root: pathlib.Path, *parts: str) -> pathlib.Path:
  """A cell's folder; see `eval/results/names.py`."""
  return root.joinpath(*map(names.folder_name, parts))


def write_shard(
  unfinished: pathlib.Path, columns: Columns, index: int, count: int
) -> None:
  """Writes one host's rows of a cell that is not finished.

  Raises:
    DiskError: the rows could not be written.
  """
  with disk.writing(unfinished):
    unfinished.mkdir(parents=True, exist_ok=True)
    _save(_shard(unfinished, index, count), columns)


def merge(unfinished: pathlib.Path, count: int) -> dict[str, np.ndarray]:
  """The rows of all hosts, which are removed from the disk.

  Raises:
    FileNotFoundError: a host's shard is missing.
  """
  paths = [_shard(unfinished, index, count) for index in range(count)]
  for index, path in enumerate(paths):
    if not path.exists():
      raise FileNotFoundError(
        f"{path} is missing: process {index} of {count} did not write its"
        " predictions. All hosts need the same --workdir on a shared disk."
      )
  shards = [reading.npz_file(path) for path in paths]
  with disk.writing(unfinished):
    shutil.rmtree(unfinished)
  return concatenate(shards)


def finish(
  cell: pathlib.Path,
  unfinished: pathlib.Path,
  columns: Columns,
  facts: Mapping[str, object],
  split: str = "",
) -> dict[str, np.ndarray]:
  """Writes a whole cell; it is done then.

  Args:
    cell: its folder.
    unfinished: where it is made.
    columns: of all its rows, in any order.
    facts: what `Cell.note` says.
    split: name of what was read, see `note.Split`.

  Returns:
    The columns in the order of their ids, as `read` would return them.

  Raises:
    UserError: two rows with the same (example_id, frame).
    DiskError: the cell could not be written; it stays unfinished.
  """
  columns = sort(columns)
  with disk.writing(cell):
    unfinished.mkdir(parents=True, exist_ok=True)
    _save(unfinished / FILE, columns)
    examples = note_lib.split_of(split, columns["example_id"])
    note = note_lib.make(facts, examples, unfinished)
    disk.write_text(unfinished / note_lib.FILE, note_lib.dumps(note))
    cell.parent.mkdir(parents=True, exist_ok=True)
    os.replace(unfinished, cell)
  return columns


def sort(columns: Columns) -> dict[str, np.ndarray]:
  """Rows in the order of (example_id, frame); duplicates are an error."""
  ids, frames = columns["example_id"], columns["frame"]
  order = np.lexsort((frames, ids))
  same = (ids[order][1:] == ids[order][:-1]) & (
    frames[order][1:] == frames[order][:-1]
  )
  if same.any():
    twice = str(ids[order][1:][same][0])
    raise errors.UserError(
      f"Example {twice!r} has more than one prediction in a cell; each"
      " (example_id, frame) must occur once."
    )
  return {k: v[order] for k, v in columns.items()}


def check(cell: pathlib.Path, note: note_lib.Note) -> None:
  """Refuses a finished cell whose files are not those of its note.

  Raises:
    UserError: names the file.
  """
  if FILE not in note.files:
    raise errors.UserError(f"{cell / note_lib.FILE}: files: lacks {FILE}.")
  note_lib.check_files(cell, note)


def read(cell: pathlib.Path) -> tuple[dict[str, np.ndarray], note_lib.Note]:
  """Columns and note of a finished cell, the one held against the other.

  Raises:
    UserError: a damaged cell; names the file, and the field of the note.
  """
  note = note_lib.read(cell)
  return columns(cell, note), note


def columns(cell: pathlib.Path, note: note_lib.Note) -> dict[str, np.ndarray]:
  """Columns of a finished cell of which the note is known.

  Raises:
    UserError: its files are not those of the note; names the file.
  """
  check(cell, note)
  return reading.npz_file(cell / FILE)


def concatenate(parts: Iterable[Columns]) -> dict[str, np.ndarray]:
  """Rows of several batches, one after the other."""
  listed: Sequence[Columns] = list(parts)
  return {k: np.concatenate([p[k] for p in listed]) for k in listed[0]}


def _shard(unfinished: pathlib.Path, index: int, count: int) -> pathlib.Path:
  return unfinished / f"shard-{index:05d}-of-{count:05d}.npz"


def _save(path: pathlib.Path, columns: Columns) -> None:
  """np.savez without the time of day, so that equal rows are equal bytes."""
  with open(path, "wb") as f:
    with zipfile.ZipFile(f, "w") as archive:
      for name, array in columns.items():
        member = zipfile.ZipInfo(f"{name}.npy")
        with archive.open(member, "w", force_zip64=True) as out:
          np.lib.format.write_array(out, array, allow_pickle=False)
    f.flush()
    os.fsync(f.fileno())
