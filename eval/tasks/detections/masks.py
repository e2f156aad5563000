"""Detected masks: placed in their pictures and written as run lengths."""

import concurrent.futures
from collections.abc import Mapping, Sequence

import numpy as np

from eval.tasks.detections import mask_outlines
from robust_tfds.coco import rle


def texts(
  outputs: Mapping[str, np.ndarray], rows: Sequence[int], sizes: np.ndarray
) -> list[str]:
  """Return the `run_lengths` of some pictures, computed on all cores.

  It uses threads: most of the time is spent in NumPy's loops, which release the
  interpreter lock.

  Args:
    outputs: see `run_lengths`; or `masks` `[B, N]` that are texts already, from
      detectors on the host (`models.detection.by_picture`).
    sizes: int `[B, 2]`, (height, width) of every picture of the batch.
  """
  if outputs["masks"].dtype == np.object_:
    there = outputs["classes"] >= 0
    return [" ".join(outputs["masks"][i][there[i]]) for i in rows]
  with concurrent.futures.ThreadPoolExecutor() as pool:
    return list(pool.map(lambda i: run_lengths(outputs, i, sizes[i]), rows))


def run_lengths(
  outputs: Mapping[str, np.ndarray], row: int, size: np.ndarray
) -> str:
  """Return a picture's masks as COCO's run lengths, separated by spaces.

  Args:
    outputs: `boxes` `[B, N, 4]`, `classes` `[B, N]`, `masks` `[B, N, M, M]`.
    row: the picture's row; its masks come in the order of its detections.
    size: (height, width) of the picture.
  """
  height, width = (int(n) for n in size)
  there = outputs["classes"][row] >= 0
  number = len(there) if there.all() else int(np.argmin(there))
  if not number:
    return ""
  owner, place = mask_outlines.changes(
    outputs["masks"][row, :number],
    outputs["boxes"][row, :number],
    (height, width),
  )
  runs, firsts = _runs(owner, place, number, height * width)
  return " ".join(rle.compressed(runs, firsts))


def _runs(
  owner: np.ndarray, place: np.ndarray, number: int, pixels: int
) -> tuple[np.ndarray, np.ndarray]:
  """Return the runs of masks from their changes.

  Args:
    owner: int64 `[N]`, the mask of each change.
    place: int64 `[N]`, see `mask_outlines.changes`.

  Returns:
    The runs of all masks, int64 `[R]`, and where each mask begins, int64
    `[number]`.
  """
  step = pixels + 1
  within = place < pixels
  keys = np.sort(owner[within] * step + place[within])
  # What changes twice at one place does not change.
  first = np.flatnonzero(np.diff(keys, prepend=-1))
  times = np.diff(first, append=len(keys))
  ends = np.arange(number) * step + pixels
  keys = np.sort(np.concatenate([keys[first[times % 2 == 1]], ends]))
  edges = keys % step
  runs = np.diff(edges, prepend=0)
  firsts = np.searchsorted(keys, ends - pixels)
  runs[firsts] = edges[firsts]
  return runs, firsts
