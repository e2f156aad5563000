"""Scoring a COCO-val-size cell from its prediction file, on one core.

  taskset -c 0 python -m benchmarks.detection [--pycocotools]

5,000 synthetic images, 80 classes, 36,000 objects, 500,000 boxes: read from our
npz, checked, turned into COCO's numbers. Prints seconds of CPU, the process's
peak memory, and with --pycocotools the default backend's time, ratio and largest
difference. Then the time of writing a picture's 100 masks as run lengths.
"""

import pathlib
import resource
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import ml_collections
import numpy as np
from absl import app, flags

from eval import tasks
from eval.cells.cell import Cell
from eval.cells.files import predictions
from eval.metrics.detection import coco
from eval.tasks import base
from eval.tasks.detections import masks
from robust_tfds import conditions

_SLOW = flags.DEFINE_bool("pycocotools", False, "Time the default backend too.")
_IMAGES, _CLASSES, _OBJECTS, _EACH = 5000, 80, 36_000, 100
_SIDE_PX = 480


def _boxes(rng: np.random.Generator, n: int) -> np.ndarray:
  """Return boxes, float64 `[n, 4]`: x, y, width, height."""
  sides = np.exp(rng.uniform(np.log(8), np.log(250), (n, 2)))
  corner = rng.uniform(0, 1, (n, 2)) * (_SIDE_PX - sides)
  return np.concatenate([corner, sides], axis=1)


def truth(rng: np.random.Generator) -> dict[str, Any]:
  """Return a COCO instances dict."""
  box = _boxes(rng, _OBJECTS)
  image = rng.integers(1, _IMAGES + 1, _OBJECTS)
  category = rng.integers(1, _CLASSES + 1, _OBJECTS)
  return {
    "images": [
      {"id": i, "height": _SIDE_PX, "width": _SIDE_PX}
      for i in range(1, _IMAGES + 1)
    ],
    "categories": [{"id": i, "name": str(i)} for i in range(1, _CLASSES + 1)],
    "annotations": [
      {
        "id": i + 1,
        "image_id": int(image[i]),
        "category_id": int(category[i]),
        "bbox": box[i].tolist(),
        "area": float(box[i, 2] * box[i, 3]),
        "iscrowd": 0,
      }
      for i in range(_OBJECTS)
    ],
  }


def found(
  rng: np.random.Generator, gt: dict[str, Any]
) -> dict[str, np.ndarray]:
  """Return prediction columns: objects with some noise, then false alarms."""
  xywh = _boxes(rng, _IMAGES * _EACH).reshape(_IMAGES, _EACH, 4)
  label = rng.integers(0, _CLASSES, (_IMAGES, _EACH))
  score = rng.uniform(0, 0.5, (_IMAGES, _EACH))
  used = np.zeros(_IMAGES, int)
  for a in gt["annotations"]:
    row = a["image_id"] - 1
    if used[row] < _EACH and rng.random() < 0.7:
      xywh[row, used[row]] = np.array(a["bbox"]) + rng.normal(0, 3, 4)
      label[row, used[row]] = a["category_id"] - 1
      score[row, used[row]] = rng.uniform(0.3, 1)
      used[row] += 1
  order = np.argsort(-score, axis=1)
  xywh = np.take_along_axis(xywh, order[..., None], 1)
  xywh[..., 2:] = np.abs(xywh[..., 2:])
  boxes = np.concatenate([xywh[..., :2], xywh[..., :2] + xywh[..., 2:]], -1)
  ids = np.array([f"{i:012d}.jpg" for i in range(1, _IMAGES + 1)])
  return {
    "example_id": ids,
    "group_id": ids,
    "frame": np.zeros(_IMAGES, np.int32),
    "image_id": np.arange(1, _IMAGES + 1),
    "boxes": boxes.astype(np.float32),
    "scores": np.take_along_axis(score, order, 1).astype(np.float32),
    "classes": np.take_along_axis(label, order, 1).astype(np.int16),
  }


def _masks(rng: np.random.Generator) -> dict[str, np.ndarray]:
  """Return a picture's 100 detections with soft masks: blobs with a noisy rim."""
  sides = np.exp(rng.uniform(np.log(8), np.log(400), (_EACH, 2)))
  corner = rng.uniform(0, 1, (_EACH, 2)) * ((640, 480) - 0.8 * sides)
  y, x = np.mgrid[-1:1:28j, -1:1:28j]
  radius = rng.uniform(0.3, 1.1, (_EACH, 1, 1))
  depth = 8 * (radius - np.hypot(x, y)) + rng.normal(0, 0.6, (_EACH, 28, 28))
  return {
    "boxes": np.concatenate([corner, corner + sides], 1)[None],
    "classes": np.zeros((1, _EACH), np.int32),
    "masks": (1 / (1 + np.exp(-depth)))[None].astype(np.float32),
  }


def _masks_ms(rng: np.random.Generator) -> float:
  """Return the median time of a picture's masks in ms."""
  outputs, times = _masks(rng), []
  for _ in range(30):
    start = time.perf_counter()
    masks.run_lengths(outputs, 0, np.array([480, 640]))
    times.append(time.perf_counter() - start)
  return 1e3 * float(np.median(times))


def main(argv: Sequence[str]) -> None:
  """Write a cell and score it."""
  del argv
  rng = np.random.default_rng(0)
  gt = truth(rng)
  setting = base.Setting(
    "coco_c", "any", "raw", data=ml_collections.ConfigDict()
  )
  task = tasks.get("detection")(setting)
  with tempfile.TemporaryDirectory() as folder:
    cell = pathlib.Path(folder) / "cell"
    described = Cell("synthetic", "coco_c", conditions.Condition())
    examples = pathlib.Path(folder) / "examples"
    predictions.finish(cell, examples, found(rng, gt), described.note())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    columns, _ = predictions.read(cell, examples)
    read = time.process_time() - start
    rows = task.cell_rows(described, columns, gt)
    took = time.process_time() - start
  peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
  print(f"AP {rows[0].value:.4f} of {columns['scores'].size:,} boxes")
  print(f"{coco.fastest()}: {took:.2f} s of CPU, {read:.2f} s of it reading")
  print(f"peak {peak / 1024:.0f} MiB, {before / 1024:.0f} MiB of it before")
  print(f"masks: {_masks_ms(rng):.1f} ms a picture of {_EACH} at 640x480")
  if _SLOW.value:
    fastest, coco.fastest = coco.fastest, lambda: "pycocotools"
    start = time.process_time()
    slow = task.cell_rows(described, columns, gt)
    other = time.process_time() - start
    coco.fastest = fastest
    apart = max(abs(a.value - b.value) for a, b in zip(rows, slow))
    print(
      f"pycocotools: {other:.1f} s of CPU, ratio {other / took:.1f}, largest"
      f" difference {apart:.1e}"
    )


if __name__ == "__main__":
  app.run(main)
