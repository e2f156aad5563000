"""Progress: a live bar on a terminal, plain lines elsewhere; the time left."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import TextIO

from robust_tfds import durations


def say(text: str) -> None:
  """Prints a line, now."""
  print(text, flush=True)


class Progress:
  """Counts work and cells; says them every few seconds, and each condition.

  Work is the images that models are shown. The time left is told from the first
  ones that came back: the seconds of an image, without what the first use of each
  program took, times the images that are left; the seconds of such a first use,
  which waits for its compilation, times those that are left; and the same of the
  cells that are to be assembled. What an earlier start did does not count. Several
  threads may report.
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
      stream: where lines go, or on a terminal the bar; standard output by default.
      quiet: print nothing (hosts other than the first).
      every_s: least time between two lines within the work.
    """
    self._cells, self._done = cells, done
    self._work, self._images = work, 0
    self._stream = stream or sys.stdout
    self._quiet, self._every_s = quiet, every_s
    self._start = self._last = time.perf_counter()
    self._began: float | None = None  # with the first program
    self._programs = self._compiled = 0  # first uses: all, and those that were
    self._compiling_s = 0.0
    self._assembled, self._assembling_s = 0, 0.0
    self._lock = threading.RLock()
    self._bar: _Bar | None = None
    if not quiet and self._stream.isatty():
      self._bar = _Bar(self._stream)

  def __enter__(self) -> Progress:
    """Itself."""
    return self

  def __exit__(
    self,
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: TracebackType | None,
  ) -> None:
    """Takes the bar away."""
    self.close()

  def close(self) -> None:
    """Takes the bar away; lines that follow are plain."""
    with self._lock:
      bar, self._bar = self._bar, None
      if bar:
        bar.close()

  def less(self, images: int) -> None:
    """Says that some of the work was done by an earlier start."""
    self._work -= images

  def programs(self, count: int) -> None:
    """Says that so many programs will be used for the first time."""
    with self._lock:
      self._programs += count
      self._began = self._began or time.perf_counter()

  def compiled(self, seconds: float) -> None:
    """Says that a program was used for the first time, which took so long."""
    with self._lock:
      self._compiled += 1
      self._compiling_s += seconds

  def images(self, count: int, what: str) -> None:
    """Counts images that went through a model; says it now and then."""
    with self._lock:
      self._images += count
      if self._bar:
        self._bar.show(self._work, self._images, f"{self._state()}  {what}")
      elif time.perf_counter() - self._last > self._every_s:
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
    if self._bar:
      self._bar.note(text)
    elif not self._quiet:
      print(text, file=self._stream, flush=True)

  def left_s(self) -> float | None:
    """Seconds that the rest will take; None: nothing is known yet."""
    images = max(self._work - self._images, 0)
    if images and (self._began is None or not self._images):
      return None
    cells_s = (self._cells - self._done) * self._assembling_s
    seconds = cells_s / max(self._assembled, 1)
    if images and self._began is not None:
      shown_s = time.perf_counter() - self._began - self._compiling_s
      seconds += images * max(shown_s, 0.0) / self._images
      first = self._compiling_s / max(self._compiled, 1)
      seconds += (self._programs - self._compiled) * first
    return seconds

  def _line(self, what: str) -> None:
    self._last = time.perf_counter()
    self.note(f"{self._state()}  {what}")

  def _state(self) -> str:
    """Cells, images per second, time: gone and left."""
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
    """Draws it."""
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
    """How many images of the work there are, and a text."""
    self._progress.update(
      self._task, total=work, completed=images, description=text
    )

  def note(self, text: str) -> None:
    """A line above the bar."""
    self._progress.console.print(
      text, markup=False, highlight=False, soft_wrap=True
    )

  def close(self) -> None:
    """Takes it away; the cursor is there again."""
    self._progress.stop()
