"""The cause of differing answers when a model is called twice.

Chance alone gives answers to the same pictures that are draws of one distribution,
whatever was shown before or beside them. So two groups of `CALLS` answers are held
against each other by an exact permutation test of the distance between their means:
of all 12,870 ways to split them, only the split that was made (and its mirror image)
is as far apart where something else decides, with chance alone once in 6,000 tests.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from eval.run.model import likeness

CALLS = 8
STATE = "answers otherwise to the same inputs after it was shown others"
ORDER = "answers otherwise to the same inputs reordered"
OTHERS = "answers otherwise to an input without the others"
DARKER = 4  # pixels are divided by it: another mean, another contrast
_DARK = 3  # darker batches before each that is compared
_SPLITS = 2  # of all splits: the observed one and its mirror image
_DETECTIONS = 100  # the best ones of a picture

Ask = Callable[[Sequence[np.ndarray]], Mapping[str, np.ndarray]]


def dependence(ask: Ask, rows: Sequence[np.ndarray]) -> str:
  """Return what answers depend on besides input and chance; empty for nothing.

  Args:
    ask: the model; it is called 72 times.
    rows: from `probe.batch`.
  """
  dark = [rows[0] // DARKER, *rows[1:]]
  # What it adapts to first is these inputs, then darker ones.
  before = [_numbers(ask(rows)) for _ in range(2 * CALLS)][CALLS:]
  for _ in range(CALLS):
    ask(dark)
  after = []
  for _ in range(CALLS):
    for _ in range(_DARK):
      ask(dark)
    after.append(_numbers(ask(rows)))
  same = np.stack(after)
  if _differ(np.stack(before), same):
    return STATE
  order = np.roll(np.arange(len(rows[0])), 1)
  moved = [_numbers(ask([part[order] for part in rows])) for _ in range(CALLS)]
  if _differ(same[:, order], np.stack(moved)):
    return ORDER
  mixed = among_dark(rows)
  first = np.stack([_numbers(ask(mixed))[:1] for _ in range(CALLS)])
  return OTHERS * _differ(same[:, :1], first)


def among_dark(rows: Sequence[np.ndarray]) -> list[np.ndarray]:
  """Return the inputs with all but the first much darker."""
  images = rows[0] // DARKER
  images[0] = rows[0][0]
  return [images, *rows[1:]]


def _numbers(answer: Mapping[str, np.ndarray]) -> np.ndarray:
  """Return logits, or a detector's best scores: float64 `[B, D]`."""
  if "logits" in answer:
    return answer["logits"].astype(np.float64)
  scores = np.where(answer["valid"], answer["scores"], 0).astype(np.float64)
  best = -np.sort(-scores, axis=1)[:, :_DETECTIONS]
  return np.pad(best, [(0, 0), (0, _DETECTIONS - best.shape[1])])


def _differ(first: np.ndarray, second: np.ndarray) -> bool:
  """Return whether two groups of answers `[CALLS, B, D]` differ."""
  means = {"logits": first.mean(axis=0)}, {"logits": second.mean(axis=0)}
  if not likeness.difference(means[0], means[1]):  # but for rounding
    return False
  rows = np.concatenate([first, second]).reshape(2 * CALLS, -1)
  rows = rows - rows.mean(axis=0)
  chosen = np.array([*itertools.combinations(range(2 * CALLS), CALLS)])
  inside = np.zeros((len(chosen), 2 * CALLS))
  np.put_along_axis(inside, chosen, 1, axis=1)
  distance = ((inside @ (rows @ rows.T)) * inside).sum(axis=1)
  return int((distance >= distance[0] * (1 - 1e-9)).sum()) <= _SPLITS
