"""One pass over a source: its batches to the devices, their outputs to parts.

Four threads work at once. One reads and decodes (`pipeline/blocks.py`); this one
puts each batch onto the devices once and gives them, for each condition, the
corruption and the models; one fetches what comes back; one writes a part a block
(`cells/parts.py`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from robust_tfds import conditions, errors
from robust_tfds.eval.cells import disk, packed, predictions
from robust_tfds.eval.cells import parts as parts_lib
from robust_tfds.eval.cells.cell import Cell
from robust_tfds.eval.pipeline import (
  blocks,
  devices,
  inputs,
  on_host,
  packing,
  worker,
)
from robust_tfds.eval.run import timing
from robust_tfds.eval.run.model.load import LoadedModel
from robust_tfds.eval.run.progress import Progress
from robust_tfds.eval.tasks.base import Task

IN_FLIGHT = 3  # batches of a model given to the devices and not yet fetched
_CHUNK_BYTES = 32 << 20  # of outputs that wait for the writer
# Batches whose stages are timed: each waits for the one before.
_TIMED = (1, 16, 256)


@dataclasses.dataclass(frozen=True, eq=False)
class Setup:
  """What all cells of a run are made with.

  Attributes:
    task: what is kept of the outputs.
    loaded: models by label.
    mesh: all devices.
    host: this one.
    stages: where the time goes.
    progress: what is printed.
    block_nbytes: decoded pixels of a block; two are in memory at most.
  """

  task: Task
  loaded: Mapping[str, LoadedModel]
  mesh: Mesh
  host: inputs.Host
  stages: timing.Stages
  progress: Progress
  block_nbytes: int

  @contextlib.contextmanager
  def explained(self, cell: Cell, batch: inputs.Batch) -> Iterator[None]:
    """Devices that fail, and whatever a user's own model raises, in words."""
    own = self.loaded[cell.model].own is not None
    try:
      yield
    except errors.UserError:
      raise
    except Exception as error:
      if not own and not isinstance(error, jax.errors.JaxRuntimeError):
        raise
      ids = [repr(i) for i, ok in zip(batch.example_id, batch.mask) if ok]
      raise errors.UserError(
        f"{cell.model} fails on {cell.condition.config}, in the batch of the"
        f" examples {' to '.join(ids[:: max(len(ids) - 1, 1)])}:"
        f" {errors.of_user(error)}. Finished cells are untouched. If memory ran"
        " out, lower --config.batch_size."
      ) from error


