"""Makes cells: a pass over each source, then its parts assembled.

The parts of all blocks of a source hold the outputs of all its cells
(`one_pass.py`); after the last one a thread assembles them, while the next source
is read.
"""

from __future__ import annotations

import collections
import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

from robust_tfds import conditions, datasets, errors
from robust_tfds.eval.cells import parts as parts_lib
from robust_tfds.eval.cells import predictions
from robust_tfds.eval.cells.cell import Cell
from robust_tfds.eval.cells.workdir import Workdir
from robust_tfds.eval.pipeline import inputs, worker
from robust_tfds.eval.run import hosts, one_pass

# What is said of a finished cell, for the line that is printed.
Finish = Callable[[Cell, predictions.Columns], str]


class CellMaker:
  """Reads each source once and computes the missing cells."""

  def __init__(self, setup: one_pass.Setup, workdir: Workdir, finish: Finish):
    """Starts the thread that assembles; compiles nothing yet.

    Args:
      setup: models, devices and what is kept of their outputs.
      workdir: where cells are written.
      finish: is called with every whole cell, on the host that writes it.
    """
    self._setup, self._task, self._host = setup, setup.task, setup.host
    self._stages, self._progress = setup.stages, setup.progress
    self._workdir, self._finish = workdir, finish
    self._assembler = worker.Worker("assemble")

  def __enter__(self) -> CellMaker:
    """Itself."""
    return self

  def __exit__(self, *error: Any) -> None:
    """Waits for the cells that are being assembled."""
    self._assembler.__exit__(*error)

  def run(
    self, cells: Sequence[Cell], missing: Sequence[Cell], source: inputs.Source
  ) -> None:
    """Makes the cells of one source.

    Args:
      cells: all that the run makes of the source.
      missing: those that are not finished.
      source: what is read.

    Raises:
      UserError: broken sources, models or outputs; finished parts stay.
    """
    parts = parts_lib.Parts(
      self._workdir, cells, self._host.index, self._host.count
    )
    if not missing:
      if self._host.index == 0:
        parts.remove()  # of a run that was killed before it did
      return
    if self._host.index == 0:
      parts.prepare(missing)
    hosts.barrier(self._host, f"parts {missing[0].place}")
    ranges = parts.remaining(source.share)
    hosts.barrier(self._host, f"ranges {missing[0].place}")
    rows_left = sum(last - first for first, last in ranges)
    images = sum(self._task.images_per_example(c.condition) for c in missing)
    self._progress.less(images * (source.share - rows_left))
    if ranges:
      try:
        one_pass.Pass(self._setup, parts, missing, source).run(ranges)
      except BaseException:
        parts.remove_empty()
        raise
    hosts.barrier(self._host, f"parts written {missing[0].place}")
    if self._host.index == 0:
      job = functools.partial(self._assemble, parts, missing, source)
      self._assembler.do(job)
    if self._host.count > 1:
      self._assembler.wait()
      hosts.barrier(self._host, f"assembled {missing[0].place}")

  def _assemble(
    self,
    parts: parts_lib.Parts,
    cells: Sequence[Cell],
    source: inputs.Source,
  ) -> None:
    """Writes cells from parts, and removes these."""
    lines: dict[conditions.Condition, list[str]] = {}
    expected = collections.Counter(cell.condition for cell in cells)
    began = time.perf_counter()
    for cell, rows in parts.cells(cells):
      start = time.perf_counter()
      _check_whole(cell, rows, source)
      split = self._split(cell.condition, source.split)
      columns = self._workdir.write_cell(cell, rows, split)
      self._stages.add("write", time.perf_counter() - start)
      finished = lines.setdefault(cell.condition, [])
      finished.append(self._finish(cell, columns))
      if len(finished) == expected[cell.condition]:
        line = f"{cell.condition.config}: {', '.join(finished)}"
        now = time.perf_counter()
        self._progress.cells(len(finished), line, now - began)
        began = now
    parts.remove()

  def _split(self, condition: conditions.Condition, split: str) -> str:
    """Cells of one name are of the same examples, see `note.Split`.

    The authors' files are not all of the same pictures.
    """
    setting = self._task.setting
    if setting.fly or setting.codec != datasets.PUBLISHED:
      return split
    return f"{split} of {condition.config}"


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
