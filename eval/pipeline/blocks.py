"""Blocks: ranges of a host's examples, decoded once and ahead of their use.

A block is a range of rows that becomes one part on disk (`eval/cells/files/parts.py`).
A thread reads its rows in the order of the set and makes batches of them; rows
whose pixels need another canvas go into separate batches. At most two blocks'
pixels are in memory: the one that models are shown and the one being read.
"""

from __future__ import annotations

import dataclasses
import math
import queue
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from types import TracebackType
from typing import Any, Protocol

import jax

from eval.pipeline import inputs
from robust_tfds import errors, strings
from robust_tfds.corruptions import canvas

Range = tuple[int, int]
# Of pictures of any size, where a plan needs one: COCO's most frequent canvas.
_USUAL_PX = (480, 640)
_POLL_S = 0.2
_CANVASES = 256 << 20  # bytes of a batch's canvases, where it may have fewer


class Row(Protocol):
  """One decoded example."""

  @property
  def nbytes(self) -> int:
    """The bytes of its pixels."""
    ...


class Reader(Protocol):
  """A reader that makes rows and batches; a task may have its own."""

  @property
  def usual_nbytes(self) -> int:
    """The bytes of the pixels of a usual row, before one is read."""
    ...

  def rows(self, start: int, stop: int) -> Iterator[Any]:
    """Yield rows `start` to `stop` of this host, each decoded once."""
    ...

  def group(self, row: Any) -> Hashable:
    """Return the row's group; rows of one group may share a batch."""
    ...

  def most(self, group: Hashable) -> int:
    """Return how many rows of a group one batch holds."""
    ...

  def batch(self, rows: Sequence[Any]) -> inputs.Batch:
    """Return rows of one group as a padded batch; without rows all is padding."""
    ...


@dataclasses.dataclass(frozen=True)
class Picture:
  """A row of pictures or sequences."""

  example: dict[str, Any]
  nbytes: int


