"""Lines about cells that are scored, or steps: how many, which, the time left."""

import functools
import sys
import time
from collections.abc import Callable
from typing import TextIO

from robust_tfds import durations


class Progress:
  """Counts; prints a line every few seconds and one at the end."""

  def __init__(
    self,
    total: int,
    *,
    stream: TextIO | None = None,
    say: Callable[[str], None] | None = None,
    every_s: float = 5.0,
  ):
    """Start the clock.

    Args:
      total: cells, or steps.
      stream: where lines go; standard error by default.
      say: what is done with a line instead.
      every_s: least time between two lines.
    """
    to_stream = functools.partial(print, file=stream or sys.stderr, flush=True)
    self._total, self._done = total, 0
    self._say, self._every_s = say or to_stream, every_s
    self._start = self._last = time.perf_counter()
    self._first = self._start  # when one was done

  def step(self, words: str) -> None:
    """Report a finished step; the ETA leaves out the first.

    The first one compiles.
    """
    self._done += 1
    now = time.perf_counter()
    self._first = now if self._done == 1 else self._first
    if now - self._last < self._every_s and self._done < self._total:
      return
    self._last = now
    self._say(self._line(now, words))

  def _line(self, now: float, words: str) -> str:
    count = f"[{self._done:,}/{self._total:,}]"
    line = f"{count} {durations.text(now - self._start)} elapsed"
    if self._done > 1 or self._done == self._total:
      each = (now - self._first) / max(self._done - 1, 1)
      line += f", ETA {durations.text(each * (self._total - self._done))}"
    return f"{line}  {words}"
