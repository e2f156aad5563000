"""Batches that are read ahead, by threads or by processes.

The rows of several batches are filled at once, a few at a time. Threads share
Python's lock, which a photograph holds for a quarter of its time. Processes do not:
they fill memory that they share with this one, stay for all epochs, and end with
whom they read for, however that ends, because their connection closes. They are
new programs, never forks, and see no accelerator.
"""

from __future__ import annotations

import mmap
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import traceback
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing import connection
from typing import Any, NamedTuple, Protocol

import numpy as np

from robust_tfds import cores, errors

Item = Mapping[str, Any]
_AHEAD = 3  # batches that are filled while one is used
_RUN = 16  # most examples that are sent to a process at once
_EACH = 2 * _RUN  # examples that wait for each process, at least
_ALIGNED = 64  # bytes
_PYTHON = "import sys; sys.path[:] = {}; from {} import serve; serve({}, {})"


class Task(Protocol):
  """An example that is to be read."""

  @property
  def name(self) -> str:
    """Its id, for the screen."""


class Tasks(Protocol):
  """The examples of an epoch, in their order."""

  def __len__(self) -> int:
    """Return their number."""

  def select(self, start: int, stop: int, *, stored: bool) -> Sequence[Task]:
    """Return a few.

    Args:
      stored: whether they say where they lie, for another process.
    """


Make = Callable[[Any], Item]  # reads a task


class Column(NamedTuple):
  """An array of an example: its name, dtype and shape."""

  name: str
  dtype: str
  shape: tuple[int, ...]


