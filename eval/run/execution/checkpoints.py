"""Checkpoints of models that adapt, written after each whole block of a pass.

A stopped pass goes on from the last one, and shows at most one block again.

  streams/<cells>-rows-<rows>.npz

`<cells>` is a hash of the pass's cells, `<rows>` are the rows that were shown; an
array is named by the number of its model, its condition and its place.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from eval.cells.cell import Cell
from eval.cells.files import parts as parts_lib
from eval.cells.workdir import Workdir
from eval.pipeline import adapting
from robust_tfds import reading
from robust_tfds.storage import disk, npz

FOLDER = "streams"
Models = Mapping[str, adapting.AdaptingPredictor]


def digest(cells: Sequence[Cell]) -> str:
  """Return the name of some cells' files."""
  marks = sorted({c.fingerprint for c in cells})
  return hashlib.sha256(" ".join(marks).encode()).hexdigest()[:16]


def write(workdir: Workdir, name: str, arrays: Mapping[str, Any]) -> None:
  """Write states atomically below `streams/`."""
  folder = workdir.path / FOLDER
  with disk.writing(folder):
    disk.make_folder(folder)
    disk.write_bytes(folder / name, npz.archived(jax.device_get(dict(arrays))))


class Checkpoints:
  """The checkpoints of one pass, of which the disk holds only the last."""

  def __init__(self, workdir: Workdir, cells: Sequence[Cell], models: Models):
    """Create the checkpoints without touching the disk.

    Args:
      workdir: the run's workdir.
      cells: all cells that the run makes from the source.
      models: label -> model, of those that adapt and have unfinished cells.
    """
    self._workdir, self._models = workdir, models
    self._labels = list(dict.fromkeys(c.model for c in cells))
    name = re.escape(digest(cells))
    self._name = re.compile(rf"{name}-rows-(\d+)\.npz")
    self._first = f"{digest(cells)}-rows-"
    self.rows = 0

  def go_back(
    self, parts: parts_lib.Parts, missing: Sequence[Cell], share: int
  ) -> None:
    """Continue from the last checkpoint, else from the beginning of the stream.

    Args:
      parts: the parts; those with rows that will be shown again are removed.
      missing: cells that are not finished.
      share: number of rows of the pass.
    """
    self.rows = max(self._saved_rows(), default=0)
    parts.prepare(missing)
    parts.look()
    parts.remove_from(self.rows)
    if any(
      first < self.rows for (first, _), _ in parts.remaining(share, missing)
    ):
      self.rows = 0
      parts.remove_from(0)
    if not self.rows:
      return
    arrays = reading.npz_file(self._path(self.rows))
    for label, model in self._models.items():
      start = f"{self._labels.index(label)}/"
      model.restore(
        {
          name.removeprefix(start): array
          for name, array in arrays.items()
          if name.startswith(start)
        }
      )

  def take(self, rows: int) -> Callable[[], None]:
    """Copy the states; return a function that writes them as those after `rows`."""
    states = {
      f"{self._labels.index(label)}/{name}": array
      for label, model in self._models.items()
      for name, array in model.save().items()
    }
    return functools.partial(self._write, rows, states)

  def remove(self) -> None:
    """Remove the last checkpoint, since the cells are finished."""
    for rows in self._saved_rows():
      disk.remove(self._path(rows))
    disk.remove_empty(self._workdir.path / FOLDER)

  def _write(self, rows: int, states: Mapping[str, Any]) -> None:
    before = self._saved_rows()
    write(self._workdir, self._path(rows).name, states)
    self.rows = rows
    for old in before:
      disk.remove(self._path(old))

  def _path(self, rows: int) -> Any:
    return self._workdir.path / FOLDER / f"{self._first}{rows:09d}.npz"

  def _saved_rows(self) -> list[int]:
    """Return the row numbers of the checkpoints on the disk."""
    folder = self._workdir.path / FOLDER
    found = (self._name.fullmatch(p.name) for p in disk.below(folder, 1))
    return [int(match[1]) for match in found if match]
