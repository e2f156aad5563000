"""NLL and Brier score: of a cell, and the mean over the severities."""

from collections.abc import Mapping

import ml_collections
import numpy as np
from scipy import stats

from eval.cells.cell import Cell
from eval.tasks import base, classification
from tests.eval.coverage import case as case_lib
from tests.eval.coverage import latent
from tests.eval.coverage.cases import classification as pictures

WORDS = (
  "Fog at its five severities. NLL is log-normal with a long tail, as that of clean"
  " pictures is: most have next to none, few have most of it. Of few examples the"
  " interval lies too low where the tail was not seen."
)
_SKEW = 1.3  # of the logarithm of NLL, for a unit of what makes it hard
_AT = -2.0 + 0.4 * np.arange(6)  # of clean and of the severities
_FIELDS = {
  "NLL": {"metric": "nll", "config": "clean"},
  "Brier": {"metric": "brier", "config": "clean"},
  "mean NLL": {"metric": "mean_nll", "corruption": "fog"},
  "mean Brier": {"metric": "mean_brier", "corruption": "fog"},
}


def _case(design: latent.Design, least: float = 0.93) -> case_lib.Case:
  data = {"corruptions": "fog", "severities": (1, 2, 3, 4, 5)}
  task = classification.Classification(
    base.Setting("digits_c", data=ml_collections.ConfigDict(data))
  )
  cells = [Cell("m", "digits_c", c) for c in task.conditions()]

  def truth() -> Mapping[str, float]:
    nll = np.exp(_SKEW * _AT + _SKEW**2 * design.variance / 2)
    brier = 2 * stats.norm.cdf(_AT / np.sqrt(1 + design.variance))
    return {
      "NLL": nll[0],
      "Brier": brier[0],
      "mean NLL": nll[1:].mean(),
      "mean Brier": brier[1:].mean(),
    }

  def intervals(rng: np.random.Generator) -> Mapping[str, case_lib.Interval]:
    ease, groups = design.effects(rng, len(cells))
    listed = []
    for cell, of in zip(cells, (_AT - ease).T):
      n = len(of)
      columns = pictures.columns(of > 0, groups)
      columns |= {
        "score": np.full((n, 5), 0.5, np.float32),
        "frame": np.zeros(n, int),
        "nll": np.exp(_SKEW * of).astype(np.float32),
        "brier": (2 * stats.norm.cdf(of)).astype(np.float32),
      }
      listed.append((cell, columns))
    return case_lib.of_rows(task.score(listed).rows, _FIELDS)

  return case_lib.Case(design.words, truth, intervals, least, sets=300)


CASES = (
  _case(latent.Design(359), least=0.88),
  _case(latent.Design(2000), least=0.9),
  _case(latent.Design(50, 0.7), least=0.8),
  _case(latent.Design(242, 0.7), least=0.88),
)
