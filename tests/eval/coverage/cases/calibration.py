"""ECE of a cell: why it has no interval."""

import functools
from collections.abc import Mapping

import ml_collections
import numpy as np

from eval.cells.cell import Cell
from eval.metrics import calibration
from eval.tasks import base, classification
from robust_tfds.conditions import Condition
from tests.eval.coverage import case as case_lib

WORDS = (
  "One cell of single examples. ECE is biased upwards by how many examples a bin has,"
  " so it has no interval; beside it the percentiles of draws of examples, which are"
  " not printed."
)
_DRAWS = 200
_LARGE = 2_000_000
_ECE, _PERCENTILES = "ECE", "ECE, percentiles of draws (not printed)"


def _answers(
  rng: np.random.Generator, n: int, excess: float
) -> tuple[np.ndarray, np.ndarray]:
  """Scores, and who is right: the score less a constant is the chance of it."""
  score = rng.beta(6, 2, n).astype(np.float32)
  return score, rng.random(n) < np.clip(score - excess, 0, 1)


@functools.cache
def _truth(excess: float) -> Mapping[str, float]:
  rng = np.random.default_rng(0)
  known = calibration.ece(*_answers(rng, _LARGE, excess))
  return {_ECE: known, _PERCENTILES: known}


def _case(n: int, excess: float) -> case_lib.Case:
  task = classification.Classification(
    base.Setting("digits_c", data=ml_collections.ConfigDict())
  )
  cell = Cell("m", "digits_c", Condition())

  def intervals(rng: np.random.Generator) -> Mapping[str, case_lib.Interval]:
    score, right = _answers(rng, n, excess)
    top5, scores = np.full((n, 5), -1), np.zeros((n, 5), np.float32)
    top5[:, 0], scores[:, 0] = ~right, score
    columns = {
      "label": np.zeros(n, int),
      "top5": top5,
      "score": scores,
      "frame": np.zeros(n, int),
      "group_id": np.arange(n).astype(str),
    }
    rows = task.cell_rows(cell, columns)
    of = case_lib.of_rows(rows, {_ECE: {"metric": "ece"}})
    draws = rng.integers(0, n, (_DRAWS, n))
    drawn = [calibration.ece(score[rows], right[rows]) for rows in draws]
    ends = np.quantile(drawn, [0.025, 0.975])
    return {**of, _PERCENTILES: case_lib.Interval(of[_ECE].value, *ends)}

  words = f"{n:,} examples, chance to be right = score - {excess:g}"
  return case_lib.Case(words, lambda: _truth(excess), intervals, least=0)


CASES = tuple(_case(n, excess) for n in (500, 5000) for excess in (0.0, 0.1))
