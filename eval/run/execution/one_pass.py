"""One pass over a source: its batches to the devices, their outputs to parts.

Four threads work at once. One reads and decodes (`pipeline/blocks.py`); this one
puts each batch onto the devices once and gives them, for each condition, the
corruption and the models; one fetches what comes back; one writes it as parts
(`cells/files/parts.py`), every few seconds, so that little is made twice by a run that
was stopped.

What is shown of a block is a wave: the batches that are on the devices together.
Condition by condition all of them are shown, so that the cells of a small set are
finished one after another, while programs of later conditions are compiled.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import itertools
import math
import threading
import time
from collections.abc import (
  Callable,
  Collection,
  Iterable,
  Iterator,
  Mapping,
  Sequence,
)
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from eval.cells.cell import Cell
from eval.cells.files import packed, predictions
from eval.cells.files import parts as parts_lib
from eval.pipeline import (
  adapting,
  blocks,
  inputs,
  mixed,
  on_host,
  packing,
  whole_outputs,
  worker,
)
from eval.run.execution import timing
from eval.run.execution.progress import Progress
from eval.run.model.load import LoadedModel
from eval.tasks.base import Task
from robust_tfds import devices, errors, hosts, stopping
from robust_tfds.conditions import Condition
from robust_tfds.storage import disk

IN_FLIGHT = 3  # batches of a model given to the devices and not yet fetched
_PART_BYTES = 32 << 20  # outputs that wait for the writer
# A part is written after so many seconds: a kill takes no more, and what is on its
# way. And where a cell may be finished by it, after so many.
_PART_S, _CELLS_S = 10.0, 1.0
# Batches whose stages are timed: each waits for the one before.
_TIMED = (1, 16, 256)
_ADAPTED = (
  16  # batches of a block where models adapt: a kill loses these at most
)


@dataclasses.dataclass(frozen=True, eq=False)
class Setup:
  """The objects that all cells of a run are made with.

  Attributes:
    task: what is kept of the outputs.
    loaded: models by label.
    mesh: all devices.
    host: this one.
    stages: where the time goes.
    progress: what is printed.
    block_nbytes: decoded pixels of a block; two are in memory at most.
    shown_ids: ids of examples whose pixels, as models see them, `note` is told.
    note: takes a condition, an id and uint8 `[H, W, 3]` or `[T, H, W, 3]`.
  """

  task: Task
  loaded: Mapping[str, LoadedModel]
  mesh: Mesh
  host: hosts.Host
  stages: timing.Stages
  progress: Progress
  block_nbytes: int
  shown_ids: Collection[str] = ()
  note: Callable[[Condition, str, np.ndarray], None] | None = None

  @contextlib.contextmanager
  def explained(self, cell: Cell, batch: inputs.Batch) -> Iterator[None]:
    """Explain failures of devices, and all that a user's own model raises."""
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
        f" {errors.user_fault(error)}. Finished cells are untouched. If memory ran"
        " out, lower --config.batch_size."
      ) from error


@dataclasses.dataclass(frozen=True, eq=False)
class _PlacedBatch:
  """A batch on the devices; its pixels on the host are given up.

  Attributes:
    step: step of the block.
    batch: without its pixels.
    placed: what `Show.put` gave.
    labels: on the devices.
    new: whether programs are compiled for its shape.
    timed: whether the stages are timed.
    nbytes: bytes of its pixels, with the canvases around them.
  """

  step: blocks.Step
  batch: inputs.Batch
  placed: Any
  labels: jax.Array
  new: bool
  timed: bool
  nbytes: int


