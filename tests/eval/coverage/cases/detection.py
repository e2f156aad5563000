"""AP of pictures with several objects, P, mPC and rPC over conditions, two models."""

import dataclasses
import functools
from collections.abc import Mapping

import numpy as np

from eval.cells.cell import Cell
from eval.compare.pairs import over_cells
from eval.metrics.detection import benchmark, left_out
from eval.tasks import base, detection
from eval.tasks.detections import average_precision
from robust_tfds.conditions import PICTURES, Condition
from tests.eval.coverage import case as case_lib
from tests.eval.coverage.detections import Population

WORDS = (
  "Of the AP of very many pictures, which lies below that of few: precision is made"
  " non-increasing, and of a class with few objects that takes chance for precision."
  " The 15 corruptions are alike; models share pictures, objects and false alarms."
)
_SEVERITIES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # clean, then 1 to 5
_WORSE = 0.3  # the second model's severities are higher by so much
_P, _MPC, _RPC = "P", "mPC", "rPC"
_BETWEEN = "P, difference of two models", "mPC, difference of two models"


class _Matched(detection.Detection):
  """The task, of detections whose matches are drawn."""

  def __init__(self, population: Population):
    super().__init__(base.Setting("coco_c"))
    self._population = population
    self._known: dict[int, dict[str, detection.Replicates]] = {}

  def group_ids(self, columns, truth=None):
    return columns["group_id"]

  def replicates(self, columns, draws, truth=None):
    key, of = id(columns["matches"]), self._population
    if key not in self._known:
      ids = np.arange(len(columns["group_id"]))
      pictures = average_precision.Pictures.from_ids(
        ids, columns["group_id"], draws
      )
      numbers = left_out.numbers(
        columns["matches"], pictures.blocks, of.classes, of.rule
      )
      one = pictures.replicates(numbers.mean_precision())
      self._known[key] = {"bbox/AP": one}
    return self._known[key]


def _numbers(clean: float, levels: np.ndarray) -> dict[str, float]:
  """P, mPC and rPC of a detector that all corruptions harm alike."""
  cells = np.tile(levels, (len(benchmark.names("benchmark")), 1))
  mean = float(benchmark.mpc(cells))
  return {_P: clean, _MPC: mean, _RPC: float(benchmark.rpc(cells, clean))}


@functools.cache
def _truth(population: Population, whole: bool) -> Mapping[str, float]:
  listed = _severities(whole)
  known = population.truth([*listed, *(s + _WORSE for s in listed)])
  one, other = known[: len(listed)], known[len(listed) :]
  if not whole:
    return {_P: one[0], _BETWEEN[0]: one[0] - other[0]}
  first, second = (_numbers(x[0], x[1:]) for x in (one, other))
  differences = (first[name] - second[name] for name in (_P, _MPC))
  return {**first, **dict(zip(_BETWEEN, differences))}


def _severities(whole: bool) -> tuple[float, ...]:
  return _SEVERITIES if whole else _SEVERITIES[:1]


def _scored(
  population: Population, whole: bool, rng: np.random.Generator
) -> base.RunScores:
  """The table and the headlines' draws of two models."""
  listed, n = _severities(whole), population.pictures
  every = population.draw(rng, n, [*listed, *(s + _WORSE for s in listed)])
  ids = np.array([f"picture {i}" for i in range(n)])
  columns = [{"matches": m, "group_id": ids} for m in every]
  conditions = [Condition()]
  if whole:
    conditions += PICTURES.select("common", (1, 2, 3, 4, 5))
  cells = [
    (Cell(model, "coco_c", c), columns[first + c.level])
    for model, first in (("one", 0), ("other", len(listed)))
    for c in dict.fromkeys(conditions)
  ]
  return _Matched(population).score(cells)


def _case(population: Population, whole: bool = True, **more) -> case_lib.Case:
  metrics = {_P: "p", _MPC: "mpc", _RPC: "rpc"} if whole else {_P: "p"}
  fields = {
    name: {"model": "one", "metric": metric} for name, metric in metrics.items()
  }

  def intervals(rng: np.random.Generator) -> Mapping[str, case_lib.Interval]:
    scored = _scored(population, whole, rng)
    out = case_lib.of_rows(scored.rows, fields)
    for name, metric in zip(_BETWEEN, ("p", "mpc")[: len(metrics)]):
      key = metric, "", None
      pair = (scored.headlines[model][key] for model in ("one", "other"))
      between = over_cells.line(key, *pair).difference
      out[name] = case_lib.Interval(between.or_nan, between.lo, between.hi)
    return out

  return case_lib.Case(
    _words(population), lambda: _truth(population, whole), intervals, **more
  )


def _words(of: Population) -> str:
  tail = f", shares falling as k^-{of.tail:g}" if of.tail else ""
  rule = ", VOC's 11 recalls" if of.voc else ""
  together = (
    f", {of.together:g} more of a class together" if of.together else ""
  )
  return (
    f"{of.pictures:,} pictures, {of.classes} classes{tail}, {of.objects:g} objects"
    f" and {of.alarms:g} false alarms a picture, scores {of.better:g} apart{rule}"
    f"{together}"
  )


_FEW = Population(200, 20)
_MANY_CLASSES = Population(200, 80, tail=1.0, objects=7.0)
CASES = (
  _case(Population(50, 4), sets=300),
  _case(Population(1000, 4), sets=300),
  _case(Population(50, 20)),
  _case(_FEW, sets=300),
  _case(dataclasses.replace(_FEW, tail=1.0, objects=7.0)),
  _case(dataclasses.replace(_FEW, better=0.3, alarms=10.0)),
  _case(dataclasses.replace(_FEW, together=2.0)),
  _case(dataclasses.replace(_FEW, voc=True)),
  _case(_MANY_CLASSES, sets=100),
  _case(
    dataclasses.replace(_MANY_CLASSES, pictures=5000), whole=False, sets=100
  ),
)
