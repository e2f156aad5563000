"""Progress: a live bar on a terminal, plain lines elsewhere; the time left."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import TextIO

from robust_tfds import durations


def say(text: str) -> None:
  """Print a line, now."""
  print(text, flush=True)


class _Part:
  """Work of one kind: how much there is, and how much of it is done."""

  def __init__(self) -> None:
    """Begin with no work."""
    self._all = self._done = 0

  def more(self, count: int) -> None:
    """Add items to be done; a negative count takes some away."""
    self._all += count

  def did(self, count: int) -> None:
    """Count items that are done."""
    self._done += count

  def left_s(self, took_s: float) -> float | None:
    """Return the seconds that the rest takes; None before an item is done.

    Args:
      took_s: seconds that the items took that are done.
    """
    left = max(self._all - self._done, 0)
    if not left:
      return 0.0
    return left * max(took_s, 0.0) / self._done if self._done else None


class Progress:
  """The counter of work and cells, which prints every few seconds and each condition.

  Work is the images that models are shown, and the first uses of programs, which
  wait for their compilation. The time left is what is left of each times the mean
  of what is done, as it is for cells that are to be assembled. Work of an earlier
  start does not count. Several threads may report.
  """

  def __init__(
    self,
    cells: int,
    done: int,
    work: Mapping[str, int],
    *,
    stream: TextIO | None = None,
    quiet: bool = False,
    every_s: float = 5.0,
  ):
    """Start the clock.

    Args:
      cells: cells of the whole run.
      done: cells that were finished before.
      work: config name of a condition -> images that models will be shown.
      stream: where lines go, or on a terminal the bar; standard output by default.
      quiet: print nothing (hosts other than the first).
      every_s: least time between two lines within the work.
    """
    self._cells, self._done = cells, done
    self._showing, self._firsts = _Part(), _Part()
    self._work = self._images = 0
    self.less(-sum(work.values()))
    self._stream = stream or sys.stdout
    self._quiet, self._every_s = quiet, every_s
    self._start = self._last = time.perf_counter()
    self._began: float | None = None  # with the first program
    self._compiling_s = 0.0
    self._assembled, self._assembling_s = 0, 0.0
    self._lock = threading.RLock()
    self._bar: _Bar | None = None
    if not quiet and self._stream.isatty():
      self._bar = _Bar(self._stream)

  def __enter__(self) -> Progress:
    """Return this progress."""
    return self

  def __exit__(
    self,
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: TracebackType | None,
  ) -> None:
    """Take the bar away."""
    self.close()

  def close(self) -> None:
    """Take the bar away; lines that follow are plain."""
    with self._lock:
      bar, self._bar = self._bar, None
      if bar:
        bar.close()

  def less(self, images: int) -> None:
    """Subtract work that an earlier start has done."""
    self._work -= images
    self._showing.more(-images)

  def programs(self, count: int) -> None:
    """Print how many programs will be used for the first time."""
    with self._lock:
      self._firsts.more(count)
      if self._began is None:
        self._began = time.perf_counter()

  def compiled(self, seconds: float) -> None:
    """Count a program's first use and its seconds."""
    with self._lock:
      self._firsts.did(1)
      self._compiling_s += seconds

  def images(self, count: int, what: str) -> None:
    """Count images that went through a model; report it now and then."""
    with self._lock:
      self._images += count
      self._showing.did(count)
      if self._bar:
        self._bar.show(self._work, self._images, f"{self._state()}  {what}")
      elif time.perf_counter() - self._last > self._every_s:
        self._line(f"{what} ...")

  def cells(self, count: int, what: str, seconds: float = 0.0) -> None:
    """Count finished cells, which took so long, and print their line."""
    with self._lock:
      self._done += count
      self._assembled += count
      self._assembling_s += seconds
      self._line(what)

  def note(self, text: str) -> None:
    """Print a separate line."""
    if self._bar:
      self._bar.note(text)
    elif not self._quiet:
      print(text, file=self._stream, flush=True)

  def left_s(self) -> float | None:
    """Return seconds that the rest will take; None: nothing is known yet."""
    cells_s = (self._cells - self._done) * self._assembling_s
    seconds = cells_s / max(self._assembled, 1)
    if self._work <= self._images:
      return seconds
    if self._began is None:
      return None
    gone_s = time.perf_counter() - self._began
    shown_s = self._showing.left_s(gone_s - self._compiling_s)
    first_s = self._firsts.left_s(self._compiling_s)
    if shown_s is None or first_s is None:
      return None
    return seconds + shown_s + first_s

  def _line(self, what: str) -> None:
    self._last = time.perf_counter()
    self.note(f"{self._state()}  {what}")

  def _state(self) -> str:
    """Return a text with cells, images per second, elapsed time and time left."""
    elapsed = time.perf_counter() - self._start
    left = self.left_s()
    eta = "?" if left is None else durations.text(left)
    rate = self._images / elapsed if elapsed else 0.0
    width = len(str(self._cells))
    return (
      f"[{self._done:{width}d}/{self._cells}] {rate:8,.0f} images/s"
      f"  {durations.text(elapsed):>6} elapsed  ETA {eta:>6}"
    )


class _Bar:
  """A live bar of the work on a terminal, under the lines."""

  def __init__(self, stream: TextIO):
    """Draw the bar."""
    from rich import console, progress

    self._progress = progress.Progress(
      progress.BarColumn(bar_width=20),
      progress.TaskProgressColumn(),
      progress.TextColumn("{task.description}", markup=False),
      console=console.Console(file=stream),
      transient=True,
    )
    self._task = self._progress.add_task("", total=None)
    self._progress.start()

  def show(self, work: int, images: int, text: str) -> None:
    """Show how many images of the work are done, and a text."""
    self._progress.update(
      self._task, total=work, completed=images, description=text
    )

  def note(self, text: str) -> None:
    """Print a line above the bar."""
    self._progress.console.print(
      text, markup=False, highlight=False, soft_wrap=True
    )

  def close(self) -> None:
    """Remove the bar and show the cursor."""
    self._progress.stop()
