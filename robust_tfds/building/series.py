"""What the configs of one build share: processes, sources, pixels, a clock.

The configs of a dataset differ in what is done to their pictures; the pictures are
the same. A series lists the sources once, decodes them once if several configs are
still to be built from them (`scratch.py`), and keeps the worker processes, so that
each of them compiles a corruption once.
"""

from __future__ import annotations

import collections
import functools
import os
import time
from collections.abc import (
  Callable,
  Hashable,
  Iterable,
  Iterator,
  Mapping,
  Sequence,
)
from types import TracebackType
from typing import Any

from robust_tfds import durations
from robust_tfds.building import chunks, source_notes
from robust_tfds.building import scratch as scratch_lib

_EVERY_S = 20.0  # between two lines of one config
_SAMPLES = 16  # sources that are decoded first, to say how large all will be

Say = Callable[[str], None]
# (chunk of sources, folder of the scratch) -> the same sources, decoded
Keep = Callable[[Sequence[Any], str], Sequence[Any]]


class Clock:
  """How long the rest takes, from what each corruption has taken so far."""

  def __init__(self, corruptions: Iterable[str], say: Say):
    """Starts at the first config.

    Args:
      corruptions: of each config that is to be built, in their order.
      say: what is done with a line.
    """
    self._left = list(corruptions)
    self._all = len(self._left)
    self._spent: dict[str, float] = collections.defaultdict(float)
    self._done: dict[str, int] = collections.defaultdict(int)
    self._now = ""
    self._say, self._said = say, time.monotonic()

  def counted(
    self, rows: Iterable[Any], corruption: str, of: int
  ) -> Iterator[Any]:
    """Rows of one config as they come; says now and then how far it is."""
    self._now, start = corruption, time.monotonic()
    if corruption in self._left:
      self._left.remove(corruption)
    for number, row in enumerate(rows, 1):
      yield row
      now = time.monotonic()
      self._spent[corruption] += now - start
      self._done[corruption] += 1
      start = now
      self._tell(f"{number:,} of {of:,} examples", of - number, of)

  def decoded(self, rows: Iterable[Any], of: int) -> Iterator[Any]:
    """Sources as they are decoded; says now and then how far that is."""
    begin = time.monotonic()
    for number, row in enumerate(rows, 1):
      yield row
      now = time.monotonic()
      if now - self._said > _EVERY_S:
        left = (now - begin) / number * (of - number)
        self._line(
          f"{number:,} of {of:,} sources decoded, {durations.text(left)} left"
        )

  def left_s(self, here: int, each: int) -> float | None:
    """Seconds until all configs are built; None before the first example.

    Args:
      here: examples that the config which is being built still lacks.
      each: examples of a config.
    """
    rates = {name: s / self._done[name] for name, s in self._spent.items()}
    if not rates:
      return None
    mean = sum(self._spent.values()) / sum(self._done.values())
    rest = sum(rates.get(name, mean) for name in self._left)
    return here * rates.get(self._now, mean) + each * rest

  def built(self, each: int) -> None:
    """Says after a config how many there are, and how long the rest takes.

    Args:
      each: examples of a config.
    """
    left = self.left_s(0, each)
    if self._left and left is not None:
      done = self._all - len(self._left)
      self._line(f"{done} of {self._all} configs, {durations.text(left)} left")

  def _tell(self, text: str, here: int, each: int) -> None:
    if time.monotonic() - self._said <= _EVERY_S:
      return
    left = self.left_s(here, each)
    number = self._all - len(self._left)
    rest = f", {durations.text(left)} left" if left is not None else ""
    self._line(f"config {number} of {self._all}, {self._now}: {text}{rest}")

  def _line(self, text: str) -> None:
    self._said = time.monotonic()
    self._say(text)


