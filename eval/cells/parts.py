"""Parts: what a run has of its cells before it has the cells.

A run goes by blocks of examples over all its conditions and models, so no cell is
whole before the last block. Each block becomes one file, which holds the rows of
all its cells; a run that was stopped reads again only what no part holds. When
all are there, cells are assembled from them, and the parts are removed.

  parts/<cells>/rows-<first>-<last>-host-<i>-of-<n>.npz

`<cells>` is a hash of the cells that the run makes of one source, with their
fingerprints; rows are numbers within the host's share of the set. In a part,
`about` says what it is, `<chunk>/examples/<column>` is of the examples, and
`<chunk>/<number>/<column>` of the cell of that number in `about`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from etils import epath

from robust_tfds import errors, reading
from robust_tfds.eval.cells import disk, packed, predictions
from robust_tfds.eval.cells.cell import Cell
from robust_tfds.eval.cells.workdir import Workdir
from robust_tfds.storage import paths

FOLDER = "parts"
_VERSION = 1
_NAME = re.compile(r"rows-(\d+)-(\d+)-host-(\d+)-of-(\d+)\.npz")
_MOST_BYTES = 128 << 20  # of cells that are assembled at once

Range = tuple[int, int]


@dataclasses.dataclass(frozen=True, order=True)
class _Name:
  """What the name of a part says."""

  first: int
  last: int
  host: int
  hosts: int

  def __str__(self) -> str:
    return (
      f"rows-{self.first:09d}-{self.last:09d}"
      f"-host-{self.host}-of-{self.hosts}.npz"
    )


class Parts:
  """The parts of the cells that one run makes of one source."""

  def __init__(
    self, workdir: Workdir, cells: Sequence[Cell], host: int = 0, hosts: int = 1
  ):
    """Touches nothing yet.

    Args:
      workdir: where they lie.
      cells: all cells that the run makes of the source, finished ones too: the
        same for a run that was stopped and the one that continues it.
      host: number of this host.
      hosts: how many there are.
    """
    listed = [_facts(cell) for cell in cells]
    text = json.dumps(sorted(listed), separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    self._workdir, self._host, self._hosts = workdir, host, hosts
    self._folder = workdir.path / FOLDER / digest
    self._places = {"/".join(cell.place) for cell in cells}

  def prepare(self, cells: Sequence[Cell]) -> None:
    """Removes what cannot be used; one host does it before all look.

    Args:
      cells: that are not finished.
    """
    expected = {_key(cell) for cell in cells}
    with disk.writing(self._folder):
      self._folder.mkdir(parents=True, exist_ok=True)
      disk.remove_temporary(self._folder)
      for path in disk.below(self._folder, 1):
        name = _parse(path.name)
        usable = name is not None and name.hosts == self._hosts
        if not usable or not expected <= self._cells_of(path):
          disk.remove(path)
      whole = self._whole()
      for name in self._names():
        if (name.first, name.last) not in whole:
          # Blocks may have other sizes now: no row may be in two parts.
          disk.remove(self._folder / str(name))
      self._remove_left()

  def _remove_left(self) -> None:
    for folder in disk.below(self._folder.parent, 1):
      if folder != self._folder and self._is_left(folder):
        disk.remove(folder)

  def _is_left(self, folder: epath.Path) -> bool:
    """Whether other parts are of these cells too, and so of no run that lives.

    Such as those of a shard that was stopped, where the whole run goes on: who
    makes a cell holds its lock, see `lock.py`.
    """
    return any(
      not self._places.isdisjoint(key.rpartition("/")[0] for key in keys)
      for keys in map(self._cells_of, disk.below(folder, 1))
    )

  def remaining(self, rows: int) -> list[Range]:
    """Ranges of this host's rows that some host has no part of.

    Args:
      rows: of the largest share, from 0.
    """
    out, place = [], 0
    for first, last in sorted(self._whole()):
      if first > place:
        out.append((place, first))
      place = max(place, last)
    if place < rows:
      out.append((place, rows))
    return out

  @contextlib.contextmanager
  def writing(
    self, block: Range, cells: Sequence[Cell]
  ) -> Iterator[PartWriter]:
    """Writes a part; it is there when the context ends without an error.

    Raises:
      DiskError: it could not be written.
      UserError: another run took over the cells.
    """
    self._workdir.check_writer()
    name = str(_Name(*block, self._host, self._hosts))
    with disk.whole_file(self._folder / name) as file:
      with zipfile.ZipFile(file, "w") as archive:
        yield PartWriter(archive, cells)
      self._workdir.check_writer()

  def cells(
    self, cells: Sequence[Cell]
  ) -> Iterator[tuple[Cell, dict[str, np.ndarray]]]:
    """Cells and all their rows, of all hosts; some cells at a time.

    Raises:
      UserError: a damaged part, which is removed.
    """
    whole = self._whole()
    names = sorted(
      n
      for n in self._names()
      if n.hosts == self._hosts and (n.first, n.last) in whole
    )
    size = sum(paths.state(self._folder / str(n)).size for n in names)
    each = max(size // max(len(cells), 1), 1)
    step = max(_MOST_BYTES // each, 1)
    for start in range(0, len(cells), step):
      yield from self._join(names, cells[start : start + step])

  def remove(self) -> None:
    """Removes all parts, when the cells are finished.

    Those of other runs over these cells too, such as a shard's that was killed.
    """
    disk.remove(self._folder)
    self._remove_left()
    disk.remove_empty(self._folder.parent)

  def remove_empty(self) -> None:
    """Removes the folder of a run that stops, if no part is in it."""
    disk.remove_empty(self._folder)
    disk.remove_empty(self._folder.parent)

  def _whole(self) -> set[Range]:
    """Ranges of which every host has a part; no row is in two of them.

    A run that lost its lock while it wrote may leave a part that overlaps.
    """
    names = [n for n in self._names() if n.hosts == self._hosts]
    of_hosts = [
      {(n.first, n.last) for n in names if n.host == host}
      for host in range(self._hosts)
    ]
    out: set[Range] = set()
    place = 0
    for first, last in sorted(set.intersection(*of_hosts)):
      if first >= place:
        out.add((first, last))
        place = last
    return out

  def _join(
    self, names: Sequence[_Name], cells: Sequence[Cell]
  ) -> Iterator[tuple[Cell, dict[str, np.ndarray]]]:
    chunks: dict[Cell, list[dict[str, np.ndarray]]] = {c: [] for c in cells}
    for name in names:
      for cell, columns in self._read(self._folder / str(name), cells):
        chunks[cell].append(columns)
    for cell in cells:
      yield cell, predictions.concatenate(chunks.pop(cell))

  def _read(
    self, path: epath.Path, cells: Sequence[Cell]
  ) -> Iterator[tuple[Cell, dict[str, np.ndarray]]]:
    """Cells and their rows of each chunk of a part."""
    try:
      number_of = {key: i for i, key in enumerate(_about(path))}
      numbers = {cell: number_of[_key(cell)] for cell in cells}
      subjects = {"examples", *map(str, numbers.values())}
      arrays = reading.npz_file(path, lambda name: _subject(name) in subjects)
    except (errors.UserError, KeyError) as e:
      disk.remove(path)
      raise errors.UserError(
        f"{path}: damaged since it was written ({e}), and removed. Run the same"
        " command again: it makes these examples anew."
      ) from e
    chunks = dict.fromkeys(name.split("/")[0] for name in arrays)
    for chunk in chunks:
      # Once for all cells: wide texts are most of the bytes.
      examples = packed.unpack(_columns(arrays, f"{chunk}/examples/"))
      for cell, number in numbers.items():
        outputs = _columns(arrays, f"{chunk}/{number}/")
        yield cell, {**examples, **packed.unpack(outputs)}

  def _names(self) -> list[_Name]:
    names = [_parse(path.name) for path in disk.below(self._folder, 1)]
    return [name for name in names if name is not None]

  def _cells_of(self, path: epath.Path) -> set[str]:
    """Keys of the cells that a part holds; none of a damaged one."""
    try:
      return set(_about(path))
    except errors.UserError:
      return set()


class PartWriter:
  """Writes the rows of some batches at a time into one part."""

  def __init__(self, archive: zipfile.ZipFile, cells: Sequence[Cell]):
    """Writes what the part is.

    Args:
      archive: the open part.
      cells: of which all rows will follow.
    """
    self._archive = archive
    self._numbers = {cell: i for i, cell in enumerate(cells)}
    self._chunks = 0
    about = {"version": _VERSION, "cells": [_key(cell) for cell in cells]}
    data = np.frombuffer(json.dumps(about).encode(), np.uint8)
    packed.write(archive, "about", data)

  def chunk(
    self,
    examples: predictions.Columns,
    outputs: Mapping[Cell, predictions.Columns],
  ) -> None:
    """Writes the rows of some examples.

    Args:
      examples: columns that all cells have in common.
      outputs: of every cell.
    """
    prefix = f"{self._chunks:05d}"
    for name, array in packed.pack(examples).items():
      packed.write(self._archive, f"{prefix}/examples/{name}", array)
    for cell, columns in outputs.items():
      for name, array in packed.pack(columns).items():
        place = f"{prefix}/{self._numbers[cell]}/{name}"
        packed.write(self._archive, place, array)
    self._chunks += 1


def _about(path: epath.Path) -> list[str]:
  """Keys of the cells of a part, by number.

  Raises:
    UserError: it is not a part.
  """
  about = reading.npz_file(path, lambda name: name == "about").get("about")
  if about is None:
    raise errors.UserError(f"{path}: lacks 'about'.")
  value = reading.json_text(about.tobytes(), f"{path}: about")
  if not isinstance(value, dict) or value.get("version") != _VERSION:
    raise errors.UserError(f"{path}: of another version.")
  return list(value["cells"])


def _parse(name: str) -> _Name | None:
  match = _NAME.fullmatch(name)
  return _Name(*map(int, match.groups())) if match else None


def _facts(cell: Cell) -> list[str]:
  return [*cell.place, cell.fingerprint]


def _key(cell: Cell) -> str:
  return "/".join(_facts(cell))


def _subject(name: str) -> str:
  """`examples`, or the number of the cell, of an array's name."""
  parts = name.split("/")
  return parts[1] if len(parts) == 3 else ""


def _columns(
  arrays: Mapping[str, np.ndarray], prefix: str
) -> dict[str, np.ndarray]:
  return {
    name.removeprefix(prefix): array
    for name, array in arrays.items()
    if name.startswith(prefix)
  }
