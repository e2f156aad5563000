"""pm-k of a whole testbed: 45 models on 57,897 frames, on one core.

Then detection pm-k of one detector: 1,109 anchors, 22,179 frames, two objects and
20 detections each.

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
_VID_FRAMES = 22_179


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
  reviewed = rng.random(_FRAMES) < 0.9
  step(
    "review impact",
    lambda: [
      breakdowns.review_impact(c, sets, reviewed | (frame == 0))
      for c in correct
    ],
  )
  print(f"{'sets and curves':24} {whole:8.3f} s")
  print(f"{'everything':24} {time.perf_counter() - start:8.3f} s")
  gt, dt, anchors, index = detections(rng)
  step("detection", lambda: pm_k.detection(gt, dt, anchors, index))
  step(
    "localisation",
    lambda: pm_k.detection(gt, dt, anchors, index, class_agnostic=True),
  )


def detections(rng: np.random.Generator):
  """Return moving objects, and detections near them and elsewhere."""
  gt, dt, anchors = [], [], []
  for image in range(_VID_FRAMES):
    boxes = rng.uniform(20, 200, (2, 4))
    classes = rng.integers(0, 30, 2)
    near = boxes[rng.integers(0, 2, 20)] + 15 * rng.normal(size=(20, 4))
    for box, c in zip(boxes, classes):
      gt.append({"image_id": image, "category_id": int(c), "bbox": [*box]})
    for box, c in zip(np.maximum(near, 1), rng.choice(classes, 20)):
      dt.append(
        {
          "image_id": image,
          "category_id": int(c),
          "bbox": [*box],
          "score": rng.random(),
        }
      )
  for anchor in range(10, _VID_FRAMES - 10, 20):
    near = [*range(anchor - 10, anchor + 10)]
    anchors.append({"anchor": anchor, "candidates": near})
  return gt, dt, anchors, {i: i for i in range(_VID_FRAMES)}


if __name__ == "__main__":
  main()
