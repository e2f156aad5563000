"""Draws of all cells at once, and intervals as rows have them."""

import numpy as np
from absl.testing import absltest

from robust_tfds.conditions import Condition
from robust_tfds.eval.cells import table
from robust_tfds.eval.metrics import resampling
from robust_tfds.eval.tasks.parts import spread

_IDS = np.array([f"{i:02d}" for i in range(30)])
_CLEAN, _FOG = Condition(), Condition("fog", 1)


def _totals(n=30):
  rng = np.random.default_rng(0)
  return {
    c: {"error": resampling.Totals.of(rng.random(n) < 0.4, _IDS[:n])}
    for c in (_CLEAN, _FOG)
  }


def _replicates(draws, groups=30, value=0.2):
  return resampling.Replicates(
    np.array(value), np.asarray(draws), np.full(9, value), groups
  )


class SpreadTest(absltest.TestCase):
  def test_draws_are_of_the_groups_of_all_cells(self):
    few, all_of = _totals(20), _totals()
    draws = spread.draws_of([*few.values(), *all_of.values()])
    self.assertEqual(draws.ids.tolist(), _IDS.tolist())
    self.assertIsNone(spread.draws_of([{}]))

  def test_cells_are_those_drawn_alone(self):
    totals = _totals()
    draws = spread.draws_of(totals.values())
    cells = spread.of_cells(totals, draws)
    (alone,) = draws.of_totals([totals[_FOG]["error"]])
    np.testing.assert_allclose(cells[_FOG]["error"].draws, alone.draws)

  def test_intervals(self):
    drawn = np.linspace(0.1, 0.3, 2000)
    number = _replicates(drawn)
    self.assertEqual(spread.interval(number), (number.interval(), ""))
    for wrong, words in (
      (_replicates(np.where(np.arange(2000) % 9, drawn, np.nan)), "1 of 20"),
      (_replicates(drawn, groups=1), "all examples are one group"),
    ):
      ends, note = spread.interval(wrong)
      self.assertEqual(ends, (None, None))
      self.assertIn(words, note)

  def test_without_draws_no_score_is_below_0(self):
    blocks = np.array([0.0, 0.3, 0.1])
    number = resampling.Replicates(np.array(0.1), None, blocks, 30)
    (lo, hi), note = spread.interval(number)
    self.assertEqual((lo, hi, note), (0.0, number.interval()[1], ""))
    alone = resampling.Replicates(np.array(0.1), None, np.zeros(0))
    self.assertEqual(spread.interval(alone), ((None, None), ""))

  def test_points(self):
    def row(**facts):
      return table.Row("m", "d", "", "", None, "excess", 0.3, **facts)

    point = row(lo=0.3, hi=0.3 + 1e-16, n=4)
    got = spread.without_point(point)
    self.assertEqual((got.value, got.lo, got.hi, got.n), (0.3, None, None, 4))
    self.assertEqual(got.note, "no interval: every draw gives this value")
    self.assertEqual(
      spread.without_point(point, 1).note,
      "no interval: all examples are one group",
    )
    for other in (row(), row(lo=0.3, hi=0.31, n=4)):
      self.assertIs(spread.without_point(other), other)
