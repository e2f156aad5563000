"""One build of several configs: what they share, and how long it takes.

The configs of a dataset differ in what is done to their pictures; the pictures
are the same. A session lists the sources once, decodes them once if several
configs are still to be built from them (`scratch.py`), and keeps the worker
processes, so that each of them compiles a corruption once. Work is done chunk
by chunk: by a thread for each core, or in the workers.
"""

from __future__ import annotations

import collections
import concurrent.futures
import functools
import itertools
import multiprocessing
import os
import threading
import time
from collections.abc import (
  Callable,
  Hashable,
  Iterable,
  Iterator,
  Mapping,
  Sequence,
)
from concurrent.futures import process
from multiprocessing import connection
from types import TracebackType
from typing import Any

from absl import logging

from robust_tfds import cores, durations, errors, kept_programs
from robust_tfds.building import scratch as scratch_lib
from robust_tfds.building import source, source_notes

_EVERY_S = 20.0  # between two lines of one config
_AHEAD = 4  # chunks a worker may be ahead of the writer
_SAMPLES = 16  # sources that are decoded first, to say how large all will be

Say = Callable[[str], None]


def split(items: Sequence, size: int) -> list[Sequence]:
  """Split items into lists of `size`, the last one shorter."""
  return [items[i : i + size] for i in range(0, len(items), size)]


class Clock:
  """An estimate of the remaining time, from the time per example so far."""

  def __init__(self, configs: int, say: Say):
    """Start the clock at the first config.

    Args:
      configs: number of configs to build.
      say: prints a line.
    """
    self._configs, self._begun = configs, 0
    self._examples, self._spent_s = 0, 0.0
    self._say, self._said = say, time.monotonic()

  def counted(
    self, rows: Iterable[Any], corruption: str, total: int
  ) -> Iterator[Any]:
    """Yield the rows of one config, reporting progress now and then."""
    self._begun += 1
    start = time.monotonic()
    for number, row in enumerate(rows, 1):
      yield row
      now = time.monotonic()
      self._spent_s += now - start
      self._examples += 1
      start = now
      if now - self._said > _EVERY_S:
        left = durations.text(self.left_s(total - number, total))
        self._line(
          f"config {self._begun} of {self._configs}, {corruption}:"
          f" {number:,} of {total:,} examples, {left} left"
        )

  def decoded(self, rows: Iterable[Any], total: int) -> Iterator[Any]:
    """Yield decoded sources, reporting progress now and then."""
    begin = time.monotonic()
    for number, row in enumerate(rows, 1):
      yield row
      now = time.monotonic()
      if now - self._said > _EVERY_S:
        left = durations.text((now - begin) / number * (total - number))
        self._line(f"{number:,} of {total:,} sources decoded, {left} left")

  def left_s(self, here: int, each: int) -> float:
    """Return the seconds until all configs are built.

    Args:
      here: examples still missing in the current config.
      each: examples per config.
    """
    examples = here + each * (self._configs - self._begun)
    return self._spent_s / max(self._examples, 1) * examples

  def built(self, each: int) -> None:
    """Report after a config how many are built, and the remaining time."""
    if self._examples and self._begun < self._configs:
      left = durations.text(self.left_s(0, each))
      self._line(f"{self._begun} of {self._configs} configs, {left} left")

  def _line(self, text: str) -> None:
    self._said = time.monotonic()
    self._say(text)


