"""Errors of a classifier: a cell's, CE, mCE and their relatives, plain means."""

from collections.abc import Mapping

import ml_collections
import numpy as np

from eval.cells.cell import Cell
from eval.tasks import base, classification
from robust_tfds import conditions
from tests.eval.coverage import case as case_lib
from tests.eval.coverage import latent

WORDS = (
  "A run of two models on the 15 common corruptions; the second one normalises and"
  " is drawn together with the first."
)
_WORSE = 0.35  # of the baseline
_NAMES = conditions.PICTURES.names("common")
_FIELDS = {
  "error": {"metric": "error", "config": "clean", "model": "ours"},
  "CE": {"metric": "ce", "corruption": "fog", "model": "ours"},
  "mean error": {"metric": "mean_corruption_error", "model": "ours"},
  "mCE": {"metric": "mce", "model": "ours"},
  "relative mCE": {"metric": "relative_mce", "model": "ours"},
}


def task(
  dataset: str, fields: Mapping[str, Mapping[str, object]], baseline: str = ""
) -> classification.Classification:
  """Of clean pictures and the five severities of all common corruptions."""
  data = {"corruptions": "common", "severities": (1, 2, 3, 4, 5)}
  setting = base.Setting(
    dataset, baseline=baseline, data=ml_collections.ConfigDict(data)
  )
  out = classification.Classification(setting)
  case_lib.light(out, fields, ["error"])
  return out


_TASK = task("digits_c", _FIELDS, "model:base")
_CONDITIONS = _TASK.conditions()


def thresholds() -> np.ndarray:
  """Of clean and of every corruption's five severities: `[76]`."""
  _, *others = _CONDITIONS
  harder = [
    -0.9 + 0.3 * (c.level - 1) + 0.04 * _NAMES.index(c.name) for c in others
  ]
  return np.array([-1.2, *harder])


def _of_both() -> np.ndarray:
  """The model's thresholds, then the baseline's: `[152]`."""
  return np.concatenate([thresholds(), thresholds() + _WORSE])


def columns(wrong: np.ndarray, groups: np.ndarray) -> dict[str, np.ndarray]:
  """A cell's predictions: wrong bool `[N]`, groups `[N]` texts."""
  n = len(wrong)
  top5 = np.full((n, 5), -1)
  top5[:, 0] = wrong
  return {"label": np.zeros(n, int), "top5": top5, "group_id": groups}


def _truth(design: latent.Design, shift: float) -> Mapping[str, float]:
  ours, theirs = design.errors(_of_both() + shift).reshape(2, -1)
  at = {
    name: [i for i, c in enumerate(_CONDITIONS) if c.name == name]
    for name in _NAMES
  }
  ce = {n: ours[i].sum() / theirs[i].sum() for n, i in at.items()}
  relative = [
    (ours[i] - ours[0]).sum() / (theirs[i] - theirs[0]).sum()
    for i in at.values()
  ]
  return {
    "error": ours[0],
    "CE": ce["fog"],
    "mean error": ours[1:].mean(),
    "mCE": float(np.mean(list(ce.values()))),
    "relative mCE": float(np.mean(relative)),
  }


def _case(
  design: latent.Design, shift: float = 0, least: float = 0.93
) -> case_lib.Case:
  """Of errors that are fewer for a shift below 0."""

  def intervals(rng: np.random.Generator) -> Mapping[str, case_lib.Interval]:
    wrong, groups = design.draw(rng, _of_both() + shift)
    cells = [
      Cell(model, "digits_c", c)
      for model in ("ours", "base")
      for c in _CONDITIONS
    ]
    scores = _TASK.score(
      (cell, columns(of, groups)) for cell, of in zip(cells, wrong.T)
    )
    return case_lib.of_rows(scores.rows, _FIELDS)

  truth = _truth(design, shift)
  rare = f", clean error {truth['error']:.3f}" if shift else ""
  return case_lib.Case(design.words + rare, lambda: truth, intervals, least)


CASES = (
  *(_case(design) for design in latent.DESIGNS),
  # No interval knows what no example shows.
  _case(latent.Design(25), -1.5, least=0.85),
  _case(latent.Design(25, 1.5), -2.5, least=0.85),
)
