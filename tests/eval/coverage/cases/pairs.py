"""Differences of two models, and the tests of cells: `eval.compare`."""

from collections.abc import Mapping

import ml_collections
import numpy as np

from eval.cells.number import Number
from eval.compare.pairs import cell_tests, over_cells
from eval.compare.pairs.numbers import Numbers
from eval.metrics.resampling import Draws
from eval.tasks import base, classification
from eval.tasks.headlines import spread
from tests.eval.coverage import case as case_lib
from tests.eval.coverage import latent
from tests.eval.coverage.cases import classification as pictures

WORDS = (
  "Two models under fog. The test of a cell holds where it decides nothing at 5 %"
  " between equal models: McNemar's of single examples, exchanges of whole groups"
  " elsewhere. Models of equal errors need not be equal: where one errs on whole"
  " groups and the other on single examples, no exchange is exact."
)
_AT = np.array(
  [-1.2, -0.9, -0.6, -0.3, 0.0, 0.3]
)  # of clean and of the severities
_KEY = ("mean_error", "fog", None)


def _case(
  design: latent.Design,
  better: float = 0,
  shift: float = 0,
  alone: bool = False,
  **more,
) -> case_lib.Case:
  """Of a second model whose thresholds lie above the first one's.

  Args:
    design: of the data sets.
    better: by how much they do.
    shift: of all thresholds.
    alone: whether the second model errs on single examples, as often.
    **more: of the case.
  """
  data = {"corruptions": "fog", "severities": (1, 2, 3, 4, 5)}
  task = classification.Classification(
    base.Setting("digits_c", data=ml_collections.ConfigDict(data))
  )
  listed = task.conditions()
  thresholds = np.concatenate([_AT, _AT + better]) + shift

  def truth() -> Mapping[str, float]:
    ours, theirs = design.errors(thresholds).reshape(2, -1)
    mean, other = ours[1:].mean(), theirs[1:].mean()
    tests = {} if better else {"test of clean": 0.05, "test of fog 3": 0.05}
    return {
      "difference, clean": ours[0] - theirs[0],
      "difference of means": mean - other,
      "relative decrease": (other - mean) / other,
      **tests,
    }

  def intervals(rng: np.random.Generator) -> Mapping[str, case_lib.Interval]:
    wrong, groups = design.draw(rng, thresholds)
    if alone:
      wrong[:, len(_AT) :] = _single(rng, design, len(wrong), shift)
    totals = [
      {
        c: task.totals(pictures.columns(of, groups))
        for c, of in zip(listed, side)
      }
      for side in np.split(wrong.T, 2)
    ]
    draws = Draws.from_groups(groups)
    cells = [spread.cell_replicates(of, draws) for of in totals]
    n = dict.fromkeys(listed, len(wrong))
    numbers = Numbers(cells, totals, n, drawn=True)
    clean, _, _, fog, *_ = cell_tests.cell_lines(numbers, task.facts)
    first, second = (task.over_cells(of)[_KEY] for of in cells)
    mean = over_cells.line(_KEY, first, second)
    return {
      "difference, clean": _of(clean.difference),
      "difference of means": _of(mean.difference),
      "relative decrease": _of(mean.decrease),
      "test of clean": case_lib.Interval(clean.test.p, 0, clean.test.p),
      "test of fog 3": case_lib.Interval(fog.test.p, 0, fog.test.p),
    }

  kind = "a better model" if better else "equal models"
  kind = "equal errors, the second's on single examples" if alone else kind
  rare = f", clean error {design.errors(thresholds)[0]:.3f}" if shift else ""
  words = f"{kind}: {design.words}{rare}"
  return case_lib.Case(words, truth, intervals, **more)


def _single(
  rng: np.random.Generator, like: latent.Design, examples: int, shift: float
) -> np.ndarray:
  """Bool `[N, 6]`: errors as frequent as a design's, each example its own group."""
  design = latent.Design(examples)
  scale = np.sqrt(design.variance / like.variance)
  return design.draw(rng, scale * (_AT + shift))[0]


def _of(number: Number) -> case_lib.Interval:
  return case_lib.Interval(number.or_nan, number.lo, number.hi)


CASES = (
  _case(latent.Design(200)),
  _case(latent.Design(25, 0.7)),
  _case(latent.Design(25, 5.0), shift=-5.4, alone=True, least=0.88),
  _case(latent.Design(100, 5.0), shift=-5.4, alone=True, least=0.9),
  _case(latent.Design(200), 0.35),
  _case(latent.Design(25, 0.7), 0.35),
  _case(latent.Design(242, 1.5), shift=-2.0, sets=100),
)
