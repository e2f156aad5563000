"""pm-k of a whole testbed: 45 models on 57,897 frames, on one core.

  taskset -c 0 python benchmarks/pm_k.py

Both data sets of Shankar et al. together: 3,139 anchors (1,109 + 2,030) and
their 57,897 - 3,139 neighbours, synthetic predictions. Timed: sets from strings,
every k from 0 to 10 with intervals, per class, offsets, conditional accuracy,
static worst frames, review impact of each model.
"""

import time

import numpy as np

from eval.metrics import natural_breakdowns as breakdowns
from eval.metrics import pm_k

_MODELS, _FRAMES, _ANCHORS = 45, 57_897, 3_139


def main() -> None:
  rng = np.random.default_rng(0)
  sizes = np.bincount(
    rng.permutation(np.resize(np.arange(_ANCHORS), _FRAMES - _ANCHORS)),
    minlength=_ANCHORS,
  )
  of = np.repeat(np.arange(_ANCHORS), sizes + 1)
  frame = np.arange(_FRAMES) - np.repeat(
    np.cumsum(sizes + 1) - sizes - 1, sizes + 1
  )
  frame = np.where(frame > 10, 10 - frame, frame)
  ids = np.array([f"val/ILSVRC2015_val_{i:08d}/000001.JPEG" for i in of])
  correct = rng.random((_MODELS, _FRAMES)) < 0.97
  labels = rng.integers(0, 30, _FRAMES)

  def step(name, work):
    start = time.perf_counter()
    out = work()
    print(f"{name:24} {time.perf_counter() - start:8.3f} s")
    return out

  start = time.perf_counter()
  sets = step("sets", lambda: pm_k.group(ids, frame))
  step("curves, intervals", lambda: pm_k.curve(correct, sets))
  whole = time.perf_counter() - start
  step(
    "per class",
    lambda: [breakdowns.per_class(c, sets, labels) for c in correct],
  )
  step("offsets", lambda: breakdowns.offset_errors(correct, sets))
  step(
    "conditional", lambda: [breakdowns.conditional(c, sets) for c in correct]
  )
  step("static worst", lambda: breakdowns.static_worst(correct, sets))
  kept = rng.random(_FRAMES) < 0.9
  step(
    "review impact",
    lambda: [
      breakdowns.review_impact(c, sets, kept | (frame == 0)) for c in correct
    ],
  )
  print(f"{'sets and curves':24} {whole:8.3f} s")
  print(f"{'everything':24} {time.perf_counter() - start:8.3f} s")


if __name__ == "__main__":
  main()
