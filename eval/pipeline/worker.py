"""A thread that does jobs in the order they are given."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from types import TracebackType

Job = Callable[[], None]


class Worker:
  """Does jobs one after the other, beside the thread that gives them.

  The first error ends it: jobs after it are dropped, and whoever gives a job or
  waits gets the error.
  """

  def __init__(self, name: str, most: int = 0):
    """Starts the thread.

    Args:
      most: jobs that may wait; who gives one more waits; 0 for any number.
    """
    self._jobs: queue.Queue[Job | None] = queue.Queue(most)
    self._error: BaseException | None = None
    self._thread = threading.Thread(target=self._work, name=name, daemon=True)
    self._thread.start()

  def do(self, job: Job) -> None:
    """Gives a job.

    Raises:
      BaseException: what an earlier job raised.
    """
    self.check()
    self._jobs.put(job)

  def check(self) -> None:
    """Raises what a job raised."""
    if self._error is not None:
      raise self._error

  def wait(self) -> None:
    """Waits until all jobs are done.

    Raises:
      BaseException: what a job raised.
    """
    self._jobs.join()
    self.check()

  def __enter__(self) -> Worker:
    """Itself."""
    return self

  def __exit__(
    self,
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: TracebackType | None,
  ) -> None:
    """Ends the thread; after an error of the giver jobs that wait are dropped."""
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