class Pass:
  """One pass over the rest of a source, for some cells."""

  def __init__(
    self,
    setup: Setup,
    parts: parts_lib.Parts,
    lacking: Sequence[parts_lib.Missing],
    cells: Sequence[Cell],
    source: inputs.Source,
  ):
    """Compile nothing yet.

    Args:
      parts: where the outputs go.
      lacking: ranges of rows, and which of the cells lack them.
      cells: the unfinished cells, in their order.
      source: what they are made of.
    """
    self._setup, self._task, self._loaded = setup, setup.task, setup.loaded
    self._mesh, self._host = setup.mesh, setup.host
    self._stages, self._progress = setup.stages, setup.progress
    self._parts, self._lacking, self._source = parts, lacking, source
    # In the order of use: a condition's models one after the other.
    self._by_condition: dict[Condition, list[Cell]] = {}
    for cell in cells:
      self._by_condition.setdefault(cell.condition, []).append(cell)
    specs = {c.model: self._loaded[c.model].spec for c in cells}
    self._show = self._task.show(self._mesh, specs)
    if isinstance(source, mixed.MixedSource):
      self._show = mixed.MixedShow(self._show, source.conditions, self._mesh)
    self._reader = self._task.reader(source, list(self._by_condition), specs)
    self._free = threading.Semaphore(IN_FLIGHT * len(specs))
    self._shapes: set[tuple[int, ...]] = set()
    self._shown_ids = frozenset(setup.shown_ids)
    self._over = threading.Event()
    # Hosts do not know when a batch of another needs room.
    self._alone = self._host.count == 1
    self._waves = self._alone and self._show.several
    self._made: tuple[blocks.Range, dict[Cell, set[int]]] = (0, 0), {}
    self._finished: Callable[[Sequence[Cell]], None] | None = None

  def run(
    self,
    finished: Callable[[Sequence[Cell]], None],
    keep: Callable[[int], Callable[[], None]] | None = None,
  ) -> None:
    """Write the parts that are missing.

    Args:
      finished: is told by a thread of cells of which all parts are there, where
        they come one after another: else there is nothing to tell.
      keep: takes the rows that were shown where a block ends, and returns what is
        done once their parts are written.
    """
    begin, self._finished = time.perf_counter(), finished
    if self._waves:
      self._tell(itertools.chain(*self._by_condition.values()))
    with (
      worker.Worker("write", most=2) as writer,
      worker.Worker("fetch") as fetcher,
      worker.Worker("compile ahead") as ahead,
      self._blocks(fetcher) as steps,
    ):
      fetch = _Fetch(
        self._setup, self._free, steps, fetcher, writer, self._write
      )
      try:
        with stopping.when_stopped(fetch.keep):
          self._show_all(steps, fetch, ahead, keep)
          fetcher.wait()
          writer.wait()
      except KeyboardInterrupt:
        fetch.keep()
        raise
      finally:
        self._over.set()
        for model in self._loaded.values():
          model.predictor.give_up()
    self._stages.add("waited", steps.waited_s)
    self._stages.add("read", steps.reading_s)
    self._stages.add("wall", time.perf_counter() - begin)

  def _blocks(self, fetcher: worker.Worker) -> blocks.Blocks:
    size, nbytes = self._source.batch_size, self._setup.block_nbytes
    rows = max(nbytes // self._reader.usual_nbytes, 1)
    adapts = any(c.adapting for c in self._loaded.values())
    if adapts:
      rows = min(rows, _ADAPTED * size)
    return blocks.Blocks(
      self._reader,
      [block for block, _ in self._lacking],
      batch_size=size,
      block_rows=-(-rows // size) * size,
      block_nbytes=nbytes,
      equal_steps=adapts or not self._alone,
      check=fetcher.check,
    )

  def _show_all(
    self,
    steps: blocks.Blocks,
    fetch: _Fetch,
    ahead: worker.Worker,
    keep: Callable[[int], Callable[[], None]] | None,
  ) -> None:
    """Show all steps: the first condition at once, the others in waves."""
    first, *others = self._by_condition
    wave: list[_PlacedBatch] = []
    for number, step in enumerate(steps):
      if step.batch is not None:
        wave.append(self._put(number, step, step.batch, ahead))
        self._show_wave(wave[-1:], [first], fetch)
      elif step.ends:
        fetch.later(fetch.all_read, step)
      if step.batch is None or self._is_full(wave):
        finishes = step.ends and self._finishes(step.block)
        self._show_wave(wave, others, fetch, finishes)
        while wave:
          fetch.later(fetch.end_batch, wave.pop(0).step)
      if step.ends:
        fetch.later(fetch.end_block)
        if keep and step.block[1] < self._source.share:
          fetch.later(fetch.after_parts, keep(step.block[1]))
        self._stages.watch()

  def _is_full(self, wave: Sequence[_PlacedBatch]) -> bool:
    if not self._waves:
      return True
    held = sum(placed.nbytes for placed in wave)
    return held >= self._setup.block_nbytes

  def _finishes(self, block: blocks.Range) -> bool:
    """Return whether cells become whole in this block, one after another."""
    return self._waves and block[1] == self._lacking[-1][0][1]

  def _write(self, part: _PendingPart, examples: parts_lib.Batches) -> None:
    """Write a part and report the cells it completes; in the writing thread."""
    start = time.perf_counter()
    self._parts.write(part.block, part.count, examples, part.outputs)
    self._stages.add("write", time.perf_counter() - start)
    if part.count and self._finishes(part.block):
      pass_cells = itertools.chain(*self._by_condition.values())
      self._tell(part.outputs or pass_cells)  # none: batches were counted late

  def _tell(self, cells: Iterable[Cell]) -> None:
    """Report those cells that are whole."""
    share = self._source.share
    whole = [c for c in cells if self._parts.is_whole(c, share)]
    if whole and self._finished:
      self._finished(whole)

  def _put(
    self,
    number: int,
    step: blocks.Step,
    batch: inputs.Batch,
    ahead: worker.Worker,
  ) -> _PlacedBatch:
    """Put a batch onto the devices; compile programs of new shapes ahead."""
    batch = self._same_canvas(batch)
    if new := batch.image.shape not in self._shapes:
      self._shapes.add(batch.image.shape)
      self._progress.programs(len(self._by_condition))
      shapes = self._show.shapes(batch)
      if shapes is not None:
        label_shape = devices.batch_shape(batch.label, self._mesh)
        ahead.do(functools.partial(self._compile_ahead, shapes, label_shape))
    return _PlacedBatch(
      dataclasses.replace(step, batch=None),
      dataclasses.replace(batch, image=np.zeros(0, np.uint8)),
      self._show.put(batch),
      devices.put_batch(batch.label, self._mesh),
      new,
      not new and number in _TIMED,
      batch.image.nbytes,
    )

  def _show_wave(
    self,
    wave: Sequence[_PlacedBatch],
    conditions: Sequence[Condition],
    fetch: _Fetch,
    finishes: bool = False,
  ) -> None:
    """Show batches under some conditions.

    Args:
      fetch: what comes back.
      finishes: whether cells may be whole after a condition.
    """
    if finishes:
      fetch.later(fetch.end_condition)  # the first one
    for condition in conditions:
      for placed in wave:
        cells = self._cells(placed.step, condition)
        begin = time.perf_counter()
        if cells:
          self._give(placed, condition, cells, fetch)
        if placed.new:
          self._progress.compiled(time.perf_counter() - begin)
      if finishes:
        fetch.later(fetch.end_condition)

  def _cells(self, step: blocks.Step, condition: Condition) -> list[Cell]:
    """Return the cells of a condition that lack a batch."""
    block, made = self._made
    if block != step.block:  # before anything of it is written
      (now,) = (
        cells for (a, b), cells in self._lacking if a <= step.block[0] < b
      )
      made = {cell: self._parts.made(step.block, cell) for cell in now}
      self._made = step.block, made
    return [
      cell
      for cell in self._by_condition[condition]
      if cell in made and step.number not in made[cell]
    ]

  def _give(
    self,
    placed: _PlacedBatch,
    condition: Condition,
    cells: Sequence[Cell],
    fetch: _Fetch,
  ) -> None:
    """Show one batch under a condition to its models."""
    reduce, batch = self._task.reducer(condition), placed.batch
    if placed.timed:
      fetch.fetcher.wait()
    start, seen = time.perf_counter(), None
    for cell in cells:
      self._wait_for_room(fetch.fetcher)
      begin = time.perf_counter()
      model = self._loaded[cell.model]
      if model.adapting:
        model.adapting.enter(condition)
      with self._setup.explained(cell, batch):
        if seen is None or self._task.per_model:
          seen = self._show.see(placed.placed, condition, model.spec)
          if not self._shown_ids.isdisjoint(batch.example_id):
            fetch.later(fetch.pictures, condition, batch, seen[0])
          if placed.timed:
            start = self._time("corrupt", start, seen[0], seen[0])
        outputs = model.predictor(
          seen[0], placed.labels, reduce, seen[1], int(batch.mask.sum())
        )
        if placed.timed:
          start = self._time(f"infer {cell.model}", start, outputs, seen[0])
      self._stages.count_given()
      if placed.new:
        self._stages.add("compile", time.perf_counter() - begin)
      self._stages.images += self._count(seen[0])
      fetch.later(fetch.outputs, cell, placed, outputs)

  def _wait_for_room(self, fetcher: worker.Worker) -> None:
    """Wait until few enough batches are on the devices, or fetching failed."""
    while not self._free.acquire(timeout=0.2):
      fetcher.check()

  def _compile_ahead(self, shapes: Any, labels: Any) -> None:
    """Compile all programs for a batch of these shapes, in order of use."""
    # What goes wrong here goes wrong again, and is said, where it is used.
    with contextlib.suppress(Exception):
      for condition, cells in self._by_condition.items():
        reduce = self._task.reducer(condition)
        for cell in cells:
          if self._over.is_set():
            return
          model = self._loaded[cell.model]
          images, sizes = self._show.see(shapes, condition, model.spec)
          if not model.adapting:
            model.predictor(images, labels, reduce, sizes)

  def _count(self, images: jax.Array) -> int:
    """Return the number of images of this host in a batch."""
    return math.prod(images.shape[:-3]) // self._host.count

  def _time(
    self, stage: str, start: float, outputs: Any, images: jax.Array
  ) -> float:
    """Wait for the devices and add the seconds an image; return the time."""
    jax.block_until_ready(outputs)
    now = time.perf_counter()
    self._stages.add(stage, (now - start) / self._count(images))
    return now

  def _same_canvas(self, batch: inputs.Batch) -> inputs.Batch:
    """Return the batch on a canvas that fits the batches of all hosts."""
    if self._host.count == 1 or not batch.any_size:
      return batch
    from jax.experimental import multihost_utils

    shape = np.array(batch.image.shape[1:3])
    largest = multihost_utils.process_allgather(shape).max(axis=0)
    height, width = largest.tolist()
    return inputs.enlarge_canvas(batch, (height, width))


@dataclasses.dataclass
class _PendingPart:
  """The outputs of a block that came back since a part was written.

  Attributes:
    block: its rows.
    count: its batches; 0 where they are not counted yet.
    outputs: cell -> number of a batch -> columns.
    nbytes: bytes of the columns.
  """

  block: blocks.Range
  count: int = 0
  outputs: dict[Cell, dict[int, predictions.Columns]] = dataclasses.field(
    default_factory=dict
  )
  nbytes: int = 0


class _Fetch:
  """The work of the fetching thread, in the order in which batches were given."""

  def __init__(
    self,
    setup: Setup,
    free: threading.Semaphore,
    steps: blocks.Blocks,
    fetcher: worker.Worker,
    writer: worker.Worker,
    write: Callable[[_PendingPart, parts_lib.Batches], None],
  ):
    """Write nothing yet.

    Args:
      free: room on the devices, given back for every batch that was fetched.
      steps: steps whose pixels are released.
    """
    self._setup, self._task, self._stages = setup, setup.task, setup.stages
    self._free, self._steps = free, steps
    self.fetcher, self._writer, self._write_part = fetcher, writer, write
    self._examples: dict[int, predictions.Columns] = {}  # of the block
    self._pending: _PendingPart | None = None
    self._is_counted = False  # in a part of the block
    self._written_at = time.monotonic()
    # What the writer has not begun, oldest first.
    self._waiting: collections.deque[tuple[_PendingPart, parts_lib.Batches]]
    self._waiting = collections.deque()
    self._adding, self._writing = threading.Lock(), threading.Lock()

  def later(self, do: Callable[..., None], *args: Any) -> None:
    """Give the thread a job."""
    self.fetcher.do(functools.partial(do, *args))

  def outputs(
    self,
    cell: Cell,
    placed: _PlacedBatch,
    outputs: (
      packing.Outputs
      | on_host.Outputs
      | adapting.Outputs
      | whole_outputs.Outputs
    ),
  ) -> None:
    """Wait for the outputs of a batch and keep the columns of its task."""
    step, batch = placed.step, placed.batch
    with self._setup.explained(cell, batch):
      fetched = outputs.fetch()
    self._stages.count_fetched()
    self._free.release()
    size = len(batch.mask)
    first = step.block[0] + step.number * size
    number = first // size + 1 if "backward" in fetched else 0
    if not self._task.whole_outputs:
      _check_finite(cell, batch, fetched.pop("finite"), number)
    ids = [i for i, valid in zip(batch.example_id, batch.mask) if valid]
    kind = self._setup.loaded[cell.model].kind
    kind.check(f"{cell.model}, {cell.condition.config}", ids, fetched)
    columns = self._task.columns(batch, fetched, cell.condition)
    if number:
      columns["position"] = np.arange(first, first + len(ids), dtype=np.int32)
      columns["backward"] = fetched["backward"][: len(ids)]
    if batch.examples and mixed.COLUMN in batch.examples[0]:
      numbers = [row[mixed.COLUMN] for row in batch.examples]
      columns[mixed.COLUMN] = np.array(numbers, np.int32)
    with self._adding:
      if step.number not in self._examples:
        self._examples[step.number] = self._task.example_columns(batch)
      part = self._pending = self._pending or _PendingPart(step.block)
      part.outputs.setdefault(cell, {})[step.number] = columns
      part.nbytes += packed.nbytes(columns)
    if part.nbytes > _PART_BYTES:
      self._write_soon()
    self._write_after(_PART_S)
    images = int(batch.mask.sum()) * self._task.images_per_example(
      cell.condition
    )
    self._setup.progress.images(images, cell.condition.config)

  def pictures(
    self, condition: Condition, batch: inputs.Batch, images: jax.Array
  ) -> None:
    """Tell what models see of the examples that reports show."""
    note, rows = self._setup.note, devices.local_rows(images)
    whole = batch.any_size and self._task.sized
    for name, image, (height, width) in zip(batch.example_id, rows, batch.size):
      if note and name in self._setup.shown_ids:
        note(condition, name, image[:height, :width] if whole else image)

  def end_batch(self, step: blocks.Step) -> None:
    """Release a batch's pixels, after all its outputs have arrived."""
    self._steps.release(step)

  def all_read(self, step: blocks.Step) -> None:
    """Note how many batches the block has."""
    with self._adding:
      self._pending = self._pending or _PendingPart(step.block)
      self._pending.count = step.number

  def end_condition(self) -> None:
    """Write a part if cells may be whole by it."""
    self._write_after(_CELLS_S)

  def end_block(self) -> None:
    """Write the block's last rows."""
    self._write_soon()
    with self._adding:
      self._examples, self._pending, self._is_counted = {}, None, False

  def after_parts(self, do: Callable[[], None]) -> None:
    """Do something in the writing thread, once what came back is written."""
    self._writer.do(do)

  def keep(self) -> None:
    """Write what came back, whatever the threads do: the run is stopped."""
    with contextlib.suppress(disk.DiskError, errors.UserError):
      self._hand_over()
      while self._waiting:
        self._write()

  def _write_after(self, seconds: float) -> None:
    if time.monotonic() - self._written_at > seconds:
      self._write_soon()

  def _write_soon(self) -> None:
    if self._hand_over():
      self._writer.do(self._write)

  def _hand_over(self) -> bool:
    """Hand over what came back; return whether there is anything."""
    with self._adding:
      self._written_at = time.monotonic()
      part = self._pending
      if part is None or not part.outputs and self._is_counted:
        return False
      if not part.outputs and not part.count:
        return False
      self._pending = _PendingPart(part.block, part.count)
      self._is_counted = part.count > 0
      numbers = {n for each in part.outputs.values() for n in each}
      self._waiting.append((part, {n: self._examples[n] for n in numbers}))
      return True

  def _write(self) -> None:
    """Write the oldest waiting part, in the writing thread."""
    with self._writing:
      if self._waiting:
        self._write_part(*self._waiting.popleft())


def _check_finite(
  cell: Cell, batch: inputs.Batch, finite: np.ndarray, number: int
) -> None:
  """Refuse answers that are no numbers; `number`: of an adapting model's batch."""
  bad = [i for i, ok in zip(batch.example_id, finite | ~batch.mask) if not ok]
  if bad and number:
    raise errors.UserError(
      f"{cell.model}: after batch {number} of {cell.condition.config} (from"
      f" {batch.example_id[0]!r} on) its logits or weights are NaN or infinite."
      " Finished cells are kept. Lower the learning rate"
      " (adapt.hyperparameters.optimizer), or take larger batches."
    )
  if bad:
    raise errors.UserError(
      f"{cell.model} gave NaN or infinite logits on {len(bad)} examples of"
      f" {cell.condition.config}, the first {bad[0]!r}. Check the checkpoint"
      " and the dtype; finished cells are untouched."
    )
