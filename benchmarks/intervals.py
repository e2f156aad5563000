"""Intervals of ImageNet-C's headlines: 50,000 pictures x 96 conditions, one core.

  taskset -c 0 python -m benchmarks.intervals [--models=1]

Synthetic mistakes. Timed: sums over groups of every cell, 2,000 draws of pictures
(once for all models), every cell's error in every draw and without every block,
and CE, mCE, relative mCE and their means with their intervals.
"""

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import ml_collections
import numpy as np

from eval.metrics import resampling
from eval.tasks import base, classification
from eval.tasks.headlines import spread

_PICTURES = 50_000


def main() -> None:
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--models", type=int, default=1)
  models = parser.parse_args().models
  data = {"corruptions": "all", "severities": (1, 2, 3, 4, 5)}
  task = classification.Classification(
    base.Setting(
      "imagenet_c", baseline="alexnet", data=ml_collections.ConfigDict(data)
    )
  )
  ids = np.array(
    [f"ILSVRC2012_val_{i:08d}.JPEG" for i in range(1, _PICTURES + 1)]
  )
  rng = np.random.default_rng(0)

  def step(name: str, work: Callable[[], Any]) -> Any:
    start = time.process_time()
    out = work()
    print(f"{name:32} {time.process_time() - start:8.2f} s of CPU")
    return out

  draws = step("draws", lambda: _drawn(resampling.Draws.from_groups(ids)))
  for model in range(1, models + 1):
    columns = {}
    for condition in task.conditions():
      wrong = rng.random(_PICTURES) < 0.2 + 0.1 * condition.level
      top5 = np.where(wrong[:, None], 1, 0) + np.arange(5)
      label = np.zeros(_PICTURES, np.int32)
      columns[condition] = {"group_id": ids, "label": label, "top5": top5}
    print(f"model {model}:")
    totals = step(
      "  sums over groups",
      lambda: {c: task.totals(of) for c, of in columns.items()},
    )
    cells = step(
      "  cells in every draw", lambda: spread.cell_replicates(totals, draws)
    )
    numbers = step("  numbers over cells", lambda: task.over_cells(cells))
    step("  intervals", lambda: [n.interval() for n in numbers.values()])
    mce = numbers["mce", "", None]
    lo, hi = mce.interval()
    print(
      f"  mCE {mce.value:.4f} ({lo:.4f} to {hi:.4f}), {len(numbers)} numbers"
    )
  peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
  print(f"{'peak memory':32} {peak:8.2f} GiB")


def _drawn(draws: resampling.Draws) -> resampling.Draws:
  """Return draws with their counts cached."""
  draws.means(np.zeros(len(draws.ids), bool), draws.ids)
  return draws


if __name__ == "__main__":
  main()
