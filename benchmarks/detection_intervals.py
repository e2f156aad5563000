"""The intervals of a whole COCO-C run, on one core.

  taskset -c 0 python -m benchmarks.detection_intervals [--cells=76]

Clean and 15 corruptions x 5 severities of 5,000 synthetic pictures, 36,000 objects,
500,000 boxes each (see `benchmarks.detection`): every cell is scored, matched, and
its numbers computed without each of 100 blocks of pictures; then P, mPC and rPC
with their intervals. Prints seconds of CPU a cell, of which matching and the blocks
are what intervals cost, the time of all cells, and the peak memory.
"""

import dataclasses
import itertools
import json
import pathlib
import resource
import time
from collections.abc import Iterator, Sequence

import numpy as np
from absl import app, flags

from benchmarks import detection as cells_lib
from eval.cells import table
from eval.cells.cell import Cell
from eval.metrics import resampling
from eval.metrics.detection import checks
from eval.tasks import base, detection
from robust_tfds import conditions

_CELLS = flags.DEFINE_integer("cells", 76, "How many cells; 76 are all.")
_OUT = flags.DEFINE_string("out", "", "Also write the numbers as JSON.")


@dataclasses.dataclass
class _Clock:
  """A clock of the CPU seconds used so far."""

  intervals: float = 0.0
  all_of_it: float = 0.0


def _cells(clean: base.Columns) -> Iterator[tuple[Cell, dict[str, np.ndarray]]]:
  """Return cells: worse conditions have fewer and less exact detections."""
  rng = np.random.default_rng(1)
  shown = conditions.PICTURES.select("common", (1, 2, 3, 4, 5))
  for condition in itertools.islice(shown, _CELLS.value):
    columns = {name: values.copy() for name, values in clean.items()}
    columns["boxes"] += rng.normal(
      0, condition.level + 0.1, columns["boxes"].shape
    ).astype(np.float32)
    lost = rng.random(columns["classes"].shape) < 0.1 * condition.level
    columns["classes"][lost] = -1
    yield Cell("synthetic", "coco_c", condition), columns


def measure() -> tuple[list[table.Row], _Clock]:
  """Return the rows over all cells, and their cost."""
  rng = np.random.default_rng(0)
  truth = cells_lib.truth(rng)
  clean = cells_lib.found(rng, truth)
  task = detection.Detection(base.Setting("coco_c"))
  checked = checks.ground_truth(truth)
  scorer, cells, clock = base.Scorer(task, checked), [], _Clock()
  for cell, columns in _cells(clean):
    start = time.process_time()
    draws = resampling.Draws.from_groups(task.group_ids(columns))
    task.replicates(columns, draws, checked)  # kept for the scorer
    matched = time.process_time()
    scorer.add(cell, columns)
    cells.append(cell)
    clock.intervals += matched - start
    clock.all_of_it += time.process_time() - start
  start = time.process_time()
  rows = scorer.scored(cells).rows
  clock.all_of_it += time.process_time() - start
  return [r for r in rows if not r.config], clock


def main(argv: Sequence[str]) -> None:
  """Measure and print."""
  del argv
  rows, clock = measure()
  cells = _CELLS.value
  peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
  numbers = {
    "cells": cells,
    "cell_s": clock.all_of_it / cells,
    "intervals_s": clock.intervals / cells,
    "all_s": clock.all_of_it,
    "peak_mib": peak_mib,
  }
  for name, value in numbers.items():
    print(f"{name:12} {value:10.2f}")
  for row in rows:
    if row.lo is not None and row.hi is not None and not row.corruption:
      print(f"{row.metric:12} {row.value:10.4f} [{row.lo:.4f}, {row.hi:.4f}]")
  if _OUT.value:
    pathlib.Path(_OUT.value).write_text(json.dumps(numbers), "utf-8")


if __name__ == "__main__":
  app.run(main)