class PictureReader:
  """A reader of pictures, grouped by canvas if they vary in size."""

  def __init__(self, source: inputs.Source, few: bool = False):
    """Create the reader; `few`: batches may have few canvases if they are large."""
    self._source, self._few = source, few
    # The batches of all hosts lie on one canvas, see `inputs.enlarge_canvas`.
    self._by_canvas = None in source.shape and source.host.count == 1

  @property
  def usual_nbytes(self) -> int:
    """The bytes of the pixels of a usual row."""
    shape = self._source.shape
    total = 1
    for given, usual in zip(shape, (*shape[:-3], *_USUAL_PX, 3)):
      total *= given or usual or 1
    return total

  def rows(self, start: int, stop: int) -> Iterator[Picture]:
    """Yield rows, see `Reader`."""
    for example in self._source.rows(start, stop):
      yield Picture(example, example[self._source.pixels].nbytes)

  def group(self, row: Picture) -> Hashable:
    """Return the canvas that the picture needs."""
    if not self._by_canvas:
      return ()
    height, width = row.example[self._source.pixels].shape[-3:-1]
    with errors.prefixed(strings.text(row.example["example_id"])):
      return canvas.shape(height, width)

  def most(self, group: Hashable) -> int:
    """Return the batch size, or fewer large canvases, but at least one per device."""
    size, devices = self._source.batch_size, jax.device_count()
    if not self._few or not isinstance(group, tuple):
      return size
    fit = _CANVASES // (3 * math.prod(group))
    return min(max(fit // devices, 1) * devices, size)

  def batch(self, rows: Sequence[Picture]) -> inputs.Batch:
    """Return rows as a batch, see `Reader`."""
    most = self.most(self.group(rows[0])) if rows else None
    return self._source.batch([row.example for row in rows], most)


@dataclasses.dataclass(frozen=True)
class Step:
  """A batch of a block, or its end.

  Attributes:
    block: the rows' range.
    number: number of the batch within the block; at its end the count.
    batch: None at the end of the block, and before a row that needs all memory:
      then held steps must be released.
    nbytes: bytes of the rows' pixels, freed by `Blocks.release`.
    ends: whether this is the end of the block.
  """

  block: Range
  number: int = 0
  batch: inputs.Batch | None = None
  nbytes: int = 0
  ends: bool = False


class Blocks:
  """The steps of all blocks of some ranges, read ahead by a thread.

  Attributes:
    waited_s: how long the steps' consumer waited for the next one.
    reading_s: how long the thread worked on reading, decoding and stacking.
  """

  def __init__(
    self,
    reader: Reader,
    ranges: Sequence[Range],
    *,
    batch_size: int,
    block_rows: int,
    block_nbytes: int,
    equal_steps: bool = False,
    check: Callable[[], None] = lambda: None,
  ):
    """Start the thread.

    Args:
      reader: makes rows and batches.
      ranges: ranges of this host's rows to read, ascending.
      batch_size: rows of a batch.
      block_rows: largest number of rows of a block.
      block_nbytes: bytes of pixels of a block; at most twice as many, or one
        batch, are in memory.
      equal_steps: whether batches are always full, whatever memory they need,
        so that hosts with different picture sizes take equally many steps.
      check: raises the consumer's error; called while the consumer waits, since
        it may wait for a step that is never released.
    """
    self._reader, self._ranges = reader, ranges
    self._batch_size, self._block_rows = batch_size, block_rows
    self._equal_steps, self._check = equal_steps, check
    self._block_nbytes, self._room = block_nbytes, _Room(2 * block_nbytes)
    self._steps: queue.Queue[Step | BaseException | None] = queue.Queue()
    self.waited_s = self.reading_s = 0.0
    self._batches = 0  # of the block
    self._thread = threading.Thread(
      target=self._read, name="blocks", daemon=True
    )
    self._thread.start()

  def __iter__(self) -> Iterator[Step]:
    """Yield all steps in order.

    Raises:
      BaseException: an error of reading, or of `check`.
    """
    while True:
      start = time.perf_counter()
      step = self._next()
      self.waited_s += time.perf_counter() - start
      if step is None:
        return
      if isinstance(step, BaseException):
        raise step
      yield step

  def _next(self) -> Step | BaseException | None:
    while True:
      try:
        return self._steps.get(timeout=_POLL_S)
      except queue.Empty:
        self._check()

  def release(self, step: Step) -> None:
    """Report that a step's pixels are no longer needed."""
    self._room.give(step.nbytes)

  def __enter__(self) -> Blocks:
    """Return these blocks."""
    return self

  def __exit__(
    self,
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: TracebackType | None,
  ) -> None:
    """Stop the reading thread."""
    self._room.close()
    self._thread.join()

  def _read(self) -> None:
    try:
      for first, last in self._ranges:
        for start in range(first, last, self._block_rows):
          self._block((start, min(start + self._block_rows, last)))
      self._steps.put(None)
    except _Closed:
      pass
    except BaseException as e:  # raised by the consumer
      self._steps.put(e)

  def _block(self, block: Range) -> None:
    groups: dict[Hashable, list[Any]] = {}
    held = 0  # bytes in groups that are no batch yet
    # Hosts take as many steps each, also those whose share is one row shorter.
    steps = -(-(block[1] - block[0]) // self._batch_size)
    self._batches = 0
    for row in self._timed(self._reader.rows(*block)):
      if held + row.nbytes > self._block_nbytes and not self._equal_steps:
        steps -= self._put_all(block, groups)
        held = 0
        if row.nbytes > self._block_nbytes:
          self._steps.put(Step(block))
      self._room.take(row.nbytes, held)
      held += row.nbytes
      kind = self._reader.group(row)
      group = groups.setdefault(kind, [])
      group.append(row)
      if len(group) == self._reader.most(kind):
        held -= self._put(block, group)
        steps -= 1
        group.clear()
    steps -= self._put_all(block, groups)
    for _ in range(steps):
      self._put(block, [])
    self._steps.put(Step(block, self._batches, ends=True))

  def _timed(self, rows: Iterator[Any]) -> Iterator[Any]:
    while True:
      start = time.perf_counter()
      row = next(rows, None)
      self.reading_s += time.perf_counter() - start
      if row is None:
        return
      yield row

  def _put_all(self, block: Range, groups: dict[Hashable, list[Any]]) -> int:
    """Put batches of all groups and return their number."""
    listed = [rows for rows in groups.values() if rows]
    for rows in listed:
      self._put(block, rows)
    groups.clear()
    return len(listed)

  def _put(self, block: Range, rows: Sequence[Any]) -> int:
    """Put one batch and return the bytes of its rows."""
    start = time.perf_counter()
    batch = self._reader.batch(rows)
    self.reading_s += time.perf_counter() - start
    nbytes = sum(row.nbytes for row in rows)
    self._steps.put(Step(block, self._batches, batch, nbytes))
    self._batches += 1
    return nbytes


class _Closed(Exception):
  """An error that ends the thread when no more rows are needed."""


class _Room:
  """A limit of the bytes in use, which makes threads wait."""

  def __init__(self, most: int):
    self._most, self._used = most, 0
    self._closed = False
    self._changed = threading.Condition()

  def take(self, count: int, own: int) -> None:
    """Wait until there is room, unless only the caller could free some.

    Args:
      count: bytes.
      own: bytes in use that only the caller can free.
    """
    with self._changed:
      self._changed.wait_for(
        lambda: (
          self._closed or self._used <= own or self._used + count <= self._most
        )
      )
      if self._closed:
        raise _Closed
      self._used += count

  def give(self, count: int) -> None:
    """Give bytes back."""
    with self._changed:
      self._used -= count
      self._changed.notify_all()

  def close(self) -> None:
    """Wake up waiting threads with an error."""
    with self._changed:
      self._closed = True
      self._changed.notify_all()
