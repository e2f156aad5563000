"""Ctrl-C and TERM: a command keeps what it has, says one line and ends in seconds.

Python runs its handler of a signal in the main thread, once that one is back from
whatever it waits for: a compiler, a device. So a thread of its own receives
signals at once. It calls the functions of `when_stopped`, which save what is worth
keeping, and ends the process with the status that shells expect, 128 + the signal.
If there are none, the main thread is interrupted and may clear up until then;
`telling` prints how far it is.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import NoReturn

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LIMIT_S = 2.5  # for saving and clearing up: the process ends within three

# Writes what there is; says in words what is kept, or nothing.
Keep = Callable[[], str | None]

_kept: list[Keep] = []
_told: list[Callable[[], str]] = []
_screen = 2
_cleared_up, _listening = threading.Event(), threading.Event()


def listen() -> None:
  """Let INT and TERM stop this process; call it again after another library took them."""
  global _screen
  _screen = os.dup(2)  # others may write elsewhere meanwhile
  for number in _SIGNALS:
    signal.signal(number, _interrupt)
  if not _listening.is_set():
    _listening.set()
    _Listener().start()


@contextlib.contextmanager
def when_stopped(keep: Keep) -> Iterator[None]:
  """Call `keep`, in another thread, if the process is stopped meanwhile.

  The last one that came is called first. The main thread is not interrupted.
  """
  _kept.append(keep)
  try:
    yield
  finally:
    _kept.remove(keep)


@contextlib.contextmanager
def telling(words: Callable[[], str]) -> Iterator[None]:
  """Print `words()` if the process is stopped meanwhile, and interrupt it.

  They are asked for after what was interrupted has cleared up.
  """
  _told.append(words)
  stopped = False
  try:
    yield
  except KeyboardInterrupt:
    stopped = True
    raise
  finally:
    if not stopped:
      _told.remove(words)


def end() -> NoReturn:
  """End a command that was interrupted."""
  _cleared_up.set()
  if _listening.is_set():  # the listener does it, which knows the signal
    time.sleep(2 * _LIMIT_S)
  print(_line([]), file=sys.stderr, flush=True)
  sys.exit(128 + signal.SIGINT)


class _Listener(threading.Thread):
  """Waits for signals."""

  def __init__(self) -> None:
    """Create it; Python writes signals into a pipe at once."""
    super().__init__(name="signals", daemon=True)
    self._reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

  def run(self) -> None:
    """End the process at the first signal; at a second one, at once."""
    number = self._next()
    threading.Thread(target=_stop, args=(number,), daemon=True).start()
    os._exit(128 + self._next())

  def _next(self) -> int:
    while (number := os.read(self._reading, 1)[0]) not in _SIGNALS:
      pass
    return number


def _stop(number: int) -> None:
  """Keep what there is, say so and end the process."""
  deadline, lines = time.monotonic() + _LIMIT_S, []

  def keep_all() -> None:
    for keep in reversed(_kept):
      if words := keep():
        lines.append(words)

  if _kept:
    thread = threading.Thread(target=keep_all, daemon=True)
    thread.start()
    thread.join(deadline - time.monotonic())
  else:
    _cleared_up.wait(deadline - time.monotonic())
    lines = [words() for words in reversed(_told)]
  os.write(_screen, f"{_line(lines)}\n".encode())
  os._exit(128 + number)


def _interrupt(number: int, frame: object) -> None:
  """Handle a signal in the main thread."""
  del number, frame
  if not _kept:
    raise KeyboardInterrupt


def _line(words: list[str]) -> str:
  return "; ".join(["stopped", *words, "the same command goes on"])
