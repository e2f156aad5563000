"""Numbers over cells: differences, relative decreases, their intervals."""

import numpy as np
import pytest

from eval.cells.workdir import Workdir
from eval.compare.pairs import baseline, numbers, over_cells
from eval.compare.sides import Side
from eval.metrics import corruption_error
from eval.metrics.resampling import Draws
from eval.tasks.headlines import headlines
from robust_tfds.conditions import Condition
from tests.eval.compare import small_runs
from tests.eval.compare.pairs import sides_case

_NAMES = small_runs.conditions.PICTURES.names("common")


class OverCellsTest(sides_case.TestCase):
  def _lines(self, one, other):
    by = baseline.choose(one, other)
    listed = [s for s in (by.first, by.second) if s is not None]
    got = numbers.read([one, other, *listed], list(one.cells))
    lines = over_cells.lines(one, other, by, got)
    return {(x.metric, x.corruption): x for x in lines}

  def _errors(self, side):
    out = {}
    for condition in side.cells:
      columns = side.columns(condition)
      wrong = columns["top5"][:, 0] != columns["label"]
      out[condition] = wrong.mean()
    return out

  def _mce(self, side, by):
    mine, theirs = self._errors(side), self._errors(by)
    levels = small_runs.conditions.SEVERITIES
    return corruption_error.summarize(
      {n: [mine[Condition(n, s)] for s in levels] for n in _NAMES},
      mine[Condition()],
      {
        "errors": {
          n: [theirs[Condition(n, s)] for s in levels] for n in _NAMES
        },
        "clean_error": theirs[Condition()],
      },
    )

  def test_mce_by_a_model_of_each_run(self):
    options = {"baseline": "model:x"}
    one = self.side("one", {"a": 0.2, "x": 0.5}, names=None, **options)
    other = self.side(
      "other", {"a": 0.3, "x": 0.5}, names=None, seed=1, **options
    )
    got = self._lines(one, other)
    for side, end in ((one, "first"), (other, "second")):
      want = self._mce(side, Side.of(side.run, small_runs.DATASET, "x"))
      for metric in ("mce", "relative_mce"):
        self.assertAlmostEqual(
          getattr(got[metric, ""], end), want[metric], delta=1e-12
        )
      self.assertAlmostEqual(
        getattr(got["ce", "fog"], end), want["ce"]["fog"], delta=1e-12
      )
    mce = got["mce", ""]
    self.assertAlmostEqual(mce.difference.value, mce.first - mce.second)
    self.assertAlmostEqual(mce.decrease.value, 1 - mce.first / mce.second)
    self.assertLess(mce.difference.hi, 0)
    self.assertGreater(mce.decrease.lo, 0)
    self.assertBetween(
      mce.difference.value, mce.difference.lo, mce.difference.hi
    )

  @pytest.mark.slow
  def test_pairs_are_closer_than_strangers(self):
    one = self.side("one", {"a": 0.2}, names=None)
    other = self.side("other", {"a": 0.25}, names=None)
    mean = self._lines(one, other)["mean_corruption_error", ""]
    got = numbers.read([one], list(one.cells)).cells[0][Condition("fog", 3)]
    lo, hi = got["error"].interval()
    self.assertLess(mean.difference.hi - mean.difference.lo, (hi - lo) / 1.5)

  def test_a_run_and_itself(self):
    one = self.side("one", {"a": 0.2}, names=None, baseline="alexnet")
    for line in self._lines(one, one).values():
      ends = line.difference
      self.assertEqual((ends.value, ends.interval), (0, None))
      self.assertIsNone(line.decrease.interval)
      self.assertIn("every draw gives this value", line.note)

  def test_a_model_that_corruption_helps(self):
    """Relative CE below 0 is a decrease of more than all."""
    options = {"baseline": "model:x", "examples": 200}
    one = self.side("one", {"a": 0.3, "x": 0.2}, **options)
    for cell in one.run.cells_of(small_runs.DATASET, "a"):
      if not cell.condition.clean:
        columns = {**one.run.columns(cell)}
        columns["top5"] = (columns["label"][:, None] + np.arange(5)) % 10
        Workdir(self.root / "one").write_cell(cell, columns)
    other = self.side("other", {"b": 0.1, "x": 0.2}, **options)
    line = self._lines(sides_case.of(self.root / "one"), other)[
      "relative_ce", "fog"
    ]
    self.assertLess(line.first, 0)
    self.assertGreater(line.decrease.value, 1)

  def test_a_giant_group_that_wins_what_it_loses_is_no_certain_0(self):
    ids = np.array(["giant"] * 900 + [f"s{i:02d}" for i in range(99)])
    draws, place = Draws.from_groups(ids), np.arange(999)
    one, other = (draws.means(place // 5 == i, ids) for i in (0, 1))
    line = over_cells.line(("mean_error", "fog", None), one, other)
    self.assertEqual(
      (line.difference.value, line.difference.interval), (0, None)
    )
    self.assertIn("every draw gives this value", line.note)

  def test_nothing_over_some_of_the_cells(self):
    one = self.side("one", {"a": 0.2}, names=["fog", "snow"])
    got = self._lines(one, one)
    self.assertIn(("mean_error", "fog"), got)
    self.assertNotIn(("mean_corruption_error", ""), got)

  def test_nothing_to_divide_by(self):
    one = self.side("one", {"a": 0.2}, names=None)
    other = self.side("other", {"a": -9.0}, names=None)
    clean = self._lines(one, other)["clean_error", ""]
    self.assertIsNone(clean.decrease.value)
    self.assertIsNotNone(clean.difference.interval)

  def test_a_number_that_one_side_lacks(self):
    lacks, has = (headlines.value_alone(v) for v in (np.nan, 0.5))
    got = over_cells.line(("relative_mce", "", None), lacks, has)
    self.assertIsNone(got.difference.value)
    self.assertIn("undefined", got.note)
