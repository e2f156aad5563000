"""mIoU of a set of pictures, its mean over severities, and retention."""

from collections.abc import Mapping

import ml_collections
import numpy as np

from eval.cells.cell import Cell
from eval.metrics import segmentation as metrics
from eval.tasks import base, segmentation
from tests.eval.coverage import case as case_lib

WORDS = (
  "A class is in a picture or not, in any size; a picture that is hard is hard for"
  " all classes, clean and in fog. Lost pixels go to another class. The population's"
  " numbers are those of 200,000 pictures."
)
# Share of the pictures that have a class: mIoU gives rare ones the same weight.
_SHARES = np.array([0.95, 0.8, 0.6, 0.4, 0.25, 0.15])
_EASE = np.array([2.0, 1.6, 1.2, 0.8, 0.5, 0.3])  # of the classes, logits
_HARDER = 0.35 * np.arange(6)  # clean, then the severities
_FIELDS = {
  "clean mIoU": {"metric": "clean_miou"},
  "mean over fog": {"metric": "mean_miou", "corruption": "fog"},
  "retention": {"metric": "part_retention"},
}


def _areas(rng: np.random.Generator, pictures: int) -> np.ndarray:
  """Return the areas of pictures under each condition: int64 `[6, N, C, 3]`."""
  classes = len(_SHARES)
  there = rng.random((pictures, classes)) < _SHARES
  sizes = 400 * rng.lognormal(0, 1, (pictures, classes))
  labelled = np.where(there, sizes, 0).astype(np.int64)
  picture = rng.normal(0, 0.8, (pictures, 1))
  out = []
  for harder in _HARDER:
    noise = rng.normal(0, 0.5, (pictures, classes))
    logit = _EASE + picture + noise - harder
    right = (labelled / (1 + np.exp(-logit))).astype(np.int64)
    false = np.roll(labelled - right, 1, axis=1)
    out.append(np.stack([right, labelled + false, labelled], axis=-1))
  return np.stack(out)


def _truth() -> Mapping[str, float]:
  whole = _areas(np.random.default_rng(1), 200_000).sum(1)
  clean, *fog = (metrics.from_areas(total).miou for total in whole)
  mean = float(np.mean(fog))
  numbers = (clean, mean, mean / clean)
  return dict(zip(_FIELDS, numbers, strict=True))


def _case(pictures: int, least: float = 0.93) -> case_lib.Case:
  data = {"corruptions": "fog", "severities": (1, 2, 3, 4, 5)}
  setting = base.Setting("mine", data=ml_collections.ConfigDict(data))
  task = segmentation.Segmentation(setting)
  cells = [Cell("m", "mine", c) for c in task.conditions()]
  ids = np.array([f"{i:05d}" for i in range(pictures)])

  def intervals(rng: np.random.Generator) -> Mapping[str, case_lib.Interval]:
    columns = [
      {"areas": of_cell, "example_id": ids, "group_id": ids}
      for of_cell in _areas(rng, pictures)
    ]
    scored = task.score(list(zip(cells, columns, strict=True)))
    return case_lib.of_rows(scored.rows, _FIELDS)

  return case_lib.Case(f"{pictures} pictures", _truth, intervals, least)


CASES = (_case(200), _case(40, least=0.9))
