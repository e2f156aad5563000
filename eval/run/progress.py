"""Progress lines: cells done, images per second, time left."""

from __future__ import annotations

import sys
import threading
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
  """Counts work and cells; prints a line every few seconds and a line a condition.

  Work is the images that models are shown. The time left follows from the seconds
  that the work of this start took, without those that it stood still for
  compilations: an earlier start's work does not count. Several threads may report.
  """

  def __init__(
    self,
    cells: int,
    done: int,
    work: int,
    *,
    stream: TextIO | None = None,
    quiet: bool = False,
    every_s: float = 5.0,
  ):
    """Starts the clock.

    Args:
      cells: cells of the whole run.
      done: cells that were finished before.
      work: images that models will be shown in this start.
      stream: where lines go; standard output by default.
      quiet: print nothing (hosts other than the first).
      every_s: least time between two lines within the work.
    """
    self._cells, self._done = cells, done
    self._work, self._images = work, 0
    self._stream = stream or sys.stdout
    self._quiet, self._every_s = quiet, every_s
    self._start = self._last = time.perf_counter()
    self._still_s = 0.0
    self._lock = threading.Lock()

  def less(self, images: int) -> None:
    """Says that some of the work was done by an earlier start."""
    self._work -= images

  def stood_still(self, seconds: float) -> None:
    """Counts time that will not come again, such as compilation."""
    with self._lock:
      self._still_s += seconds

  def images(self, count: int, what: str) -> None:
    """Counts images that went through a model; prints a line now and then."""
    with self._lock:
      self._images += count
      if time.perf_counter() - self._last > self._every_s:
        self._line(f"{what} ...")

  def cells(self, count: int, what: str) -> None:
    """Counts finished cells and prints their line."""
    with self._lock:
      self._done += count
      self._line(what)

  def note(self, text: str) -> None:
    """Prints a line of its own."""
    if not self._quiet:
      print(text, file=self._stream, flush=True)

  def left_s(self) -> float | None:
    """Seconds that the rest of the work will take; None: nothing is known yet."""
    spent = time.perf_counter() - self._start - self._still_s
    if not self._images:
      return None if self._work else 0.0
    return max(self._work - self._images, 0) * max(spent, 0.0) / self._images

  def _line(self, what: str) -> None:
    now = time.perf_counter()
    self._last = now
    elapsed = now - self._start
    left = self.left_s()
    eta = "?" if left is None else duration(left)
    rate = self._images / elapsed if elapsed else 0.0
    width = len(str(self._cells))
    self.note(
      f"[{self._done:{width}d}/{self._cells}] {rate:8,.0f} images/s"
      f"  {duration(elapsed):>6} elapsed  ETA {eta:>6}  {what}"
    )
