"""AP with each block of pictures left out, and of halves, from one matching pass.

Leaving out pictures leaves out their detections and objects; the rest keeps its
order and its matches. Precision has its maxima at hits, so only hits are used,
for all blocks at once: the false alarms before each hit are counted per block,
and those of the left-out block are subtracted. A class without remaining
objects is left out of the mean, as the metric does for a class without objects.

The blocks are also split in two, several times: AP of few pictures lies above
that of many, and halves estimate by how much (`Replicates.bias`). A class whose
objects are all in one half counts in the other half with the same number.
"""

import dataclasses

import numpy as np

from eval.metrics.detection import matches as matches_lib
from eval.metrics.detection import voc


@dataclasses.dataclass(frozen=True)
class Rule:
  """A rule for averaging precision over recalls.

  Attributes:
    recalls: float64 `[R]`, increasing from 0.
    epsilon: increase of precision's denominator.
  """

  recalls: np.ndarray
  epsilon: float


# pycocotools: 101 recalls; its precision is tp / (fp + tp + eps).
COCO = Rule(np.linspace(0.0, 1.0, 101), float(np.spacing(1)))
VOC = Rule(voc.RECALLS, 0.0)  # the devkit of 2007
_SPLITS = 5  # number of splits in halves; 20 estimate the bias little better


@dataclasses.dataclass(frozen=True)
class Numbers:
  """The average precision and highest recall of every class.

  Attributes:
    precision: float64 `[K, T, 1 + J + H]` for K classes and T thresholds: for
      all pictures, then without each of J blocks, then for H halves, pair by
      pair; nan without objects. A single block has no halves.
    recall: the same for the highest recall.
  """

  precision: np.ndarray
  recall: np.ndarray

  def mean_precision(self, threshold: int | None = None) -> np.ndarray:
    """Compute AP, the mean over classes that have objects: float64 `[1 + J + H]`.

    Args:
      threshold: index of the only threshold; None: all.
    """
    return _mean(self.precision, threshold)

  def mean_recall(self) -> np.ndarray:
    """Compute AR: float64 `[1 + J + H]`."""
    return _mean(self.recall, None)


def numbers(
  matches: matches_lib.Matches,
  blocks: np.ndarray,
  classes: int,
  rule: Rule = COCO,
) -> Numbers:
  """Compute AP for all pictures, without each block, and for halves.

  Args:
    blocks: int `[I]`, the block of every picture, 0 to J - 1.
    classes: K; labels are below.
  """
  most = int(blocks.max(initial=-1)) + 1
  halves = half_membership(most)
  thresholds = matches.right.shape[1]
  shape = (classes, thresholds, 1 + most + halves.shape[1])
  precision, recall = np.full(shape, np.nan), np.full(shape, np.nan)
  block = blocks[matches.image]
  edges = np.searchsorted(matches.label, np.arange(classes + 1))
  image, label = matches.objects
  counts = np.zeros((classes, most), np.int64)
  np.add.at(counts, (label, blocks[image]), 1)
  for k in np.flatnonzero(counts.sum(axis=1)).tolist():
    rows = slice(edges[k], edges[k + 1])
    left = counts[k].sum() - np.append(0, counts[k])
    number = np.concatenate([left, counts[k] @ halves])
    need = _needed(number, rule)
    for t in range(thresholds):
      right, wrong = matches.right[rows, t], matches.wrong[rows, t]
      precision[k, t], recall[k, t] = _class_numbers(
        right, wrong, block[rows], halves, number, need, rule
      )
  return Numbers(
    *(_fill_empty_halves(x, 1 + most) for x in (precision, recall))
  )


def coco_numbers(
  objects: matches_lib.Objects,
  detected: matches_lib.Detected,
  blocks: np.ndarray,
  classes: int,
) -> dict[str, np.ndarray]:
  """Compute COCO's 12 numbers for all pictures, without each block, and for halves.

  Args:
    objects: objects of the pictures that the detector was shown.
    blocks: int `[I]`, the block of every picture, 0 to J - 1.
    classes: K; labels are below.

  Returns:
    AP AP50 AP75 APs APm APl AR1 AR10 AR100 ARs ARm ARl -> float64 `[1 + J +
    H]`, nan without objects.
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
      few = matches.select(matcher.rank < most)
      out[f"AR{most}"] = numbers(few, blocks, classes).mean_recall()
  return out


def voc_ap50(
  matches: matches_lib.Matches, blocks: np.ndarray, classes: int
) -> np.ndarray:
  """Compute VOC2007's AP50 in the form of `numbers`: float64 `[1 + J + H]`.

  Args:
    matches: result of `voc.match`.
    blocks: int `[I]`, the block of every picture, 0 to J - 1.
    classes: K; labels are below.
  """
  return numbers(matches, blocks, classes, VOC).mean_precision()


def half_membership(blocks: int) -> np.ndarray:
  """Split the blocks in halves: int64 `[J, H]`, 1 if block j is in half h, else 0.

  Blocks are random, so any fixed split of them is random too.
  """
  if blocks < 2:
    return np.zeros((blocks, 0), np.int64)
  rng = np.random.default_rng(0)
  first = np.stack([rng.permutation(blocks) % 2 for _ in range(_SPLITS)], 1)
  return np.stack([first, 1 - first], axis=-1).reshape(blocks, -1)


def _fill_empty_halves(values: np.ndarray, first: int) -> np.ndarray:
  """Give a half without objects of a class the other half's number."""
  halves = values[..., first:]
  other = halves[..., np.arange(halves.shape[-1]) ^ 1]
  values[..., first:] = np.where(np.isnan(halves), other, halves)
  return values