class Series:
  """The builds of some configs of one dataset, one after another.

  Attributes:
    clock: of all of them.
  """

  def __init__(
    self,
    *,
    workers: int = 1,
    groups: Mapping[Hashable, int] | None = None,
    corruptions: Sequence[str] = (),
    scratch_dir: str | os.PathLike | None = None,
    say: Say = lambda text: None,
  ):
    """Nothing is started or made yet.

    Args:
      workers: processes that work; 1 for this one alone.
      groups: configs with the same sources -> how many of them are to be built.
      corruptions: of all configs that are to be built.
      scratch_dir: where decoded sources may be kept.
      say: what is done with a line of progress.
    """
    self.clock = Clock(corruptions, say)
    self._workers = chunks.Workers(workers)
    self._groups = dict(groups or {})
    self._scratch_dir, self._say = scratch_dir, say
    self._listed: dict[Hashable, Sequence[Any]] = {}
    self._notes: dict[Hashable, source_notes.Note] = {}
    self._kept: dict[Hashable, Sequence[Any]] = {}
    self._scratch: scratch_lib.Scratch | None = None

  def __enter__(self) -> Series:
    """Itself, after what killed builds left was removed."""
    scratch_lib.discard_leftovers(self._scratch_dir)
    return self

  def __exit__(
    self,
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: TracebackType | None,
  ) -> None:
    """Ends the workers and removes what was decoded."""
    self._workers.__exit__(kind, error, trace)
    if self._scratch is not None:
      self._scratch.remove()

  def sources(
    self, group: Hashable, listed: Callable[[], Sequence[Any]]
  ) -> Sequence[Any]:
    """The sources of a group; listed when they are asked for first."""
    if group not in self._listed:
      self._listed[group] = listed()
    return self._listed[group]

  def note(self, group: Hashable) -> source_notes.Note:
    """The note of a group's sources, which were listed."""
    if group not in self._notes:
      self._notes[group] = source_notes.of(self._listed[group])
    return self._notes[group]

  def decoded(
    self, group: Hashable, sources: Sequence[Any], keep: Keep, chunk: int
  ) -> Sequence[Any]:
    """Sources that read decoded pixels, if several configs need them.

    Args:
      group: of configs with the same sources.
      sources: some of theirs, the same for each config.
      keep: (sources, folder) -> sources that read what it has put there.
      chunk: sources that are decoded at once.

    Raises:
      UserError: no room for them, or a broken source.
    """
    if self._groups.get(group, 0) < 2:
      return sources
    if group not in self._kept:
      self._kept[group] = self._decode_all(sources, keep, chunk)
    return self._kept[group]

  def rows(
    self,
    work: Callable[[Any], Sequence],
    sources: Sequence[Any],
    chunk: int,
    corruption: str,
  ) -> Iterator[Any]:
    """What `work` makes of chunks of sources, in their order."""
    rows = self._workers.rows(work, chunks.split(sources, chunk))
    return self.clock.counted(rows, corruption, len(sources))

  def _decode_all(
    self, sources: Sequence[Any], keep: Keep, chunk: int
  ) -> Sequence[Any]:
    if self._scratch is None:
      self._scratch = scratch_lib.Scratch(self._scratch_dir)
    scratch = self._scratch
    work = functools.partial(_decode, keep, str(scratch.folder))
    # A few, spread over all, say how large all will be.
    step = max(len(sources) // _SAMPLES, 1)
    first = range(0, len(sources), step)[:_SAMPLES]
    before = scratch.used()
    kept = dict(zip(first, work([sources[i] for i in first]), strict=True))
    size = (scratch.used() - before) / len(first) * len(sources)
    self._say(
      f"{len(sources):,} sources are decoded once:"
      f" {_size(size)} in {scratch.folder}, removed at the end"
    )
    scratch.check_room(size - (scratch.used() - before))
    rest = [i for i in range(len(sources)) if i not in kept]
    rows = self._workers.rows(
      work, chunks.split([sources[i] for i in rest], chunk)
    )
    kept.update(zip(rest, self.clock.decoded(rows, len(rest)), strict=True))
    return [kept[i] for i in range(len(sources))]


def _decode(keep: Keep, folder: str, sources: Sequence[Any]) -> Sequence[Any]:
  return keep(sources, folder)


def _size(size: float) -> str:
  """Bytes in words: `7.0 GiB`."""
  for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB")):
    if size >= unit:
      return f"{size / unit:,.1f} {name}"
  return f"{size / 1024:,.0f} KiB"
