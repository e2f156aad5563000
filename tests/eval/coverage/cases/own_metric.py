"""A metric of one's own: of a cell, the mean over severities, and retention."""

from collections.abc import Mapping

import ml_collections
import numpy as np

from eval.cells.cell import Cell
from eval.tasks import base, own
from tests.eval.coverage import case as case_lib
from tests.eval.coverage import latent

WORDS = (
  "An error without an upper end, lower being better: log-normal, as distances and"
  " depth errors are. Fog at its five severities and clean data share what makes an"
  " example hard."
)
_SCALE = 0.45  # of the logarithm, for a unit of what makes an example hard
_AT = 0.25 * np.arange(6)  # of clean and of the severities
_FIELDS = {
  "clean mean": {"metric": "clean_rmse"},
  "mean over fog": {"metric": "mean_rmse", "corruption": "fog"},
  "retained": {"metric": "part_rmse_retained"},
}


def _case(design: latent.Design, least: float = 0.93) -> case_lib.Case:
  data = {"corruptions": "fog", "severities": (1, 2, 3, 4, 5)}
  task = own.Own(
    base.Setting(
      "mine",
      data=ml_collections.ConfigDict(data),
      metrics={"rmse": "lower"},
    )
  )
  cells = [Cell("m", "mine", c) for c in task.conditions()]

  def truth() -> Mapping[str, float]:
    means = np.exp(_AT + _SCALE**2 * design.variance / 2)
    mean = means[1:].mean()
    return {
      "clean mean": means[0],
      "mean over fog": mean,
      "retained": means[0] / mean,
    }

  def intervals(rng: np.random.Generator) -> Mapping[str, case_lib.Interval]:
    ease, groups = design.effects(rng, len(cells))
    listed = []
    for cell, ease_of_cell, at in zip(cells, ease.T, _AT):
      columns = {
        "example_id": np.array([f"{i:05d}" for i in range(len(groups))]),
        "group_id": groups,
        "metric_rmse": np.exp(at - _SCALE * ease_of_cell),
      }
      listed.append((cell, columns))
    return case_lib.of_rows(task.score(listed).rows, _FIELDS)

  return case_lib.Case(design.words, truth, intervals, least)


CASES = (
  _case(latent.Design(200)),
  _case(latent.Design(60, 0.7), least=0.9),
)
