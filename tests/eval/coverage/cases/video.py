"""Accuracy of videos: gamma_a, gamma_r and their means, and natural shifts."""

from collections.abc import Mapping

import ml_collections
import numpy as np

from eval.cells.cell import Cell
from eval.tasks import base, video
from robust_tfds import conditions
from tests.eval.coverage import case as case_lib
from tests.eval.coverage import latent
from tests.eval.coverage.cases import classification

WORDS = (
  "A run of one model on all perturbations of the published mean; groups are the"
  " source videos that clips are cut from. The natural set has three categories of"
  " shifts."
)
_CLEAN = -1.2
_SHIFTS = np.array([-0.8, -0.2, 0.4])  # thresholds of the categories
_GAMMAS = {
  "accuracy": {"metric": "clean_accuracy"},
  "gamma_a, one perturbation": {
    "metric": "gamma_a",
    "corruption": "defocus_blur",
  },
  "gamma_r, one group": {"metric": "gamma_r/noise"},
  "gamma_a": {"metric": "gamma_a", "corruption": ""},
  "gamma_r": {"metric": "gamma_r", "corruption": ""},
}
_NATURAL = {
  "accuracy": {"metric": "natural_accuracy"},
  "mean of categories": {"metric": "natural_category_accuracy"},
  "accuracy of a category": {"metric": "accuracy/category/0"},
}


def _task(dataset: str, perturbations: str) -> video.Video:
  data = {"perturbations": perturbations, "severities": (1, 2, 3, 4, 5)}
  setting = base.Setting(dataset, data=ml_collections.ConfigDict(data))
  return video.Video(setting)


def _perturbed(design: latent.Design) -> case_lib.Case:
  task = _task("ucf101_p", "common")
  case_lib.light(task, _GAMMAS, ["accuracy"])
  clean, *listed = task.conditions()
  names = conditions.VIDEOS.names("common")
  harder = [-1 + 0.3 * c.level + 0.03 * names.index(c.name) for c in listed]
  thresholds = np.array([_CLEAN, *harder])

  def truth() -> Mapping[str, float]:
    right = 1 - design.errors(thresholds)
    of = {
      name: np.mean([r for c, r in zip(listed, right[1:]) if c.name == name])
      for name in names
    }
    members = [
      conditions.VIDEOS.members(g, "common") for g in conditions.VIDEOS.groups
    ]
    groups = [np.mean([of[name] for name in m]) for m in members]
    mean = float(np.mean(groups))
    noise = groups[list(conditions.VIDEOS.groups).index("noise")]
    return {
      "accuracy": right[0],
      "gamma_a, one perturbation": 1 - (right[0] - of["defocus_blur"]),
      "gamma_r, one group": noise / right[0],
      "gamma_a": 1 - (right[0] - mean),
      "gamma_r": mean / right[0],
    }

  def intervals(rng: np.random.Generator) -> Mapping[str, case_lib.Interval]:
    wrong, groups = design.draw(rng, thresholds)
    cells = [Cell("m", "ucf101_p", c) for c in (clean, *listed)]
    scores = task.score(
      (cell, classification.columns(of, groups))
      for cell, of in zip(cells, wrong.T)
    )
    return case_lib.of_rows(scores.rows, _GAMMAS)

  return case_lib.Case(design.words, truth, intervals)


def _natural(design: latent.Design) -> case_lib.Case:
  """Every clip is of one category, each as likely."""
  task = _task("ucf101_ds", "none")
  errors = design.errors(_SHIFTS)

  def truth() -> Mapping[str, float]:
    mean = float(1 - errors.mean())
    return {
      "accuracy": mean,
      "mean of categories": mean,
      "accuracy of a category": 1 - errors[0],
    }

  def intervals(rng: np.random.Generator) -> Mapping[str, case_lib.Interval]:
    wrong, groups = design.draw(rng, _SHIFTS)
    which = rng.integers(0, len(_SHIFTS), len(wrong))
    of_clips = wrong[np.arange(len(wrong)), which]
    columns = classification.columns(of_clips, groups)
    columns |= {"category": which.astype(str), "shift": which.astype(str)}
    cell = Cell("m", "ucf101_ds", task.conditions()[0])
    scores = task.score([(cell, columns)])
    return case_lib.of_rows(scores.rows, _NATURAL)

  return case_lib.Case(f"natural: {design.words}", truth, intervals)


CASES = (
  *(_perturbed(d) for d in (latent.Design(25, 0.7), latent.Design(100, 1.5))),
  *(_natural(d) for d in (latent.Design(25, 0.7), latent.Design(100, 1.5))),
)
