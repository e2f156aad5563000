"""The CPU cores that this process may use, and work that threads share."""

from __future__ import annotations

import collections
import concurrent.futures
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from absl import logging

_ItemT = TypeVar("_ItemT")
_ResultT = TypeVar("_ResultT")
_AHEAD = 2  # results for each thread that may wait for who uses them
SLOW_S = 30.0  # after which a line says what is waited for
# Linux, control groups of version 2 (in a container its own) and 1: the time on
# CPUs and the period, microseconds; cgroups(7).
_QUOTAS = (
  ("/sys/fs/cgroup/cpu.max",),
  (
    "/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
    "/sys/fs/cgroup/cpu/cpu.cfs_period_us",
  ),
)


def usable() -> int:
  """Return how many cores the process may use: at least 1.

  Those that it is bound to, or fewer where a container's share of time is less.
  """
  if hasattr(os, "sched_getaffinity"):
    bound = len(os.sched_getaffinity(0))
  else:  # macOS, Windows
    bound = os.cpu_count() or 1
  return max(min(bound, _quota() or bound), 1)


def mapped(
  work: Callable[[_ItemT], _ResultT],
  items: Iterable[_ItemT],
  threads: int | None = None,
  name: Callable[[_ItemT], object] = str,
  ahead: int | None = None,
) -> Iterator[_ResultT]:
  """Yield `work` of each item, in order, computed ahead by threads.

  Args:
    work: releases the GIL most of the time, as decoding does.
    items: inputs of `work`, taken no further ahead than is said.
    threads: how many; None: a thread for each usable core.
    name: returns what an item is called if it takes long, in a warning.
    ahead: items that are taken ahead; None: two for each thread, and with one
      thread none.

  Raises:
    Exception: of the first item, in order, on which `work` failed.
  """
  if threads == 1 and ahead is None:
    yield from map(work, items)
    return
  count = threads or usable()
  most = _AHEAD * count if ahead is None else ahead
  waiting: collections.deque[
    tuple[_ItemT, concurrent.futures.Future[_ResultT]]
  ] = collections.deque()

  def first() -> _ResultT:
    item, future = waiting.popleft()
    if not concurrent.futures.wait([future], SLOW_S).done:
      say_slow(str(name(item)))
    return future.result()

  with concurrent.futures.ThreadPoolExecutor(count, "mapped") as pool:
    try:
      for item in items:
        waiting.append((item, pool.submit(work, item)))
        if len(waiting) > most:
          yield first()
      while waiting:
        yield first()
    finally:
      for _, future in waiting:
        future.cancel()


def say_slow(name: str) -> None:
  """Warn that an item takes long."""
  logging.warning("%s: over %.0f s so far; waiting for it.", name, SLOW_S)


def _quota() -> int | None:
  """Return the cores that a control group's share of time makes; None: all."""
  for files in _QUOTAS:
    try:
      words = " ".join(pathlib.Path(file).read_text() for file in files).split()
      if words[0] not in ("max", "-1"):
        return max(int(words[0]) // int(words[1]), 1)
    except (OSError, ValueError, IndexError, ZeroDivisionError):
      continue
  return None
