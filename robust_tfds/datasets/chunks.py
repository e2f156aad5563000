"""Examples made chunk by chunk: here, in worker processes, or by Apache Beam."""

from __future__ import annotations

import collections
import concurrent.futures
import multiprocessing
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from concurrent.futures import process
from typing import Any

from robust_tfds import errors

_AHEAD = 4  # chunks a worker may be ahead of the writer


def split(items: Sequence, size: int) -> list[Sequence]:
  """Items in lists of `size`, the last one shorter."""
  return [items[i : i + size] for i in range(0, len(items), size)]


def examples(
  work: Callable[[Sequence], Sequence],
  chunks: Sequence[Sequence],
  example: Callable[[Any], tuple[str, dict[str, Any]]],
  *,
  workers: int = 1,
  beam: bool = False,
) -> Any:
  """What a TFDS builder's `_generate_examples` returns.

  Args:
    work: chunk of sources -> rows; picklable, runs in the workers.
    chunks: of sources, picklable.
    example: row -> (key, example).
    workers: processes.
    beam: return a Beam transform instead of an iterator.
  """
  if beam:
    return _pipeline(work, chunks, example)
  return map(example, _rows(work, chunks, workers))


def _rows(work: Callable, chunks: Sequence, workers: int) -> Iterator:
  if workers <= 1:
    for chunk in chunks:
      yield from work(chunk)
    return
  # spawn: JAX's threads do not survive a fork.
  context = multiprocessing.get_context("spawn")
  with concurrent.futures.ProcessPoolExecutor(workers, context) as pool:
    waiting: collections.deque = collections.deque()
    try:
      for chunk in chunks:
        waiting.append(pool.submit(work, chunk))
        # Not all at once: finished chunks would pile up before a slower writer.
        if len(waiting) >= _AHEAD * workers:
          yield from waiting.popleft().result()
      while waiting:
        yield from waiting.popleft().result()
    except process.BrokenProcessPool as e:
      raise errors.UserError(
        f"workers={workers}: a worker process ended unexpectedly, perhaps for"
        " want of memory. Nothing half-made stays; run it again with fewer"
        " workers."
      ) from e
    finally:
      for future in waiting:
        future.cancel()


def _pipeline(work: Callable, chunks: Sequence, example: Callable) -> Any:
  import apache_beam as beam

  return (
    beam.Create(chunks)
    | beam.Reshuffle()
    | beam.FlatMap(work)
    | beam.Map(example)
  )
