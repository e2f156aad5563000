"""Progress lines: cells done, images per second, time left."""

from __future__ import annotations

import sys
import threading
import time
from typing import TextIO

from robust_tfds import durations


class Progress:
  """Counts work and cells; prints a line every few seconds and a line a condition.

  Work is the images that models are shown. The time left follows from the seconds
  that the work since the last new program took (`steady`): what an earlier start
  did, and what compilations delayed, does not count. To that come the cells that
  are to be assembled, by the seconds of those that were. Several threads may
  report.
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
    self._since: tuple[float, int] | None = None  # seconds, images
    self._each_s: float | None = None  # of an image, before `_since`
    self._assembled, self._assembling_s = 0, 0.0
    self._lock = threading.Lock()

  def less(self, images: int) -> None:
    """Says that some of the work was done by an earlier start."""
    self._work -= images

  def steady(self) -> None:
    """Says that programs were compiled until now: seconds count from here."""
    with self._lock:
      self._each_s = self._seconds()
      self._since = time.perf_counter(), self._images

  def images(self, count: int, what: str) -> None:
    """Counts images that went through a model; prints a line now and then."""
    with self._lock:
      self._images += count
      if time.perf_counter() - self._last > self._every_s:
        self._line(f"{what} ...")

  def cells(self, count: int, what: str, seconds: float = 0.0) -> None:
    """Counts finished cells, which took so long, and prints their line."""
    with self._lock:
      self._done += count
      self._assembled += count
      self._assembling_s += seconds
      self._line(what)

  def note(self, text: str) -> None:
    """Prints a line of its own."""
    if not self._quiet:
      print(text, file=self._stream, flush=True)

  def left_s(self) -> float | None:
    """Seconds that the rest will take; None: nothing is known yet."""
    images = max(self._work - self._images, 0)
    each = self._seconds()
    if images and each is None:
      return None
    cell_s = self._assembling_s / max(self._assembled, 1)
    return images * (each or 0.0) + (self._cells - self._done) * cell_s

  def _seconds(self) -> float | None:
    """Of an image, once there is one since the last compilation."""
    if self._since is None:
      return None
    start, before = self._since
    count = self._images - before
    if not count:
      return self._each_s
    return (time.perf_counter() - start) / count

  def _line(self, what: str) -> None:
    now = time.perf_counter()
    self._last = now
    elapsed = now - self._start
    left = self.left_s()
    eta = "?" if left is None else durations.text(left)
    rate = self._images / elapsed if elapsed else 0.0
    width = len(str(self._cells))
    self.note(
      f"[{self._done:{width}d}/{self._cells}] {rate:8,.0f} images/s"
      f"  {durations.text(elapsed):>6} elapsed  ETA {eta:>6}  {what}"
    )
