"""Lines about cells that are scored, or steps: how many, which, the time left."""

import sys
import time
from typing import TextIO

from robust_tfds import durations


class Progress:
  """Counts; prints a line every few seconds and one at the end."""

  def __init__(
    self, total: int, *, stream: TextIO | None = None, every_s: float = 5.0
  ):
    """Starts the clock.

    Args:
      total: cells, or steps.
      stream: where lines go; standard error by default.
      every_s: least time between two lines.
    """
    self._total, self._done = total, 0
    self._stream, self._every_s = stream or sys.stderr, every_s
    self._start = self._last = time.perf_counter()

  def step(self, words: str) -> None:
    """Says that one is done."""
    self._done += 1
    now = time.perf_counter()
    if now - self._last < self._every_s and self._done < self._total:
      return
    self._last = now
    took = now - self._start
    left = took / self._done * (self._total - self._done)
    line = (
      f"[{self._done:,}/{self._total:,}] {durations.text(took)} elapsed, ETA"
      f" {durations.text(left)}  {words}"
    )
    print(line, file=self._stream, flush=True)
