"""Progress lines: cells done, images per second, time left."""

from __future__ import annotations

import sys
import time
from typing import TextIO


def duration(seconds: float) -> str:
  """A short duration, as CLU writes it.

  >>> duration(5023), duration(83), duration(7.4)
  ('1h23m', '1m23s', '7s')
  """
  whole = max(int(round(seconds)), 0)
  if whole >= 86400:
    return f"{whole // 86400}d{whole % 86400 // 3600}h"
  if whole >= 3600:
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
  if whole >= 60:
    return f"{whole // 60}m{whole % 60:02d}s"
  return f"{whole}s"


class Progress:
  """Counts cells and images; prints a line per condition and a heartbeat."""

  def __init__(
    self,
    cells: int,
    done: int,
    *,
    stream: TextIO | None = None,
    quiet: bool = False,
    every_s: float = 5.0,
  ):
    """Starts the clock.

    Args:
      cells: cells of the whole run.
      done: cells that were finished before.
      stream: where lines go; standard output by default.
      quiet: print nothing (hosts other than the first).
      every_s: least time between two heartbeats within one condition.
    """
    self._cells, self._done, self._before = cells, done, done
    self._stream = stream or sys.stdout
    self._quiet, self._every_s = quiet, every_s
    self._start = self._last = time.perf_counter()
    self._images = 0

  def images(self, count: int, what: str) -> None:
    """Counts images through a model; prints a heartbeat in long conditions."""
    self._images += count
    if time.perf_counter() - self._last > self._every_s:
      self._line(f"{what} ...")

  def cells(self, count: int, what: str) -> None:
    """Counts finished cells and prints their line."""
    self._done += count
    self._line(what)

  def note(self, text: str) -> None:
    """Prints a line of its own."""
    if not self._quiet:
      print(text, file=self._stream, flush=True)

  def _line(self, what: str) -> None:
    now = time.perf_counter()
    self._last = now
    elapsed = now - self._start
    fresh = self._done - self._before
    left = self._cells - self._done
    eta = duration(elapsed / fresh * left) if fresh else "?"
    rate = self._images / elapsed if elapsed else 0.0
    width = len(str(self._cells))
    self.note(
      f"[{self._done:{width}d}/{self._cells}] {rate:8,.0f} images/s"
      f"  {duration(elapsed):>6} elapsed  ETA {eta:>6}  {what}"
    )
