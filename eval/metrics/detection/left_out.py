"""AP with each block of pictures left out, from matches that were made once.

Leaving out pictures leaves out their detections and objects; what remains keeps
its order and its matches. Precision has its maxima at hits, so that only hits are
looked at, all blocks at once: with a hit come the false alarms before it, counted
per block, and what is left out is subtracted. A class of which no object remains
is left out of the mean, as the metric does with a class that has none.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from robust_tfds.eval.metrics.detection import matches as matches_lib
from robust_tfds.eval.metrics.detection import voc


@dataclasses.dataclass(frozen=True)
class Rule:
  """How precision at some recalls is averaged.

  Attributes:
    recalls: float64 `[R]`, increasing from 0.
    epsilon: that precision's denominator is increased by.
  """

  recalls: np.ndarray
  epsilon: float


# pycocotools: 101 recalls; its precision is tp / (fp + tp + eps).
COCO = Rule(np.linspace(0.0, 1.0, 101), float(np.spacing(1)))
VOC = Rule(voc.RECALLS, 0.0)  # the devkit of 2007


@dataclasses.dataclass(frozen=True)
class Numbers:
  """Average precision and highest recall of every class.

  Attributes:
    precision: float64 `[K, T, 1 + J]` of K classes and T thresholds: of all
      pictures, then without each of J blocks; nan where no object is.
    recall: the same of the highest recall.
  """

  precision: np.ndarray
  recall: np.ndarray

  def mean_precision(self, threshold: int | None = None) -> np.ndarray:
    """AP, the mean over classes that have objects: float64 `[1 + J]`.

    Args:
      threshold: place of the only threshold; all if None.
    """
    return _mean(self.precision, threshold)

  def mean_recall(self) -> np.ndarray:
    """AR: float64 `[1 + J]`."""
    return _mean(self.recall, None)


def numbers(
  matches: matches_lib.Matches,
  blocks: np.ndarray,
  classes: int,
  rule: Rule = COCO,
) -> Numbers:
  """AP of all pictures, and without each block.

  Args:
    matches: of all pictures.
    blocks: int `[I]`, the block of every picture, 0 to J - 1.
    classes: K; labels are below.
    rule: of the average.
  """
  most = int(blocks.max(initial=-1)) + 1
  thresholds = matches.right.shape[1]
  shape = (classes, thresholds, 1 + most)
  precision, recall = np.full(shape, np.nan), np.full(shape, np.nan)
  block = blocks[matches.image]
  edges = np.searchsorted(matches.label, np.arange(classes + 1))
  image, label = matches.objects
  counts = np.zeros((classes, most), np.int64)
  np.add.at(counts, (label, blocks[image]), 1)
  for k in np.flatnonzero(counts.sum(axis=1)).tolist():
    rows = slice(edges[k], edges[k + 1])
    number = counts[k].sum() - np.append(0, counts[k])
    need = _needed(number, rule)
    for t in range(thresholds):
      right, wrong = matches.right[rows, t], matches.wrong[rows, t]
      precision[k, t], recall[k, t] = _of_class(
        right, wrong, block[rows], number, need, rule
      )
  return Numbers(precision, recall)


def coco_numbers(
  objects: matches_lib.Objects,
  detected: matches_lib.Detected,
  blocks: np.ndarray,
  classes: int,
) -> dict[str, np.ndarray]:
  """COCO's 12 numbers of all pictures, and without each block.

  Args:
    objects: of the pictures that the detector was shown.
    detected: of the same pictures.
    blocks: int `[I]`, the block of every picture, 0 to J - 1.
    classes: K; labels are below.

  Returns:
    AP AP50 AP75 APs APm APl AR1 AR10 AR100 ARs ARm ARl -> float64 `[1 + J]`, nan
    where no object is.
  """
  matcher, out = matches_lib.Matcher(objects, detected), {}
  for size, area in matches_lib.AREAS.items():
    matches = matcher.within(area)
    got = numbers(matches, blocks, classes)
    out[f"AP{size}"] = got.mean_precision()
    out[f"AR{size or 100}"] = got.mean_recall()
    if size:
      continue
    out["AP50"], out["AP75"] = got.mean_precision(0), got.mean_precision(5)
    for most in (1, 10):
      few = matches.at(matcher.rank < most)
      out[f"AR{most}"] = numbers(few, blocks, classes).mean_recall()
  return out


def voc_ap50(
  matches: matches_lib.Matches, blocks: np.ndarray, classes: int
) -> np.ndarray:
  """VOC2007's AP50 of all pictures, and without each block: float64 `[1 + J]`.

  Args:
    matches: as `voc.match` gives them.
    blocks: int `[I]`, the block of every picture, 0 to J - 1.
    classes: K; labels are below.
  """
  return numbers(matches, blocks, classes, VOC).mean_precision()


def _mean(values: np.ndarray, threshold: int | None) -> np.ndarray:
  chosen = values if threshold is None else values[:, [threshold]]
  defined = ~np.isnan(chosen)
  number = defined.sum(axis=(0, 1))
  total = np.where(defined, chosen, 0.0).sum(axis=(0, 1))
  return np.divide(
    total, number, out=np.full(number.shape, np.nan), where=number > 0
  )


def _of_class(
  right: np.ndarray,
  wrong: np.ndarray,
  block: np.ndarray,
  number: np.ndarray,
  need: np.ndarray,
  rule: Rule,
) -> tuple[np.ndarray, np.ndarray]:
  """Average precision and highest recall of a class at a threshold, `[1 + J]`.

  Args:
    right: bool `[D]`, hits by decreasing score.
    wrong: bool `[D]`, false alarms.
    block: int `[D]`.
    number: int64 `[1 + J]`, objects that remain.
    need: int64 `[R, 1 + J]`, see `_needed`.
    rule: of the average.
  """
  blocks = len(number) - 1
  hits = np.flatnonzero(right)
  own = block[hits]
  before = np.searchsorted(hits, np.flatnonzero(wrong))  # hits before an alarm
  alarms = _without(before, block[wrong], len(hits), blocks)
  so_far = _without(np.arange(len(hits)), own, len(hits), blocks)
  precision = so_far / np.maximum(so_far + alarms + rule.epsilon, 1e-300)
  highest = np.maximum.accumulate(precision[::-1])[::-1]
  total = so_far[-1] if len(hits) else np.zeros(len(number), np.int64)
  remaining = _remaining(own, blocks)
  average = _average(highest, remaining, total, need)
  with np.errstate(divide="ignore", invalid="ignore"):
    recall = total / number
  return np.where(number > 0, average, np.nan), recall


def _without(
  row: np.ndarray, block: np.ndarray, rows: int, blocks: int
) -> np.ndarray:
  """How many there are up to each row, without each block: `[rows, 1 + J]`."""
  size = (rows + 1) * blocks
  each = np.bincount(row * blocks + block, minlength=size)
  up_to = np.cumsum(each.reshape(rows + 1, blocks)[:rows], axis=0)
  all_of_them = up_to.sum(axis=1, keepdims=True)
  return np.concatenate([all_of_them, all_of_them - up_to], axis=1)


def _remaining(own: np.ndarray, blocks: int) -> np.ndarray:
  """Places of the hits that remain, those left out behind: `[H, 1 + J]`."""
  left_out = own[:, None] == np.arange(-1, blocks)
  return np.argsort(left_out, axis=0, kind="stable")


def _average(
  highest: np.ndarray,
  remaining: np.ndarray,
  total: np.ndarray,
  need: np.ndarray,
) -> np.ndarray:
  """The mean of the highest precision at or beyond every recall: `[1 + J]`."""
  hits, columns = highest.shape
  if not hits:
    return np.zeros(columns)
  place = np.maximum(need - 1, 0)
  column = np.arange(columns)
  value = highest[remaining[np.minimum(place, hits - 1), column], column]
  return np.mean(np.where(need <= total, value, 0.0), axis=0)


def _needed(number: np.ndarray, rule: Rule) -> np.ndarray:
  """Hits that each recall needs of some numbers of objects: int64 `[R, N]`."""
  different, place = np.unique(number, return_inverse=True)
  need = [
    np.searchsorted(np.arange(n + 1) / max(n, 1), rule.recalls)
    for n in different.tolist()
  ]
  return np.stack(need, axis=1)[:, place]
