"""Parts: the results of a run before its cells are complete.

A run iterates over blocks of examples, within a block over conditions, within a
condition over batches. Every few seconds new results are written as a part: the
rows of some cells, of some batches of one block. A resumed run only computes
what no part holds. Cells are assembled from the parts, which are removed when
all cells are done.

  parts/<cells>/rows-<first>-<last>-<number>-host-<i>-of-<n>.npz

`<cells>` is a hash of the cells that the run makes of one source, with their
fingerprints; rows are numbers within the host's share of the set. In a part,
`about` says what it is (`_About`), `examples/<column>` is of the examples of its
batches, and `<number>/<column>` of the cell of that number in `about`.
"""

import dataclasses
import hashlib
import itertools
import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from etils import epath

from eval.cells.cell import Cell
from eval.cells.files import packed, predictions
from eval.cells.workdir import Workdir
from robust_tfds import errors, reading
from robust_tfds.records import Record
from robust_tfds.storage import disk, npz, paths

FOLDER = "parts"
_VERSION = 2
_NAME = re.compile(r"rows-(\d+)-(\d+)-(\d+)-host-(\d+)-of-(\d+)\.npz")
_MAX_BYTES = 128 << 20  # limit of the cells that are assembled at once

Range = tuple[int, int]
# Rows, and the cells that do not have them.
Missing = tuple[Range, Sequence[Cell]]
# Number of a batch within its block -> its rows.
Batches = Mapping[int, predictions.Columns]


@dataclasses.dataclass(frozen=True, order=True)
class _Name:
  """The content of a part's file name."""

  first: int
  last: int
  number: int
  host: int
  hosts: int

  def __str__(self) -> str:
    return (
      f"rows-{self.first:09d}-{self.last:09d}-{self.number:05d}"
      f"-host-{self.host}-of-{self.hosts}.npz"
    )

  @property
  def block(self) -> Range:
    return self.first, self.last


