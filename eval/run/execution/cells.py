"""Makes cells: a pass over each source, then its parts assembled.

The parts of all blocks of a source hold the outputs of all its cells
(`one_pass.py`); a thread assembles those that are whole, while others are made and
the next source is read.
"""

from __future__ import annotations

import collections
import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

from eval.cells.cell import Cell
from eval.cells.files import parts as parts_lib
from eval.cells.files import predictions
from eval.cells.workdir import Workdir
from eval.pipeline import inputs, worker
from eval.run.execution import checkpoints, one_pass
from robust_tfds import conditions, datasets, errors, hosts

# What is said of a finished cell, for the line that is printed.
Finish = Callable[[Cell, predictions.Columns], str]
# What is read, and where a stopped run goes on.
_Read = tuple[parts_lib.Parts, inputs.Source, checkpoints.Checkpoints | None]


class CellMaker:
  """Reads each source once and computes the missing cells."""

  def __init__(self, setup: one_pass.Setup, workdir: Workdir, finish: Finish):
    """Start the assembling thread; compile nothing yet.

    Args:
      setup: models, devices and what is kept of their outputs.
      workdir: where cells are written.
      finish: is called with every whole cell, on the host that writes it.
    """
    self._setup, self._task, self._host = setup, setup.task, setup.host
    self._stages, self._progress = setup.stages, setup.progress
    self._workdir, self._finish = workdir, finish
    self._assembler = worker.Worker("assemble")
    self._expected: collections.Counter[conditions.Condition]
    self._expected = collections.Counter()
    self._lines: dict[conditions.Condition, list[str]] = {}
    self._whole: set[Cell] = set()  # all parts of these are there
    self._read: _Read | None = None

  def __enter__(self) -> CellMaker:
    """Return this maker."""
    return self

  def __exit__(self, *error: Any) -> None:
    """Wait for the cells that are being assembled."""
    self._assembler.__exit__(*error)

  def run(
    self, cells: Sequence[Cell], missing: Sequence[Cell], source: inputs.Source
  ) -> None:
    """Make the cells of one source.

    Args:
      cells: all that the run makes of the source.
      missing: the unfinished cells.
      source: what is read.

    Raises:
      UserError: broken sources, models or outputs; finished parts stay.
    """
    cut = source.batch_size, self._setup.block_nbytes
    parts = parts_lib.Parts(
      self._workdir, cells, self._host.index, self._host.count, cut
    )
    if not missing:
      if self._host.index == 0:
        parts.remove()  # left by a killed run
      return
    kept = self._checkpoints(cells, missing)
    if kept:
      kept.go_back(parts, missing, source.share)
    lacking = self._lacking(parts, missing, source)
    self.expect(missing)
    rest = dict.fromkeys(missing)
    self._read = parts, source, kept

    def finished(cells: Sequence[Cell]) -> None:
      listed = [c for c in rest if c in cells]
      for cell in listed:
        del rest[cell]
        self._whole.add(cell)
      job = functools.partial(self._assemble, parts, listed, source)
      self._assembler.do(job)

    if lacking:
      try:
        made = one_pass.Pass(self._setup, parts, lacking, missing, source)
        made.run(finished, kept.take if kept else None)
      except BaseException:
        parts.remove_empty()
        raise
    hosts.barrier(self._host, f"parts written {missing[0].place}")
    if self._host.index == 0:
      if self._host.count > 1:
        parts.look()
      finished(list(rest))
      self._assembler.do(parts.remove)
      if kept:
        self._assembler.do(kept.remove)
    if self._host.count > 1:
      self._assembler.wait()
      hosts.barrier(self._host, f"assembled {missing[0].place}")

  def expect(self, cells: Sequence[Cell]) -> None:
    """Announce the cells that `finish` will get, for the lines of conditions."""
    self._expected.update(cell.condition for cell in cells)

  def wait(self) -> None:
    """Wait until all whole cells are on the disk."""
    self._assembler.wait()

  def kept_share(self, cell: Cell) -> float:
    """Return the part of a missing cell that a stopped run keeps."""
    if cell in self._whole or self._read is None:
      return float(cell in self._whole)
    parts, source, kept = self._read
    rows = parts.rows_of(cell)
    return (min(rows, kept.rows) if kept else rows) / source.share

  def _checkpoints(
    self, cells: Sequence[Cell], missing: Sequence[Cell]
  ) -> checkpoints.Checkpoints | None:
    """Return the checkpoints of a pass; None if no model adapts."""
    models = {c.model: self._setup.loaded[c.model].adapting for c in missing}
    known = {k: model for k, model in models.items() if model}
    return (
      checkpoints.Checkpoints(self._workdir, cells, known) if known else None
    )

  def _lacking(
    self, parts: parts_lib.Parts, missing: Sequence[Cell], source: inputs.Source
  ) -> list[parts_lib.Missing]:
    """Return what no part holds; all hosts see the same."""
    if self._host.index == 0:
      parts.prepare(missing)
    hosts.barrier(self._host, f"parts {missing[0].place}")
    parts.look()
    lacking = parts.remaining(source.share, missing)
    hosts.barrier(self._host, f"ranges {missing[0].place}")
    for cell in missing:
      images = self._task.images_per_example(cell.condition)
      self._progress.less(images * parts.rows_of(cell))
    return lacking

  def _assemble(
    self, parts: parts_lib.Parts, cells: Sequence[Cell], source: inputs.Source
  ) -> None:
    """Write cells from parts."""
    began = time.perf_counter()
    for cell, rows in parts.cells(cells):
      began = self.finish(cell, rows, source, began)

  def finish(
    self,
    cell: Cell,
    rows: predictions.Columns,
    source: inputs.Source,
    began: float,
  ) -> float:
    """Write a whole cell; return when the work on the next one began."""
    start = time.perf_counter()
    _check_whole(cell, rows, source)
    split = self._split(cell.condition, source.split)
    columns = self._workdir.write_cell(cell, rows, split)
    self._stages.add("write", time.perf_counter() - start)
    lines = self._lines.setdefault(cell.condition, [])
    lines.append(self._finish(cell, columns))
    if len(lines) < self._expected[cell.condition]:
      return began
    line = f"{cell.condition.config}: {', '.join(lines)}"
    now = time.perf_counter()
    self._progress.cells(len(lines), line, now - began)
    # Models that adapt one condition after the other come in a pass of their own.
    del self._lines[cell.condition], self._expected[cell.condition]
    return now

  def _split(self, condition: conditions.Condition, split: str) -> str:
    """Return the name of a cell's examples, see `note.Split`.

    The authors' files are not all of the same pictures.
    """
    setting = self._task.setting
    if setting.fly or setting.codec != datasets.PUBLISHED:
      return split
    return f"{split} of {condition.config}"


def _check_whole(
  cell: Cell, rows: predictions.Columns, source: inputs.Source
) -> None:
  """Refuse rows that are not of all examples of their set."""
  count = len(set(rows["example_id"].tolist()))
  if count != source.total:
    raise errors.UserError(
      f"{cell.model} {cell.condition.config}: predictions of {count:,} different"
      f" examples, but {source.builder.info.full_name} has {source.total:,} in"
      f" {source.split!r}. Each needs an example_id of its own; build the set"
      " again."
    )