class BuildSession:
  """A session that builds several configs of one dataset one after another.

  Worker processes start with the first chunk and then stay: what they have
  imported and compiled serves every config. They end with the session, and with
  the process that started them, however that ends.

  Attributes:
    clock: the clock of all configs.
    speaks: whether it reports progress, in place of TFDS.
  """

  def __init__(
    self,
    *,
    workers: int | None = None,
    groups: Mapping[Hashable, int] | None = None,
    configs: int = 0,
    scratch_dir: str | os.PathLike | None = None,
    say: Say | None = None,
  ):
    """Create the session; nothing is started yet.

    Args:
      workers: None: a thread for each core; 1: this thread; else as many processes.
      groups: configs with the same sources -> how many of them to build.
      configs: number of configs to build.
      scratch_dir: folder for decoded sources.
      say: prints a line of progress; None: TFDS shows its own.
    """
    self.speaks, self._say = say is not None, say or (lambda text: None)
    self.clock = Clock(configs, self._say)
    self._workers = workers
    self._pool: concurrent.futures.ProcessPoolExecutor | None = None
    self._groups = dict(groups or {})
    self._scratch_dir = scratch_dir
    self._listed: dict[Hashable, Mapping[str, Sequence[Any]]] = {}
    self._notes: dict[Hashable, source_notes.Note] = {}
    self._decoded: dict[tuple[Hashable, str], Sequence[Any]] = {}
    self._scratch: scratch_lib.Scratch | None = None

  def __enter__(self) -> BuildSession:
    """Return the session after removing what killed builds left."""
    scratch_lib.discard_leftovers(self._scratch_dir)
    return self

  def __exit__(
    self,
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: TracebackType | None,
  ) -> None:
    """End the processes and remove temporary files."""
    if self._pool is not None:
      self._pool.shutdown(cancel_futures=True)
      self._pool = None
    if self._scratch is not None:
      self._scratch.remove()

  def say(self, text: str) -> None:
    """Print a line, or log it without a progress output."""
    (self._say if self.speaks else logging.warning)(text)

  def begin(self, name: str, place: str | os.PathLike) -> None:
    """Report that a set is being made, and where."""
    self._say(f"preparing {name} in {os.fspath(place)}")

  def sources(
    self, group: Hashable, find: Callable[[], Mapping[str, Sequence[Any]]]
  ) -> Mapping[str, Sequence[Any]]:
    """Return the sources of a group by split; they are listed on the first
    call.
    """
    if group not in self._listed:
      self._listed[group] = find()
    return self._listed[group]

  def note(self, group: Hashable) -> source_notes.Note:
    """Return the note of a group's sources, which must be listed."""
    if group not in self._notes:
      by_split = self._listed[group].values()
      listed = list(itertools.chain.from_iterable(by_split))
      self._notes[group] = source_notes.from_sources(listed)
    return self._notes[group]

  def decoded(
    self, group: Hashable, split: str, sources: Sequence[Any], chunk: int
  ) -> Sequence[Any]:
    """Return decoded sources if several configs need them, else the sources.

    Args:
      group: key of the configs with the same sources.
      sources: some of their sources, the same for each config.
      chunk: sources that are decoded at once.

    Raises:
      UserError: no room for them, or a broken source.
    """
    if self._groups.get(group, 0) < 2:
      return sources
    if (group, split) not in self._decoded:
      self._decoded[group, split] = self._decode_all(sources, chunk)
    return self._decoded[group, split]

  def rows(
    self,
    work: Callable[[Any], Sequence],
    sources: Sequence[Any],
    chunk: int,
    corruption: str,
  ) -> Iterator[Any]:
    """Yield the results of `work` on chunks of sources, in their order."""
    rows = self.worked(work, split(sources, chunk))
    return self.clock.counted(rows, corruption, len(sources))

  def worked(
    self, work: Callable[[Any], Sequence], chunks: Sequence[Any]
  ) -> Iterator[Any]:
    """Yield the results of `work` on chunks, in their order.

    Args:
      work: chunk -> rows; picklable.
      chunks: picklable.

    Raises:
      UserError: a worker process died, or a source is gone.
    """
    try:
      yield from self._worked(work, chunks)
    except OSError as e:
      if not e.filename:
        raise
      raise source.gone_error(os.fsdecode(e.filename), e) from e

  def _worked(
    self, work: Callable[[Any], Sequence], chunks: Sequence[Any]
  ) -> Iterator[Any]:
    if self._workers is None or self._workers <= 1:
      # The first alone: it registers and compiles what the others share.
      yield from itertools.chain.from_iterable(map(work, chunks[:1]))
      rows = cores.mapped(work, chunks[1:], self._workers)
      yield from itertools.chain.from_iterable(rows)
      return
    waiting: collections.deque = collections.deque()
    try:
      for chunk in chunks:
        waiting.append(self._started().submit(work, chunk))
        # Not all at once: finished chunks would pile up before a slower writer.
        if len(waiting) >= _AHEAD * self._workers:
          yield from waiting.popleft().result()
      while waiting:
        yield from waiting.popleft().result()
    except process.BrokenProcessPool as e:
      self._pool = None
      raise errors.UserError(
        f"workers={self._workers}: a worker process ended unexpectedly, perhaps for"
        " want of memory. Nothing half-made stays; run it again with fewer"
        " workers."
      ) from e
    finally:
      for future in waiting:
        future.cancel()

  def _started(self) -> concurrent.futures.ProcessPoolExecutor:
    if self._pool is None:
      # spawn: JAX's threads do not survive a fork.
      context = multiprocessing.get_context("spawn")
      self._pool = concurrent.futures.ProcessPoolExecutor(
        self._workers,
        context,
        initializer=_begin,
        initargs=(kept_programs.folder() is not None,),
      )
    return self._pool

  def _decode_all(self, sources: Sequence[Any], chunk: int) -> Sequence[Any]:
    if self._scratch is None:
      self._scratch = scratch_lib.Scratch(self._scratch_dir)
    scratch = self._scratch
    work = functools.partial(_decode, str(scratch.folder))
    # A few, spread over all, say how large all will be.
    step = max(len(sources) // _SAMPLES, 1)
    first = range(0, len(sources), step)[:_SAMPLES]
    before = scratch.used()
    done = dict(zip(first, work([sources[i] for i in first]), strict=True))
    size = (scratch.used() - before) / len(first) * len(sources)
    self._say(
      f"{len(sources):,} sources are decoded once:"
      f" {_size(size)} in {scratch.folder}, removed at the end"
    )
    scratch.check_room(size - (scratch.used() - before))
    rest = [i for i in range(len(sources)) if i not in done]
    rows = self.worked(work, split([sources[i] for i in rest], chunk))
    done.update(zip(rest, self.clock.decoded(rows, len(rest)), strict=True))
    return [done[i] for i in range(len(sources))]


def _decode(folder: str, sources: Sequence[Any]) -> list[Any]:
  return [source.decoded(folder) for source in sources]


def _size(size: float) -> str:
  """Return a number of bytes in words: `7.0 GiB`."""
  for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB")):
    if size >= unit:
      return f"{size / unit:,.1f} {name}"
  return f"{size / 1024:,.0f} KiB"


def _begin(keeps_programs: bool) -> None:
  """Start a worker, which ends when its parent is killed."""
  if keeps_programs:
    kept_programs.keep()
  threading.Thread(target=_watch_parent, daemon=True).start()


def _watch_parent() -> None:
  parent = multiprocessing.parent_process()
  if parent is not None:
    connection.wait([parent.sentinel])
    os._exit(1)
