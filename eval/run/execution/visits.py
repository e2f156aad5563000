"""The passes of a run: the cells of each, and the states between them.

Models that do not adapt, and conditions with a state of their own, are shown side
by side: a pass reads its set once. A stream goes through its conditions one after
the other: a visit reads the set of one condition. After a visit its models' states
are written (`streams/`), with which a stopped run goes on.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from etils import epath

from eval.cells.cell import Cell
from eval.cells.files import parts as parts_lib
from eval.cells.files import predictions
from eval.cells.workdir import Workdir
from eval.pipeline import adapting, inputs, mixed, streams
from eval.run.adapt import Adapt
from eval.run.execution import cells as cells_lib
from eval.run.execution import checkpoints, one_pass
from eval.run.model import adapted
from robust_tfds import reading
from robust_tfds.conditions import Condition
from robust_tfds.storage import disk

Open = Callable[[Condition], inputs.Source]


@dataclasses.dataclass
class Visit:
  """A pass over a set.

  Attributes:
    source: what is read.
    cells: cells that are made of it.
    stream: models whose state goes on from visit to visit; empty: none.
    number: number of the visit in the stream, from 0.
    again: whether the stream made the cells in an earlier visit: it only adapts.
    fresh: whether the stream begins with it, whatever was shown before.
  """

  source: inputs.Source
  cells: list[Cell]
  stream: tuple[str, ...] = ()
  number: int = 0
  again: bool = False
  fresh: bool = False


def plan(
  cells: Sequence[Cell], adapts: Mapping[str, Adapt], source: Open
) -> list[Visit]:
  """Return the visits that make all cells, in their order.

  Args:
    cells: in the order of the table.
    adapts: label -> how a model adapts, of those that do.
    source: opens the set of a condition.
  """
  ordered = functools.cache(lambda s, stream: s.ordered(stream))
  visits: list[Visit] = []
  aside: dict[inputs.Source, Visit] = {}
  groups: dict[tuple[streams.Stream, bool], list[Cell]] = {}
  for cell in cells:
    if adapt := adapts.get(cell.model):
      key = adapt.stream, adapt.is_sequential
      groups.setdefault(key, []).append(cell)
  for (stream, sequential), listed in groups.items():
    open_ordered = lambda c, stream=stream: ordered(source(c), stream)
    if sequential:
      visits += _stream_visits(listed, stream, open_ordered)
      continue
    for cell in listed:
      each = open_ordered(cell.condition)
      if each not in aside:
        visits.append(aside.setdefault(each, Visit(each, [])))
      aside[each].cells.append(cell)
  for cell in cells:  # those that do not adapt go along where they can
    if cell.model not in adapts:
      _join(visits, cell, source(cell.condition))
  return visits


def _stream_visits(
  cells: Sequence[Cell], stream: streams.Stream, source: Open
) -> Iterator[Visit]:
  """Yield the visits of models with one stream: clean first, then its domains."""
  labels = tuple(dict.fromkeys(c.model for c in cells))
  listed = list(dict.fromkeys(c.condition for c in cells))
  clean = [c for c in listed if c.clean]
  domains, seen = stream.domains(listed), set()
  numbered = enumerate(clean if stream.setting == "mixed" else clean + domains)
  for number, condition in numbered:
    domain_cells = [c for c in cells if c.condition == condition]
    again, fresh = condition in seen, number == len(clean)
    yield Visit(source(condition), domain_cells, labels, number, again, fresh)
    seen.add(condition)
  if stream.setting == "mixed" and domains:
    together = mixed.MixedSource(
      domains, [source(c) for c in domains], stream.seed
    )
    corrupted = [c for c in cells if c.condition in domains]
    yield Visit(together, corrupted, labels, len(clean), fresh=True)


def _join(visits: list[Visit], cell: Cell, source: inputs.Source) -> None:
  """Add a cell to the first visit of the same pictures, or to one of its own."""
  for visit in visits:
    same = visit.source.builder is source.builder and not visit.again
    same &= not isinstance(visit.source, mixed.MixedSource)
    conditions = {c.condition for c in visit.cells}
    if same and (not visit.stream or cell.condition in conditions):
      visit.cells.append(cell)
      return
  visits.append(Visit(source, [cell]))


class Maker:
  """Makes the cells of visits, and keeps the states of streams."""

  def __init__(
    self,
    workdir: Workdir,
    setup: one_pass.Setup,
    maker: cells_lib.CellMaker,
    visits: Sequence[Visit],
  ):
    """Create it without computing."""
    self._workdir, self._setup, self._maker = workdir, setup, maker
    self._visits = visits
    self._at: dict[tuple[str, ...], int] = {}  # stream -> its last visit

  def run(self, adapts: Mapping[str, Adapt], done: set[Cell]) -> None:
    """Make all cells that are not done.

    Args:
      adapts: label -> how a model adapts.
      done: cells that an earlier start finished.
    """
    for visit in self._visits:
      for label in {c.model for c in visit.cells} & adapts.keys():
        adapter = self._adapting(label)
        total = visit.source.total
        adapted.check_batches(label, adapts[label], adapter, total)
    for visit in self._visits:
      lacking = [c for c in visit.cells if c not in done]
      if visit.stream and self._is_finished(visit.stream, done):
        continue
      if not visit.stream:
        for label in {c.model for c in visit.cells} & adapts.keys():
          self._adapting(label).begin()
        self._maker.run(visit.cells, lacking, visit.source)
      elif visit.number > self._reached(visit.stream, done):
        self._go_on(visit, adapts, [] if visit.again else lacking)
    disk.remove(self._folder)

  def _is_finished(self, stream: tuple[str, ...], done: set[Cell]) -> bool:
    stream_visits = [v for v in self._visits if v.stream == stream]
    return all(cell in done for v in stream_visits for cell in v.cells)

  def _go_on(
    self, visit: Visit, adapts: Mapping[str, Adapt], lacking: Sequence[Cell]
  ) -> None:
    """Make a visit of a stream, from the states after the one before."""
    for label in visit.stream:
      if visit.fresh:
        self._adapting(label).begin()
      elif visit.number and adapts[label].setting == "reset":
        new = adapts[label].reset == "new"
        self._adapting(label).reset(new=new)
    only = [c for c in visit.cells if c.model in visit.stream]
    if isinstance(visit.source, mixed.MixedSource):
      self._mix(visit.source, only, lacking)
    else:
      if dry := [c for c in only if c not in lacking]:
        self._pass(visit.source, dry, _Nowhere())
      if lacking:
        self._maker.run(visit.cells, lacking, visit.source)
        self._maker.wait()
    self._keep(visit)

  def _pass(
    self, source: inputs.Source, cells: Sequence[Cell], parts: Any
  ) -> None:
    """Show models a set from its beginning, and pass their answers to `parts`."""
    setup = dataclasses.replace(self._setup, shown_ids=(), note=None)
    whole: parts_lib.Missing = (0, source.share), cells
    one_pass.Pass(setup, parts, [whole], cells, source).run(lambda cells: None)

  def _mix(
    self,
    source: mixed.MixedSource,
    cells: Sequence[Cell],
    lacking: Sequence[Cell],
  ) -> None:
    """Make all cells of a mixed stream; their rows come one among the other."""
    level = source.conditions[0].level
    together = Condition("all domains", level)
    cell_by_model = {
      c.model: dataclasses.replace(c, condition=together) for c in cells
    }
    parts = _Gathered()
    self._pass(source, list(cell_by_model.values()), parts)
    self._maker.expect(lacking)
    for cell in lacking:
      rows = parts.rows(cell_by_model[cell.model])
      number = source.conditions.index(cell.condition)
      chosen = rows.pop(mixed.COLUMN) == number
      rows = {name: column[chosen] for name, column in rows.items()}
      self._maker.finish(cell, rows, source.source(number), time.perf_counter())

  def _adapting(self, label: str) -> adapting.AdaptingPredictor:
    adapter = self._setup.loaded[label].adapting
    assert adapter is not None  # of a stream
    return adapter

  # States on the disk: `streams/<cells>-<visit>-<model>.npz`.

  @property
  def _folder(self) -> epath.Path:
    return self._workdir.path / checkpoints.FOLDER

  def _path(self, stream: tuple[str, ...], label: str, number: int) -> Any:
    stream_visits = [v for v in self._visits if v.stream == stream]
    digest = checkpoints.digest([c for v in stream_visits for c in v.cells])
    return self._folder / f"{digest}-{number:03d}-{stream.index(label)}.npz"

  def _reached(self, stream: tuple[str, ...], done: set[Cell]) -> int:
    """Return the last visit whose cells and states there are; -1 for none."""
    if stream not in self._at:
      self._at[stream] = reached = self._last_kept(stream, done)
      for label in stream:
        self._adapting(label).begin()
        if reached >= 0:
          path = self._path(stream, label, reached)
          self._adapting(label).restore(reading.npz_file(path))
    return self._at[stream]

  def _last_kept(self, stream: tuple[str, ...], done: set[Cell]) -> int:
    last = -1
    for visit in self._visits:
      if visit.stream != stream:
        continue
      if not visit.again and any(c not in done for c in visit.cells):
        break
      paths = [self._path(stream, label, visit.number) for label in stream]
      if all(disk.exists(path) for path in paths):
        last = visit.number
    return last

  def _keep(self, visit: Visit) -> None:
    """Write the states after a visit; remove those before it."""
    for label in visit.stream:
      path = self._path(visit.stream, label, visit.number)
      states = self._adapting(label).save()
      checkpoints.write(self._workdir, path.name, states)
    for label in visit.stream:
      disk.remove(self._path(visit.stream, label, visit.number - 1))
    self._at[visit.stream] = visit.number


class _Nowhere:
  """Parts that store nothing, for cells that exist already."""

  def made(self, block: parts_lib.Range, cell: Cell) -> set[int]:
    """Return no batch: all are shown."""
    del block, cell
    return set()

  def write(self, *args: Any) -> None:
    """Drop the part; nothing is written."""

  def is_whole(self, cell: Cell, rows: int) -> bool:
    """Return False: nothing is reported."""
    del cell, rows
    return False


class _Gathered(_Nowhere):
  """Parts in memory: what came back of a pass."""

  def __init__(self) -> None:
    self._rows: dict[Cell, list[predictions.Columns]] = {}

  def write(
    self,
    block: parts_lib.Range,
    count: int,
    examples: parts_lib.Batches,
    outputs: Mapping[Cell, parts_lib.Batches],
  ) -> None:
    """Keep the rows of some batches."""
    del block, count
    for cell, batches in outputs.items():
      for number, columns in batches.items():
        whole = {**examples[number], **columns}
        self._rows.setdefault(cell, []).append(whole)

  def rows(self, cell: Cell) -> dict[str, np.ndarray]:
    """Return all rows of a cell."""
    return predictions.concatenate(self._rows[cell])
