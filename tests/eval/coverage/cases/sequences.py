"""Flip probabilities and top-5 distances of sequences, and what normalises them."""

from collections.abc import Mapping

import ml_collections
import numpy as np
from scipy import stats

from eval.cells.cell import Cell
from eval.tasks import base, sequences
from robust_tfds import conditions
from tests.eval.coverage import case as case_lib
from tests.eval.coverage import latent

WORDS = (
  "A run of two models on the 10 common perturbations at difficulty 1; the second one"
  " normalises. Flips of a sequence lie in [0, 1], its top-5 distances are log-normal:"
  " few sequences have most of the distance."
)
_NAMES = conditions.SEQUENCES.names("common")
_WORSE = 0.3  # of the baseline
_SKEW = 0.8  # of the logarithm of distances, for a unit of what makes them hard
_FIELDS = {
  "FP": {"metric": "flip_probability", "corruption": "tilt", "severity": 1},
  "FR": {"metric": "fr", "corruption": "tilt", "severity": 1},
  "mFR": {"metric": "mfr", "severity": 1},
  "T5D": {"metric": "t5d", "corruption": "tilt", "severity": 1},
  "mT5D": {"metric": "mt5d", "severity": 1},
  "mean uT5D": {"metric": "mean_unnormalised_t5d", "severity": 1},
}


def _thresholds() -> np.ndarray:
  """Of every perturbation; then the baseline's: `[20]`."""
  ours = -0.8 + 0.1 * np.arange(len(_NAMES))
  return np.concatenate([ours, ours + _WORSE])


def _truth(design: latent.Design) -> Mapping[str, float]:
  at = _thresholds()
  flips = stats.norm.cdf(at / np.sqrt(1 + design.variance)).reshape(2, -1)
  t5d = np.exp(_SKEW * at + _SKEW**2 * design.variance / 2).reshape(2, -1)
  fr, ratio = flips[0] / flips[1], t5d[0] / t5d[1]
  tilt = _NAMES.index("tilt")
  return {
    "FP": flips[0, tilt],
    "FR": fr[tilt],
    "mFR": fr.mean(),
    "T5D": ratio[tilt],
    "mT5D": ratio.mean(),
    "mean uT5D": t5d[0].mean(),
  }


def _case(design: latent.Design) -> case_lib.Case:
  data = {"perturbations": "common", "difficulties": (1,)}
  task = sequences.Sequences(
    base.Setting(
      "digits_p", baseline="model:base", data=ml_collections.ConfigDict(data)
    )
  )
  case_lib.light(
    task,
    _FIELDS,
    ["flip_probability", "unnormalised_t5d"],
    lambda cell: cell.condition.name == "tilt",
  )
  perturbed = {c.name: c for c in task.conditions() if not c.clean}
  cells = [
    Cell(model, "digits_p", perturbed[name])
    for model in ("ours", "base")
    for name in _NAMES
  ]

  def intervals(rng: np.random.Generator) -> Mapping[str, case_lib.Interval]:
    ease, groups = design.effects(rng, len(cells))
    at = _thresholds() - ease
    listed = []
    for cell, of in zip(cells, at.T):
      noise = conditions.SEQUENCES.is_noise(cell.condition.name)
      columns = np.tile(of[:, None], 1 if noise else 3)
      scores = {
        "flips": stats.norm.cdf(columns),
        "t5d": np.exp(_SKEW * columns),
        "zipf": np.exp(columns).astype(np.float32),
      }
      listed.append((cell, {"group_id": groups, **scores}))
    rows = [r for r in task.score(listed).rows if r.model == "ours"]
    return case_lib.of_rows(rows, _FIELDS)

  return case_lib.Case(
    design.words, lambda: _truth(design), intervals, sets=300
  )


CASES = tuple(
  _case(design)
  for design in (
    latent.Design(50),
    latent.Design(40, 0.7),
    latent.Design(242),
    latent.Design(242, 0.7),
  )
)