class Pass:
  """One pass over what remains of a source, for some cells."""

  def __init__(
    self,
    setup: Setup,
    parts: parts_lib.Parts,
    cells: Sequence[Cell],
    source: inputs.Source,
  ):
    """Compiles nothing yet.

    Args:
      setup: of the run.
      parts: where the outputs go.
      cells: that are not finished.
      source: what they are made of.
    """
    self._setup, self._task, self._loaded = setup, setup.task, setup.loaded
    self._mesh, self._host = setup.mesh, setup.host
    self._stages, self._progress = setup.stages, setup.progress
    self._parts, self._cells, self._source = parts, cells, source
    # In the order of use: a condition's models one after the other.
    self._by_condition: dict[conditions.Condition, list[Cell]] = {}
    for cell in cells:
      self._by_condition.setdefault(cell.condition, []).append(cell)
    specs = {c.model: self._loaded[c.model].spec for c in cells}
    self._show = self._task.show(self._mesh, specs)
    self._reader = self._task.reader(source, list(self._by_condition), specs)
    self._free = threading.Semaphore(IN_FLIGHT * len(specs))
    self._shapes: set[tuple[int, ...]] = set()
    self._over = threading.Event()

  def run(self, ranges: Sequence[blocks.Range]) -> None:
    """Writes the parts of some ranges of rows."""
    begin = time.perf_counter()
    size = self._source.batch_size
    rows = max(self._setup.block_nbytes // self._reader.usual_nbytes, 1)
    with (
      contextlib.ExitStack() as part,  # left when the threads have ended
      worker.Worker("write", most=2) as writer,
      worker.Worker("fetch") as fetcher,
      worker.Worker("compile ahead") as ahead,
      blocks.Blocks(
        self._reader,
        ranges,
        batch_size=size,
        block_rows=-(-rows // size) * size,
        block_nbytes=self._setup.block_nbytes,
        equal_steps=self._host.count > 1,
        check=fetcher.check,
      ) as steps,
    ):
      fetch = part.enter_context(
        _Fetch(self._setup, self._parts, self._cells, self._free, writer, steps)
      )
      try:
        for number, step in enumerate(steps):
          if step.batch is None:
            fetcher.do(functools.partial(fetch.end_block, step))
            self._stages.watch()
          else:
            self._give(number, step, step.batch, fetcher, ahead, fetch)
        fetcher.wait()
        writer.wait()
      finally:
        self._over.set()
        for model in self._loaded.values():
          model.predictor.give_up()
    self._stages.add("waited", steps.waited_s)
    self._stages.add("read", steps.reading_s)
    self._stages.add("wall", time.perf_counter() - begin)

  def _give(
    self,
    number: int,
    step: blocks.Step,
    batch: inputs.Batch,
    fetcher: worker.Worker,
    ahead: worker.Worker,
    fetch: _Fetch,
  ) -> None:
    """One batch to the devices, under every condition to every model."""
    batch = self._same_canvas(batch)
    shape = batch.image.shape
    if new := shape not in self._shapes:
      self._shapes.add(shape)
      shapes = self._show.shapes(batch)
      if shapes is not None:
        of_labels = devices.batch_shape(batch.label, self._mesh)
        ahead.do(functools.partial(self._compile_ahead, shapes, of_labels))
    timed = not new and number in _TIMED
    if timed:
      fetcher.wait()
    placed = self._show.put(batch)
    labels = devices.put_batch(batch.label, self._mesh)
    for condition, cells in self._by_condition.items():
      reduce = self._task.reducer(condition)
      start, seen = time.perf_counter(), None
      for cell in cells:
        self._wait_for_room(fetcher)
        begin = time.perf_counter()
        model = self._loaded[cell.model]
        with self._setup.explained(cell, batch):
          if seen is None or self._task.per_model:
            seen = self._show.see(placed, condition, model.spec)
            if timed:
              start = self._time("corrupt", start, seen[0], seen[0])
          outputs = model.predictor(
            seen[0], labels, reduce, seen[1], int(batch.mask.sum())
          )
          if timed:
            start = self._time(f"infer {cell.model}", start, outputs, seen[0])
        self._stages.given()
        if new:
          self._stages.add("compile", time.perf_counter() - begin)
        self._stages.images += self._count(seen[0])
        fetcher.do(functools.partial(fetch.outputs, cell, batch, outputs))
    fetcher.do(functools.partial(fetch.end_batch, step, batch))
    if new:
      fetcher.do(self._progress.steady)

  def _wait_for_room(self, fetcher: worker.Worker) -> None:
    """Until few enough batches are on the devices, or fetching failed."""
    while not self._free.acquire(timeout=0.2):
      fetcher.check()

  def _compile_ahead(self, shapes: Any, labels: Any) -> None:
    """All programs that a batch of these shapes needs, in the order of use."""
    # What goes wrong here goes wrong again, and is said, where it is used.
    with contextlib.suppress(Exception):
      for condition, cells in self._by_condition.items():
        reduce = self._task.reducer(condition)
        for cell in cells:
          if self._over.is_set():
            return
          model = self._loaded[cell.model]
          images, sizes = self._show.see(shapes, condition, model.spec)
          model.predictor(images, labels, reduce, sizes)

  def _count(self, images: jax.Array) -> int:
    """Images of a batch, of this host."""
    return math.prod(images.shape[:-3]) // self._host.count

  def _time(
    self, stage: str, start: float, outputs: Any, images: jax.Array
  ) -> float:
    """Waits for the devices and notes the seconds an image; gives the time."""
    jax.block_until_ready(outputs)
    now = time.perf_counter()
    self._stages.add(stage, (now - start) / self._count(images))
    return now

  def _same_canvas(self, batch: inputs.Batch) -> inputs.Batch:
    """The batch on a canvas that fits the batches of all hosts."""
    if self._host.count == 1 or not batch.any_size:
      return batch
    from jax.experimental import multihost_utils

    shape = np.array(batch.image.shape[1:3])
    largest = multihost_utils.process_allgather(shape).max(axis=0)
    height, width = largest.tolist()
    return inputs.on_larger_canvas(batch, (height, width))


class _GivenUp(Exception):
  """A part will not be whole."""


class _Fetch:
  """What the fetching thread does, in the order in which batches were given."""

  def __init__(
    self,
    setup: Setup,
    parts: parts_lib.Parts,
    cells: Sequence[Cell],
    free: threading.Semaphore,
    writer: worker.Worker,
    steps: blocks.Blocks,
  ):
    """Opens no part yet.

    Args:
      setup: of the run.
      parts: where the outputs go.
      cells: that are made.
      free: room on the devices, given back for every batch that was fetched.
      writer: the writing thread.
      steps: whose pixels are given back.
    """
    self._setup, self._task, self._stages = setup, setup.task, setup.stages
    self._parts, self._cells, self._free = parts, cells, free
    self._writer, self._steps = writer, steps
    self._examples: list[predictions.Columns] = []
    self._outputs: dict[Cell, list[predictions.Columns]] = {}
    self._nbytes = 0
    self._part: contextlib.ExitStack | None = None
    self._open: parts_lib.PartWriter | None = None

  def __enter__(self) -> _Fetch:
    """Itself."""
    return self

  def __exit__(self, *error: Any) -> None:
    """Gives up a part that is not whole; no thread writes any more."""
    if self._part is not None:
      with contextlib.suppress(disk.DiskError):  # there is another error
        self._part.__exit__(_GivenUp, _GivenUp(), None)

  def outputs(
    self,
    cell: Cell,
    batch: inputs.Batch,
    outputs: packing.Outputs | on_host.Outputs,
  ) -> None:
    """Waits for the outputs of a batch and keeps what the task says."""
    with self._setup.explained(cell, batch):
      fetched = outputs.fetch()
    self._stages.fetched()
    self._free.release()
    _check_finite(cell, batch, fetched.pop("finite"))
    columns = self._task.columns(batch, fetched, cell.condition)
    self._outputs.setdefault(cell, []).append(columns)
    self._nbytes += packed.nbytes(columns)
    images = int(batch.mask.sum()) * self._task.images_per_example(
      cell.condition
    )
    self._setup.progress.images(images, cell.condition.config)

  def end_batch(self, step: blocks.Step, batch: inputs.Batch) -> None:
    """All outputs of a batch are there: its pixels are not needed any more."""
    self._examples.append(self._task.example_columns(batch))
    self._steps.release(step)
    if self._nbytes > _CHUNK_BYTES:
      self._write_chunk(step.block)

  def end_block(self, step: blocks.Step) -> None:
    """The block's last rows: its part is finished."""
    self._write_chunk(step.block)
    self._writer.do(self._finish_part)

  def _write_chunk(self, block: blocks.Range) -> None:
    examples, outputs = self._examples, self._outputs
    self._examples, self._outputs, self._nbytes = [], {}, 0
    if examples:
      job = functools.partial(self._write, block, examples, outputs)
      self._writer.do(job)

  def _write(
    self,
    block: blocks.Range,
    examples: Sequence[predictions.Columns],
    outputs: Mapping[Cell, Sequence[predictions.Columns]],
  ) -> None:
    """The writing thread's: the rows of some batches."""
    start = time.perf_counter()
    if self._open is None:
      self._part = contextlib.ExitStack()
      writing = self._parts.writing(block, self._cells)
      self._open = self._part.enter_context(writing)
    self._open.chunk(
      predictions.concatenate(examples),
      {c: predictions.concatenate(columns) for c, columns in outputs.items()},
    )
    self._stages.add("write", time.perf_counter() - start)

  def _finish_part(self) -> None:
    """The writing thread's: the part is whole."""
    start = time.perf_counter()
    if self._part is not None:
      self._part.close()
    self._part = self._open = None
    self._stages.add("write", time.perf_counter() - start)


def _check_finite(cell: Cell, batch: inputs.Batch, finite: np.ndarray) -> None:
  bad = [i for i, ok in zip(batch.example_id, finite | ~batch.mask) if not ok]
  if bad:
    raise errors.UserError(
      f"{cell.model} gave NaN or infinite logits on {len(bad)} examples of"
      f" {cell.condition.config}, the first {bad[0]!r}. Check the checkpoint"
      " and the dtype; finished cells are untouched."
    )
