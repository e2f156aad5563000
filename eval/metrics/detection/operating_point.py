"""The operating point: the score above which detections are worth showing.

AP needs no threshold; pictures do. The threshold of the highest F1 over all
classes, at IoU 0.5, weighs false alarms and misses equally and depends on the
detector alone.
"""

import numpy as np


def best_f1(
  scores: np.ndarray, right: np.ndarray, wrong: np.ndarray, objects: int
) -> tuple[float, float]:
  """Return the threshold of the highest F1, and that F1.

  Args:
    scores: float `[D]`, in any order.
    right: bool `[D]`, hits.
    wrong: bool `[D]`, false alarms; the others do not count.
    objects: number of objects that count.

  Returns:
    The lowest score that is shown, and 2 hits / (detections + objects); the
    highest threshold among equals. Without a hit: infinity and 0.

  >>> best_f1(np.array([0.9, 0.8, 0.7]), np.array([1, 0, 1], bool),
  ...         np.array([0, 1, 0], bool), 2)
  (0.7, 0.8)
  """
  order = np.argsort(-scores, kind="stable")
  scores = scores[order]
  hits = np.cumsum(right[order])
  shown = hits + np.cumsum(wrong[order])
  f1 = 2 * hits / np.maximum(shown + objects, 1)
  last = np.append(scores[1:] != scores[:-1], True)[: len(scores)]
  f1 = np.where(last, f1, 0.0)  # equal scores are shown together
  if not f1.any():
    return float("inf"), 0.0
  best = int(np.argmax(f1))
  return float(scores[best]), float(f1[best])
