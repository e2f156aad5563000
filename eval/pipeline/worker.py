"""A thread that runs jobs in the order they are given."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from types import TracebackType

Job = Callable[[], None]


class Worker:
  """A worker that runs jobs one after the other, in its own thread.

  The first error ends it: later jobs are dropped, and giving a job or waiting
  raises the error.
  """

  def __init__(self, name: str, most: int = 0):
    """Start the thread.

    Args:
      most: largest number of waiting jobs, beyond which `do` blocks; 0 for no
        limit.
    """
    self._jobs: queue.Queue[Job | None] = queue.Queue(most)
    self._error: BaseException | None = None
    self._thread = threading.Thread(target=self._work, name=name, daemon=True)
    self._thread.start()

  def do(self, job: Job) -> None:
    """Give a job.

    Raises:
      BaseException: the error of an earlier job.
    """
    self.check()
    self._jobs.put(job)

  def check(self) -> None:
    """Raise the error of a job, if any."""
    if self._error is not None:
      raise self._error

  def wait(self) -> None:
    """Wait until all jobs are done.

    Raises:
      BaseException: the error of a job.
    """
    self._jobs.join()
    self.check()

  def __enter__(self) -> Worker:
    """Return the worker."""
    return self

  def __exit__(
    self,
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: TracebackType | None,
  ) -> None:
    """End the thread; after an error of the caller, waiting jobs are dropped."""
    if error is not None and self._error is None:
      self._error = error
    self._jobs.put(None)
    self._thread.join()
    if error is None:
      self.check()

  def _work(self) -> None:
    while (job := self._jobs.get()) is not None:
      try:
        if self._error is None:
          job()
      except BaseException as e:  # handed to who gives jobs
        self._error = e
      finally:
        self._jobs.task_done()
        del job  # and what it holds, while there is no other
