"""Makes the cells of one condition: batches in, predictions on disk out."""

from __future__ import annotations

import collections
import contextlib
import math
import time
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from robust_tfds import conditions
from robust_tfds import datasets
from robust_tfds import errors
from robust_tfds.eval.pipeline import devices
from robust_tfds.eval.pipeline import inputs
from robust_tfds.eval.results import predictions
from robust_tfds.eval.results.cell import Cell
from robust_tfds.eval.results.workdir import Workdir
from robust_tfds.eval.run import hosts
from robust_tfds.eval.run import timing
from robust_tfds.eval.run.models import LoadedModel
from robust_tfds.eval.run.progress import Progress
from robust_tfds.eval.tasks.base import Task

_IN_FLIGHT = 3  # batches of a model dispatched and not yet fetched


class CellMaker:
  """Corrupts each batch once and shows it to every model that lacks the cell."""

  def __init__(
    self,
    task: Task,
    loaded: Mapping[str, LoadedModel],
    workdir: Workdir,
    mesh: Mesh,
    host: inputs.Host,
    stages: timing.Stages,
    progress: Progress,
    truth: Mapping[str, Any] | None,
  ):
    """Compiles nothing yet.

    Args:
      task: what is kept of the outputs.
      loaded: models by label.
      workdir: where cells are written.
      mesh: all devices.
      host: this one.
      stages: where the time goes.
      progress: what is printed.
      truth: that finished cells are scored with, where the task has one.
    """
    self._task, self._loaded, self._workdir = task, loaded, workdir
    self._mesh, self._host = mesh, host
    self._stages, self._progress = stages, progress
    self._truth = truth

  def run(self, cells: Sequence[Cell], source: inputs.Source) -> None:
    """Makes the cells of one condition.

    Args:
      cells: of one condition, of models that lack it.
      source: what the condition's batches are read from.
    """
    if not cells:
      return
    (condition,) = {cell.condition for cell in cells}
    for group, batches in self._model_groups(cells, condition, source):
      self._predict(condition, group, batches, source)

  def _model_groups(
    self,
    cells: Sequence[Cell],
    condition: conditions.Condition,
    source: inputs.Source,
  ) -> list[tuple[list[Cell], inputs.Batches]]:
    """Cells whose models see the same batches, and what gives these."""
    if not self._task.per_model:
      return [(list(cells), source)]
    return [
      (
        [cell],
        self._task.batches(source, condition, self._loaded[cell.model].spec),
      )
      for cell in cells
    ]

  def _predict(
    self,
    condition: conditions.Condition,
    cells: Sequence[Cell],
    batches: inputs.Batches,
    source: inputs.Source,
  ) -> None:
    columns: dict[Cell, list] = {cell: [] for cell in cells}
    in_flight: collections.deque = collections.deque()
    show = _Show(self._task, condition, batches, self._mesh)
    reduce = self._task.reducer(condition)

    def fetch_oldest() -> None:
      cell, batch, outputs = in_flight.popleft()
      with self._explained(cell, batch):
        fetched = {k: devices.local_rows(v) for k, v in outputs.items()}
      _check_finite(cell, batch, fetched.pop("finite"))
      columns[cell].append(self._task.columns(batch, fetched, condition))
      self._progress.images(int(batch.mask.sum()), condition.config)

    begin = time.perf_counter()
    for step, batch in enumerate(batches.batches()):
      # The first call compiles, so a single step measures nothing else.
      probe = 0 < step == batches.steps - 1
      while in_flight and (probe or len(in_flight) >= _IN_FLIGHT * len(cells)):
        fetch_oldest()
      batch = self._same_canvas(batch, batches)
      start = time.perf_counter()
      images, sizes = show(batch)
      num_images = math.prod(images.shape[:-3]) // self._host.count
      if probe:
        start = self._time("corrupt", start, images, num_images)
      for cell in cells:
        predictor = self._loaded[cell.model].predictor
        with self._explained(cell, batch):
          outputs = predictor(images, reduce, sizes)
          in_flight.append((cell, batch, outputs))
          if probe:
            stage = f"infer {cell.model}"
            start = self._time(stage, start, outputs, num_images)
      if not step:
        self._stages.add("compile", time.perf_counter() - start)
      self._stages.images += num_images * len(cells)
    while in_flight:
      fetch_oldest()
    self._stages.add("wall", time.perf_counter() - begin)
    self._write(condition, columns, source)

  @contextlib.contextmanager
  def _explained(self, cell: Cell, batch: inputs.Batch) -> Iterator[None]:
    """Devices that fail, and whatever a user's own model raises, in words."""
    own = self._loaded[cell.model].own is not None
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

  def _same_canvas(
    self, batch: inputs.Batch, source: inputs.Batches
  ) -> inputs.Batch:
    """The batch on a canvas that fits the batches of all hosts."""
    if self._host.count == 1 or None not in source.shape:
      return batch
    from jax.experimental import multihost_utils

    shape = np.array(batch.image.shape[1:3])
    largest = multihost_utils.process_allgather(shape).max(axis=0)
    height, width = largest.tolist()
    return inputs.on_larger_canvas(batch, (height, width))

  def _time(self, stage: str, start: float, outputs: Any, images: int) -> float:
    """One measurement a condition, on its last batch: seconds an image."""
    jax.block_until_ready(outputs)
    now = time.perf_counter()
    self._stages.add(stage, (now - start) / images)
    return now

  def _write(
    self,
    condition: conditions.Condition,
    parts_of: Mapping[Cell, list],
    source: inputs.Source,
  ) -> None:
    summaries = []
    split = self._split(condition, source.split)
    for cell, parts in parts_of.items():
      start = time.perf_counter()
      rows = self._of_all_hosts(cell, predictions.concatenate(parts))
      if rows is not None:
        _check_whole(cell, rows, source)
        columns = self._workdir.write_cell(cell, rows, split)
        row = self._task.cell_rows(cell, columns, self._truth)[0]
        summaries.append(f"{cell.model} {row.metric} {row.value:.3f}")
      hosts.barrier(self._host, f"cell {cell.model} {condition.config}")
      self._stages.add("write", time.perf_counter() - start)
    line = f"{condition.config}: {', '.join(summaries)}"
    self._progress.cells(len(parts_of), line)

  def _of_all_hosts(
    self, cell: Cell, rows: predictions.Columns
  ) -> predictions.Columns | None:
    """The rows of all hosts on the first one, which writes them; else None."""
    if self._host.count == 1:
      return rows
    index, count = self._host.index, self._host.count
    self._workdir.write_shard(cell, rows, index, count)
    hosts.barrier(self._host, f"shards {cell.model} {cell.condition.config}")
    return None if index else self._workdir.merge_shards(cell, count)

  def _split(self, condition: conditions.Condition, split: str) -> str:
    """Cells of one name are of the same examples, see `note.Split`.

    The authors' files are not all of the same pictures.
    """
    setting = self._task.setting
    if setting.fly or setting.codec != datasets.PUBLISHED:
      return split
    return f"{split} of {condition.config}"