class Layout(tuple[Column, ...]):
  """The arrays of every example of a part of the data."""

  @classmethod
  def from_item(cls, item: Item) -> Layout:
    """Return the layout of an example."""
    arrays = {name: np.asarray(x) for name, x in item.items()}
    return cls(Column(n, x.dtype.str, x.shape) for n, x in arrays.items())

  def nbytes(self, rows: int) -> int:
    """Return the bytes of so many examples."""
    return sum(self._sizes(rows))

  def arrays(
    self, rows: int, memory: memoryview | None = None
  ) -> dict[str, np.ndarray]:
    """Return arrays for so many examples, in new memory or in this."""
    out: dict[str, np.ndarray] = {}
    space: Any = memory
    if memory is None:
      space = np.empty(self.nbytes(rows), np.uint8)
    at = 0
    for (name, dtype, shape), size in zip(self, self._sizes(rows), strict=True):
      out[name] = np.ndarray((rows, *shape), dtype, space, at)
      at += size
    return out

  def put(self, arrays: Mapping[str, np.ndarray], row: int, item: Item) -> None:
    """Write an example's arrays as a row.

    Raises:
      UserError: they are of other shapes.
    """
    for name, _, shape in self:
      if np.shape(item[name]) != shape:
        raise errors.UserError(
          f"{name}s of several shapes, e.g. {shape} and {np.shape(item[name])};"
          " a batch is of one. Say how they are cut: data.crop=random_resized224 to"
          " train on, data.geometry=short256_crop224 to validate on."
        )
      arrays[name][row] = item[name]

  def _sizes(self, rows: int) -> list[int]:
    """Return the bytes of each column, up to where the next one begins."""
    counts = (
      rows * np.dtype(dtype).itemsize * int(np.prod(shape, dtype=np.int64))
      for _, dtype, shape in self
    )
    return [-(-count // _ALIGNED) * _ALIGNED for count in counts]


def by_threads(
  make: Make, tasks: Tasks, layout: Layout, size: int, count: int
) -> Iterator[dict[str, np.ndarray]]:
  """Yield the arrays of an epoch's batches, read ahead by threads.

  Args:
    size: examples of a batch; of the last one as many as are left.
    count: number of threads.

  Raises:
    Exception: of the first example, in order, that cannot be read.
  """

  def units() -> Iterator[tuple[dict[str, np.ndarray], int, Any]]:
    for start in range(0, len(tasks), size):
      batch = tasks.select(start, start + size, stored=False)
      arrays = layout.arrays(len(batch))
      yield from ((arrays, row, task) for row, task in enumerate(batch))

  def fill(unit: tuple[dict[str, np.ndarray], int, Any]) -> Any:
    arrays, row, task = unit
    layout.put(arrays, row, make(task))
    return arrays

  filled = cores.mapped(
    fill, units(), count, lambda unit: unit[-1].name, ahead=_AHEAD * size
  )
  for done, arrays in enumerate(filled, 1):
    if done % size == 0 or done == len(tasks):
      yield arrays


class Processes:
  """Processes that read, started when the first batch is asked for."""

  def __init__(self, make: Make, count: int):
    """Start none yet.

    Args:
      make: picklable.
      count: number of processes.
    """
    self._make, self._count = make, count
    self._workers: list[_Worker] = []
    self._memory = _Memory()
    self._turn = 0
    self._active: object = None
    weakref.finalize(self, _end, self._workers)

  def close(self) -> None:
    """End the processes at once; the next batch starts new ones."""
    self._active = None
    _end(self._workers)

  def batches(
    self, tasks: Tasks, layout: Layout, size: int
  ) -> Iterator[dict[str, np.ndarray]]:
    """Yield the arrays of an epoch's batches, read ahead.

    One epoch is read at a time: where another begins, what was read ahead for this
    one is read again later.

    Args:
      size: examples of a batch; of the last one as many as are left.

    Raises:
      UserError: a process died, or there is no memory.
      Exception: of the first example, in order, that cannot be read.
    """
    try:
      yield from self._batches(tasks, layout, size)
    except GeneratorExit:  # the next epoch waits for what was sent
      raise
    except BaseException:
      self.close()
      raise

  def _batches(
    self, tasks: Tasks, layout: Layout, size: int
  ) -> Iterator[dict[str, np.ndarray]]:
    count, this, sent = -(-len(tasks) // size), object(), 0
    runs: dict[int, list[tuple[_Worker, Sequence[Task]]]] = {}
    slots = max(-(-_EACH * self._count // size), _AHEAD)
    space = layout.nbytes(size)
    for place in range(count):
      if self._active is not this:
        self._begin(slots * space)
        self._active, sent = this, place
      while sent < min(place + slots, count):
        offset = sent % slots * space
        runs[sent] = self._send(tasks, layout, (sent * size, size), offset)
        sent += 1
      for worker, part in runs.pop(place):
        worker.wait([task.name for task in part])
      rows = min(size, len(tasks) - place * size)
      memory = self._memory.view(place % slots * space, space)
      arrays = layout.arrays(size, memory)
      yield {name: x[:rows].copy() for name, x in arrays.items()}

  def _begin(self, size: int) -> None:
    """Start processes where there are none; wait for what another epoch sent."""
    self._memory.grow(size)
    if not self._workers:
      head = pickle.dumps(self._make)
      for _ in range(self._count):
        self._workers.append(_Worker(self._memory.descriptor, head))
    for worker in self._workers:
      worker.drain()

  def _send(
    self, tasks: Tasks, layout: Layout, rows: tuple[int, int], offset: int
  ) -> list[tuple[_Worker, Sequence[Task]]]:
    """Send the tasks of a batch; return who has which."""
    (start, size), out = rows, []
    part = min(-(-size // self._count), _RUN)
    for first in range(start, min(start + size, len(tasks)), part):
      stop = min(first + part, start + size)
      chosen = tasks.select(first, stop, stored=True)
      worker = self._workers[self._turn % self._count]
      self._turn += 1
      head = self._memory.size, offset, first - start, size
      worker.send((*head, layout, chosen))
      out.append((worker, chosen))
    return out


class _Memory:
  """Memory that processes share; without a name, so that nothing is left of it."""

  def __init__(self) -> None:
    if hasattr(os, "memfd_create"):  # Linux; it takes no room in /dev/shm
      self._file: Any = os.fdopen(os.memfd_create("examples"), "r+b")
    else:
      self._file = tempfile.TemporaryFile()
    self.descriptor, self.size = self._file.fileno(), 0

  def grow(self, size: int) -> None:
    """Take at least so many bytes.

    Raises:
      UserError: there are none.
    """
    if size <= self.size:
      return
    try:
      if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(self.descriptor, 0, size)
      else:
        os.ftruncate(self.descriptor, size)
      self._map = mmap.mmap(self.descriptor, size)
    except OSError as e:
      raise errors.UserError(
        f"{size / 2**20:,.0f} MiB of shared memory for the batches that are read"
        f" ahead: {e.strerror}. Name a smaller batch_size, or read by threads:"
        " --config.data.workers=0."
      ) from e
    self.size = size

  def view(self, offset: int, size: int) -> memoryview:
    """Return a part."""
    return memoryview(self._map)[offset : offset + size]


class _Worker:
  """A process that reads, and what it was sent."""

  def __init__(self, memory: int, head: bytes):
    self._ours, theirs = multiprocessing.Pipe()
    self._sent = 0
    inherited = theirs.fileno(), memory
    code = _PYTHON.format(repr(sys.path), __name__, *inherited)
    with theirs:
      self.process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.DEVNULL,
        pass_fds=inherited,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
      )
    self._send(head, ())

  def send(self, message: tuple[Any, ...]) -> None:
    """Send some tasks."""
    self._send(pickle.dumps(message), [task.name for task in message[-1]])
    self._sent += 1

  def wait(self, names: Sequence[str]) -> None:
    """Wait until the first tasks that were sent are done.

    Raises:
      UserError: the process died.
      Exception: an example cannot be read.
    """
    try:
      if not self._ours.poll(cores.SLOW_S):
        more = f" or one of the {len(names) - 1} after it" * (len(names) > 1)
        cores.say_slow(names[0] + more)
      answer = self._ours.recv_bytes()
    except (EOFError, OSError) as e:
      raise self._died(names) from e
    self._sent -= 1
    if answer:
      raise pickle.loads(answer)

  def drain(self) -> None:
    """Wait for all that was sent; whether it was read is of no matter."""
    try:
      while self._sent:
        self._ours.recv_bytes()
        self._sent -= 1
    except (EOFError, OSError) as e:
      raise self._died(()) from e

  def end(self) -> None:
    """End the process."""
    self._ours.close()
    self.process.kill()
    self.process.wait()

  def _send(self, message: bytes, names: Sequence[str]) -> None:
    try:
      self._ours.send_bytes(message)
    except OSError as e:
      raise self._died(names) from e

  def _died(self, names: Sequence[str]) -> errors.UserError:
    code = self.process.wait()
    how = f"signal {-code}" if code < 0 else f"exit status {code}"
    read = f" It read {names[0]} to {names[-1]}." if names else ""
    return errors.UserError(
      f"a process that reads examples ended unexpectedly ({how}), perhaps for want"
      f" of memory.{read} The same command goes on from the last checkpoint; fewer"
      " processes: --config.data.workers=1, none: 0."
    )


def _end(workers: list[_Worker]) -> None:
  while workers:
    workers.pop().end()


def serve(descriptor: int, memory: int) -> None:
  """Read examples for another process until it ends.

  Args:
    descriptor: that of the connection.
    memory: that of the shared memory.
  """
  signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asks says when to end
  size, space = 0, memoryview(b"")
  try:
    with connection.Connection(descriptor) as asks:
      make = pickle.loads(asks.recv_bytes())
      while True:
        total, at, row, rows, layout, tasks = pickle.loads(asks.recv_bytes())
        if total > size:
          size, space = total, memoryview(mmap.mmap(memory, total))
        arrays = layout.arrays(rows, space[at:])
        asks.send_bytes(_answer(make, layout, arrays, row, tasks))
  except (EOFError, OSError):  # who asks has ended
    os._exit(0)  # at once: what was imported takes seconds to tear down


def _answer(
  make: Make,
  layout: Layout,
  arrays: Mapping[str, np.ndarray],
  first: int,
  tasks: Sequence[Task],
) -> bytes:
  """Fill rows; return the pickled exception that prevented it, or nothing."""
  try:
    for row, task in enumerate(tasks, first):
      layout.put(arrays, row, make(task))
  except Exception as e:
    if not isinstance(e, errors.UserError):
      e.add_note(traceback.format_exc())
    try:
      return pickle.dumps(e)
    except Exception:
      return pickle.dumps(RuntimeError(traceback.format_exc()))
  return b""
