"""Accuracy retained, of sets that are no benchmark: a ratio of means."""

from collections.abc import Mapping

import numpy as np

from eval.cells.cell import Cell
from tests.eval.coverage import case as case_lib
from tests.eval.coverage import latent
from tests.eval.coverage.cases import classification

WORDS = "A run of one model over somebody's own data, under the 15 corruptions."
_SET = "mine_c"
_FIELDS = {"accuracy retained": {"metric": "accuracy_retained"}}
_TASK = classification.task(_SET, _FIELDS)


def _case(design: latent.Design) -> case_lib.Case:
  thresholds = classification.thresholds()

  def truth() -> Mapping[str, float]:
    right = 1 - design.errors(thresholds)
    return {"accuracy retained": right[1:].mean() / right[0]}

  def intervals(rng: np.random.Generator) -> Mapping[str, case_lib.Interval]:
    wrong, groups = design.draw(rng, thresholds)
    scores = _TASK.score(
      (Cell("ours", _SET, at), classification.columns(of, groups))
      for at, of in zip(_TASK.conditions(), wrong.T)
    )
    return case_lib.of_rows(scores.rows, _FIELDS)

  return case_lib.Case(design.words, truth, intervals)


CASES = tuple(_case(design) for design in latent.DESIGNS[:2])