def _mean(values: np.ndarray, threshold: int | None) -> np.ndarray:
  chosen = values if threshold is None else values[:, [threshold]]
  defined = ~np.isnan(chosen)
  number = defined.sum(axis=(0, 1))
  total = np.where(defined, chosen, 0.0).sum(axis=(0, 1))
  return np.divide(
    total, number, out=np.full(number.shape, np.nan), where=number > 0
  )


def _class_numbers(
  right: np.ndarray,
  wrong: np.ndarray,
  block: np.ndarray,
  halves: np.ndarray,
  number: np.ndarray,
  need: np.ndarray,
  rule: Rule,
) -> tuple[np.ndarray, np.ndarray]:
  """Compute average precision and highest recall of a class at a threshold, `[C]`.

  Args:
    right: bool `[D]`, hits by decreasing score.
    wrong: bool `[D]`, false alarms.
    block: int `[D]`.
    halves: int64 `[J, H]`, see `half_membership`.
    number: int64 `[C]`, C = 1 + J + H, number of remaining objects.
    need: int64 `[R, C]`, see `_needed`.
  """
  hits = np.flatnonzero(right)
  own = block[hits]
  before = np.searchsorted(hits, np.flatnonzero(wrong))  # hits before an alarm
  alarms = _without(before, block[wrong], len(hits), halves)
  so_far = _without(np.arange(len(hits)), own, len(hits), halves)
  precision = so_far / np.maximum(so_far + alarms + rule.epsilon, 1e-300)
  highest = np.maximum.accumulate(precision[::-1])[::-1]
  total = so_far[-1] if len(hits) else np.zeros(len(number), np.int64)
  remaining = _remaining(own, halves)
  average = _average(highest, remaining, total, need)
  with np.errstate(divide="ignore", invalid="ignore"):
    recall = total / number
  return np.where(number > 0, average, np.nan), recall


def _without(
  row: np.ndarray, block: np.ndarray, rows: int, halves: np.ndarray
) -> np.ndarray:
  """Return cumulative counts per column up to each row: `[rows, C]`."""
  blocks = len(halves)
  size = (rows + 1) * blocks
  each = np.bincount(row * blocks + block, minlength=size)
  up_to = np.cumsum(each.reshape(rows + 1, blocks)[:rows], axis=0)
  all_of_them = up_to.sum(axis=1, keepdims=True)
  first = up_to.astype(np.float64) @ halves[:, ::2]  # whole, and by BLAS
  parts = np.stack([first, all_of_them - first], axis=-1)
  left = [
    all_of_them,
    all_of_them - up_to,
    parts.reshape(rows, halves.shape[1]),
  ]
  return np.concatenate(left, axis=1)


def _remaining(own: np.ndarray, halves: np.ndarray) -> np.ndarray:
  """Return the indices of each column's hits, then the others: `[H, C]`."""
  left_out = own[:, None] == np.arange(-1, len(halves))
  absent = np.concatenate([left_out, halves[own] == 0], axis=1)
  return np.argsort(absent, axis=0, kind="stable")


def _average(
  highest: np.ndarray,
  remaining: np.ndarray,
  total: np.ndarray,
  need: np.ndarray,
) -> np.ndarray:
  """Compute the mean of the highest precision at or beyond every recall: `[C]`."""
  hits, columns = highest.shape
  if not hits:
    return np.zeros(columns)
  place = np.maximum(need - 1, 0)
  column = np.arange(columns)
  value = highest[remaining[np.minimum(place, hits - 1), column], column]
  return np.mean(np.where(need <= total, value, 0.0), axis=0)


def _needed(number: np.ndarray, rule: Rule) -> np.ndarray:
  """Return the hits that each recall needs, int64 `[R, N]`."""
  different, place = np.unique(number, return_inverse=True)
  need = [
    np.searchsorted(np.arange(n + 1) / max(n, 1), rule.recalls)
    for n in different.tolist()
  ]
  return np.stack(need, axis=1)[:, place]