class _Show:
  """What models see of batches under a condition, on the devices."""

  def __init__(
    self,
    task: Task,
    condition: conditions.Condition,
    source: inputs.Batches,
    mesh: Mesh,
  ):
    self._task, self._condition, self._mesh = task, condition, mesh
    self._any_size = None in source.shape
    self._transform = task.transform(mesh) if task.setting.fly else None

  def __call__(self, batch: inputs.Batch) -> tuple[jax.Array, jax.Array | None]:
    """Images, and their sizes for models that are told them."""
    images = devices.put_batch(batch.image, self._mesh)
    sizes = None
    if self._any_size or self._task.sized:
      sizes = devices.put_batch(batch.size, self._mesh)
    if self._transform is not None:
      setting = self._task.setting
      keys = self._condition.keys(
        setting.seed, setting.dataset, batch.example_id
      )
      images = self._transform(images, sizes, self._condition, keys)
    return images, sizes if self._task.sized else None


def show(
  task: Task,
  condition: conditions.Condition,
  source: inputs.Batches,
  batch: inputs.Batch,
  mesh: Mesh,
) -> np.ndarray:
  """What models see of a batch: uint8 `[B, ...]` on the host."""
  images, _ = _Show(task, condition, source, mesh)(batch)
  return devices.local_rows(images)


def _check_whole(
  cell: Cell, rows: predictions.Columns, source: inputs.Source
) -> None:
  """Refuses rows that are not of all examples of their set."""
  count = len(set(rows["example_id"].tolist()))
  if count != source.total:
    raise errors.UserError(
      f"{cell.model} {cell.condition.config}: predictions of {count:,} different"
      f" examples, but {source.builder.info.full_name} has {source.total:,} in"
      f" {source.split!r}. Each needs an example_id of its own; build the set"
      " again."
    )


def _check_finite(cell: Cell, batch: inputs.Batch, finite: np.ndarray) -> None:
  bad = [i for i, ok in zip(batch.example_id, finite | ~batch.mask) if not ok]
  if bad:
    raise errors.UserError(
      f"{cell.model} gave NaN or infinite logits on {len(bad)} examples of"
      f" {cell.condition.config}, the first {bad[0]!r}. Check the checkpoint"
      " and the dtype; finished cells are untouched."
    )
