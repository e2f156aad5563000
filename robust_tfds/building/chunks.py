"""Work done chunk by chunk: here, or in worker processes that stay."""

from __future__ import annotations

import collections
import concurrent.futures
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import process
from multiprocessing import connection
from types import TracebackType
from typing import Any

from robust_tfds import errors

_AHEAD = 4  # chunks a worker may be ahead of the writer


def split(items: Sequence, size: int) -> list[Sequence]:
  """Items in lists of `size`, the last one shorter."""
  return [items[i : i + size] for i in range(0, len(items), size)]


class Workers:
  """Processes that work on chunks; they start with the first and then stay.

  What they have imported and compiled serves every config that is built. They
  end with the process that started them, however that ends.

  Attributes:
    count: of processes; 1 for this one alone.
  """

  def __init__(self, count: int = 1):
    """None is started yet.

    Args:
      count: at least 1.
    """
    self.count = count
    self._pool: concurrent.futures.ProcessPoolExecutor | None = None

  def __enter__(self) -> Workers:
    """Itself."""
    return self

  def __exit__(
    self,
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: TracebackType | None,
  ) -> None:
    """Ends the processes."""
    if self._pool is not None:
      self._pool.shutdown(cancel_futures=True)
      self._pool = None

  def rows(
    self, work: Callable[[Any], Sequence], chunks: Sequence[Any]
  ) -> Iterator[Any]:
    """What `work` makes of chunks, in their order.

    Args:
      work: chunk -> rows; picklable.
      chunks: picklable.

    Raises:
      UserError: a worker process ended.
    """
    if self.count <= 1:
      for chunk in chunks:
        yield from work(chunk)
      return
    waiting: collections.deque = collections.deque()
    try:
      for chunk in chunks:
        waiting.append(self._started().submit(work, chunk))
        # Not all at once: finished chunks would pile up before a slower writer.
        if len(waiting) >= _AHEAD * self.count:
          yield from waiting.popleft().result()
      while waiting:
        yield from waiting.popleft().result()
    except process.BrokenProcessPool as e:
      self._pool = None
      raise errors.UserError(
        f"workers={self.count}: a worker process ended unexpectedly, perhaps for"
        " want of memory. Nothing half-made stays; run it again with fewer"
        " workers."
      ) from e
    finally:
      for future in waiting:
        future.cancel()

  def _started(self) -> concurrent.futures.ProcessPoolExecutor:
    if self._pool is None:
      # spawn: JAX's threads do not survive a fork.
      context = multiprocessing.get_context("spawn")
      self._pool = concurrent.futures.ProcessPoolExecutor(
        self.count, context, initializer=_end_with_parent
      )
    return self._pool


def _end_with_parent() -> None:
  """A worker whose parent was killed would wait for work for ever."""
  threading.Thread(target=_watch_parent, daemon=True).start()


def _watch_parent() -> None:
  parent = multiprocessing.parent_process()
  if parent is not None:
    connection.wait([parent.sentinel])
    os._exit(1)