class _About(Record):
  """The description of a part inside it.

  Attributes:
    version: `_VERSION`.
    cut: what batches of a block depend on: (rows of a batch, bytes of a block).
    count: number of batches of the block; 0: not counted yet.
    numbers: numbers of the batches in this part, ascending.
    rows: number of rows of each of them.
    cells: key of a cell -> numbers of the batches that the part has for it.
  """

  version: int
  cut: list[int]
  count: int
  numbers: list[int]
  rows: list[int]
  cells: dict[str, list[int]]

  def places(
    self, key: str, skipped: set[int]
  ) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of a cell's rows in this part, without those of some batches.

    Returns:
      Places among the examples, and among the cell's own rows.
    """
    rows = dict(zip(self.numbers, self.rows))
    ends = dict(zip(self.numbers, itertools.accumulate(self.rows)))
    example_places, cell_places, place = [], [], 0
    for number in self.cells[key]:
      count = rows[number]
      if number not in skipped:
        example_places.append(np.arange(ends[number] - count, ends[number]))
        cell_places.append(np.arange(place, place + count))
      place += count
    none = np.zeros(0, np.int64)
    return np.concatenate([none, *example_places]), np.concatenate(
      [none, *cell_places]
    )


class Parts:
  """The parts of the cells that one run makes of one source."""

  def __init__(
    self,
    workdir: Workdir,
    cells: Sequence[Cell],
    host: int = 0,
    hosts: int = 1,
    cut: Sequence[int] = (0, 0),
  ):
    """Create it without touching the disk.

    Args:
      workdir: the workdir of the parts.
      cells: all cells that the run makes of the source, with finished ones: the
        same for a stopped run and the one that continues it.
      host: number of this host.
      hosts: number of hosts.
      cut: see `_About`. Only complete blocks that were cut differently are
        used.
    """
    listed = [_facts(cell) for cell in cells]
    text = json.dumps(sorted(listed), separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    self._workdir, self._host, self._hosts = workdir, host, hosts
    self._folder = workdir.path / FOLDER / digest
    self._places = {"/".join(cell.place) for cell in cells}
    self._cut = list(cut)
    self._held: dict[_Name, _About] = {}

  def prepare(self, cells: Sequence[Cell]) -> None:
    """Remove unusable parts; one host does it before all hosts look.

    Args:
      cells: the unfinished cells.
    """
    expected = {_key(cell) for cell in cells}
    with disk.writing(self._folder):
      disk.make_folder(self._folder)
      disk.remove_temporary(self._folder)
      for path in disk.below(self._folder, 1):
        name = _parse(path.name)
        held = (
          self._cells_of(path) if name and name.hosts == self._hosts else None
        )
        # None at all: it tells how many batches its block has.
        if held is None or held and expected.isdisjoint(held):
          disk.remove(path)
      self._remove_left()

  def _remove_left(self) -> None:
    for folder in disk.below(self._folder.parent, 1):
      if folder != self._folder and self._is_left(folder):
        disk.remove(folder)

  def _is_left(self, folder: epath.Path) -> bool:
    """Return whether other parts have these cells too, and so are from a stopped run.

    An example are the parts of a shard if the whole run continues.
    """
    return any(
      not self._places.isdisjoint(key.rpartition("/")[0] for key in keys or ())
      for keys in map(self._cells_of, disk.below(folder, 1))
    )

  def look(self) -> None:
    """Read the descriptions of all hosts' parts; later ones are not noticed."""
    self._held = {}
    for path in disk.below(self._folder, 1):
      name = _parse(path.name)
      if name is not None and name.hosts == self._hosts:
        self._held[name] = _about(path)

  def remove_from(self, row: int) -> None:
    """Remove the parts with rows from this one on."""
    for name in [name for name in self._held if name.last > row]:
      disk.remove(self._folder / str(name))
      del self._held[name]

  def remaining(self, rows: int, cells: Sequence[Cell]) -> list[Missing]:
    """Return ranges of this host's rows, and the cells that some host has not made.

    Incomplete blocks count as missing: see `made`.

    Args:
      rows: rows of the largest share, from 0.
      cells: the unfinished cells.
    """
    missing = {cell: self._missing(cell, rows) for cell in cells}
    points = {p for ranges in missing.values() for r in ranges for p in r}
    out: list[Missing] = []
    for first, last in itertools.pairwise(sorted(points)):
      unfinished = [
        c
        for c, ranges in missing.items()
        if any(a <= first < b for a, b in ranges)
      ]
      if out and out[-1][0][1] == first and out[-1][1] == unfinished:
        out[-1] = (out[-1][0][0], last), unfinished
      elif unfinished:
        out.append(((first, last), unfinished))
    return out

  def is_whole(self, cell: Cell, rows: int) -> bool:
    """Return whether all rows of a cell are in parts.

    Args:
      rows: see `remaining`.
    """
    return not self._missing(cell, rows)

  def _missing(self, cell: Cell, rows: int) -> list[Range]:
    out, place = [], 0
    for first, last in [*self._whole_blocks(_key(cell)), (rows, rows)]:
      if first > place:
        out.append((place, first))
      place = last
    return out

  def made(self, block: Range, cell: Cell) -> set[int]:
    """Return the numbers of a block's batches that all hosts have of a cell."""
    key = _key(cell)
    host_numbers = [
      {
        number
        for name, about in self._held.items()
        if name.block == block and name.host == host and about.cut == self._cut
        for number in about.cells.get(key, ())
      }
      for host in range(self._hosts)
    ]
    return set.intersection(*host_numbers)

  def rows_of(self, cell: Cell) -> int:
    """Return how many of this host's rows of a cell need not be made again."""
    key, seen, total = _key(cell), set(), 0
    whole = self._whole_blocks(key)
    for name, about in sorted(self._held.items(), key=lambda item: item[0]):
      usable = name in whole.get(name.block, ()) or about.cut == self._cut
      if name.host == self._host and usable:
        for number, rows in zip(about.numbers, about.rows):
          unit = (name.block, number)
          if number in about.cells.get(key, ()) and unit not in seen:
            seen.add(unit)
            total += rows
    return total

  def write(
    self,
    block: Range,
    count: int,
    examples: Batches,
    outputs: Mapping[Cell, Batches],
  ) -> None:
    """Write a part atomically.

    Args:
      block: the block of the rows.
      count: number of batches of the block; 0: not known yet.
      examples: columns that all cells have in common.
      outputs: outputs of cells, for some of these batches.

    Raises:
      DiskError: it could not be written.
      UserError: another run took over the cells.
    """
    self._workdir.check_writer()
    block_numbers = [n.number for n in tuple(self._held) if n.block == block]
    name = _Name(
      *block, max(block_numbers, default=-1) + 1, self._host, self._hosts
    )
    about = _About(
      version=_VERSION,
      cut=self._cut,
      count=count,
      numbers=sorted(examples),
      rows=[len(examples[n]["example_id"]) for n in sorted(examples)],
      cells={_key(cell): sorted(each) for cell, each in outputs.items()},
    )
    with disk.whole_file(self._folder / str(name)) as file:
      with zipfile.ZipFile(file, "w") as archive:
        data = np.frombuffer(about.model_dump_json().encode(), np.uint8)
        npz.write(archive, "about", data)
        _write_columns(archive, "examples", examples)
        for number, batches in enumerate(outputs.values()):
          _write_columns(archive, str(number), batches)
      self._workdir.check_writer()
    self._held[name] = about

  def cells(
    self, cells: Sequence[Cell]
  ) -> Iterator[tuple[Cell, dict[str, np.ndarray]]]:
    """Yield complete cells with all their rows, of all hosts; some cells at a time.

    Raises:
      UserError: a damaged part, which is removed.
    """
    names = {n for cell in cells for n in self._names_of(_key(cell))}
    size = sum(paths.state(self._folder / str(n)).size for n in names)
    each = max(size // max(len(cells), 1), 1)
    step = max(_MAX_BYTES // each, 1)
    for start in range(0, len(cells), step):
      yield from self._join(cells[start : start + step])

  def remove(self) -> None:
    """Remove all parts after the cells are finished.

    Parts of other runs over these cells are removed too, e.g. of a killed
    shard.
    """
    disk.remove(self._folder)
    self._remove_left()
    disk.remove_empty(self._folder.parent)

  def remove_empty(self) -> None:
    """Remove the folder of a stopped run if no part is in it."""
    disk.remove_empty(self._folder)
    disk.remove_empty(self._folder.parent)

  def _whole_blocks(self, key: str) -> dict[Range, list[_Name]]:
    """Return the blocks that all hosts have of a cell; no row is in two of them.

    A run with other block sizes, or one that lost its lock while writing, may
    leave overlapping parts.
    """
    groups: dict[tuple[Range, tuple[int, ...]], list[_Name]] = {}
    for name, about in tuple(self._held.items()):
      groups.setdefault((name.block, tuple(about.cut)), []).append(name)
    out: dict[Range, list[_Name]] = {}
    place = 0
    for (block, _), names in sorted(groups.items()):
      if block[0] >= place and self._have_all(key, names):
        out[block] = sorted(n for n in names if key in self._held[n].cells)
        place = block[1]
    return out

  def _have_all(self, key: str, names: Sequence[_Name]) -> bool:
    """Return whether every host has a cell's batches of a block in these parts."""
    for host in range(self._hosts):
      host_parts = [self._held[n] for n in names if n.host == host]
      count = max((about.count for about in host_parts), default=0)
      numbers = {n for about in host_parts for n in about.cells.get(key, ())}
      if not count or len(numbers) < count:
        return False
    return True

  def _names_of(self, key: str) -> list[_Name]:
    """Return the parts that a cell is assembled from."""
    return [
      name for names in self._whole_blocks(key).values() for name in names
    ]

  def _join(
    self, cells: Sequence[Cell]
  ) -> Iterator[tuple[Cell, dict[str, np.ndarray]]]:
    parts: dict[_Name, list[Cell]] = {}
    for cell in cells:
      for name in self._names_of(_key(cell)):
        parts.setdefault(name, []).append(cell)
    rows: dict[Cell, list[dict[str, np.ndarray]]] = {c: [] for c in cells}
    seen: dict[tuple[Cell, Range, int], set[int]] = {}
    for name, of_part in sorted(parts.items(), key=lambda item: item[0]):
      about = self._held[name]
      examples, outputs = self._read(name, of_part)
      for cell in of_part:
        before = seen.setdefault((cell, name.block, name.host), set())
        places = about.places(_key(cell), before)
        before.update(about.cells[_key(cell)])
        columns = (examples, places[0]), (outputs[cell], places[1])
        rows[cell].append({k: v[p] for c, p in columns for k, v in c.items()})
    for cell in cells:
      yield cell, predictions.concatenate(rows.pop(cell))

  def _read(
    self, name: _Name, cells: Sequence[Cell]
  ) -> tuple[predictions.Columns, dict[Cell, predictions.Columns]]:
    """Return the columns of a part's examples, and of cells."""
    path, about = self._folder / str(name), self._held[name]
    numbers = {key: i for i, key in enumerate(about.cells)}
    number_by_cell = {cell: str(numbers[_key(cell)]) for cell in cells}
    subjects = {"examples", *number_by_cell.values()}
    try:
      arrays = reading.npz_file(path, lambda n: n.split("/")[0] in subjects)
      return _columns(arrays, "examples"), {
        cell: _columns(arrays, number)
        for cell, number in number_by_cell.items()
      }
    except (errors.UserError, KeyError) as e:
      disk.remove(path)
      raise errors.UserError(
        f"{path}: damaged since it was written ({e}), and removed. Run the same"
        " command again: it computes these examples again."
      ) from e

  def _cells_of(self, path: epath.Path) -> set[str] | None:
    """Return the keys of the cells in a part; None if it is damaged."""
    try:
      return set(_about(path).cells)
    except errors.UserError:
      return None


def _write_columns(
  archive: zipfile.ZipFile, subject: str, batches: Batches
) -> None:
  """Write the columns of batches, one after the other."""
  if not batches:
    return
  columns = predictions.concatenate([batches[n] for n in sorted(batches)])
  for name, array in packed.pack(columns).items():
    npz.write(archive, f"{subject}/{name}", array)


def _about(path: epath.Path) -> _About:
  """Return the description of a part.

  Raises:
    UserError: it is not a part.
  """
  about = reading.npz_file(path, lambda name: name == "about").get("about")
  if about is None:
    raise errors.UserError(f"{path}: 'about' is missing.")
  source = f"{path}: about"
  value = reading.json_text(about.tobytes(), source)
  record = reading.records(value, _About, source)
  if record.version != _VERSION:
    raise errors.UserError(f"{path}: of another version.")
  return record


def _parse(name: str) -> _Name | None:
  match = _NAME.fullmatch(name)
  return _Name(*map(int, match.groups())) if match else None


def _facts(cell: Cell) -> list[str]:
  return [*cell.place, cell.fingerprint]


def _key(cell: Cell) -> str:
  return "/".join(_facts(cell))


def _columns(
  arrays: Mapping[str, np.ndarray], subject: str
) -> dict[str, np.ndarray]:
  """Return the columns of examples, or of a cell."""
  prefix = f"{subject}/"
  return packed.unpack(
    {
      name.removeprefix(prefix): array
      for name, array in arrays.items()
      if name.startswith(prefix)
    }
  )
