"""A cell's ECE, NLL and Brier score without each block of groups.

ECE is no mean over examples, and in a bootstrap it grows: what is drawn twice is
binned twice. So blocks of whole groups are left out, the same of both models.
"""

from __future__ import annotations

import numpy as np

from robust_tfds.eval.metrics import calibration
from robust_tfds.eval.metrics.resampling import Draws, Replicates
from robust_tfds.eval.tasks.parts.reliability import Answers


def of_cell(answers: Answers, draws: Draws) -> dict[str, Replicates]:
  """ECE, and NLL and Brier score where they are known and finite.

  Args:
    answers: of the cell.
    draws: of its groups, for their blocks.
  """
  block = draws.blocks_of(answers.groups)
  score = np.minimum(answers.score.astype(np.float64), 1)
  bins = calibration.equal_width(score, calibration.BINS)
  gaps = np.zeros((draws.blocks, calibration.BINS))
  np.add.at(gaps, (block, bins), answers.correct - score)
  n = np.bincount(block, minlength=draws.blocks)
  groups = len(draws.ids)
  out = {"ece": _left_out(gaps, n, groups)}
  for name, values in answers.scores.items():
    if np.isfinite(values).all():
      sums = np.bincount(block, values.astype(np.float64), draws.blocks)
      out[name] = _left_out(sums[:, None], n, groups)
  return out


def _left_out(sums: np.ndarray, n: np.ndarray, groups: int) -> Replicates:
  """Of |sums| over n examples: `[J, B]` and `[J]`, of each block."""
  whole = sums.sum(axis=0)
  with np.errstate(divide="ignore", invalid="ignore"):
    without = np.abs(whole - sums).sum(axis=1) / (n.sum() - n)
  return Replicates(np.abs(whole).sum() / n.sum(), None, without, groups)
