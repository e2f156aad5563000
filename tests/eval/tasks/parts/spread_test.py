"""Draws of all cells at once, and intervals as rows have them."""

import math

import numpy as np
from absl.testing import absltest, parameterized

from eval.cells import table
from eval.metrics import definitions, resampling
from eval.tasks.headlines import spread
from robust_tfds.conditions import Condition
from tests.eval import tiny_runs

_IDS = np.array([f"{i:02d}" for i in range(30)])
_CLEAN, _FOG = Condition(), Condition("fog", 1)


def _totals(n=30):
  rng = np.random.default_rng(0)
  return {
    c: {"error": resampling.Totals.from_values(rng.random(n) < 0.4, _IDS[:n])}
    for c in (_CLEAN, _FOG)
  }


def _replicates(draws, blocks=(0.2,) * 9, value=0.2):
  drawn = None if draws is None else np.asarray(draws)
  return resampling.Replicates(np.array(value), drawn, np.array(blocks), 30)


class RowsTest(parameterized.TestCase):
  @parameterized.parameters(*tiny_runs.NAMES)
  def test_every_interval_holds_its_value_or_the_row_says_why(self, name):
    rows = table.read(tiny_runs.folder(name) / "table.csv")
    for row in (r for r in rows if r.has_value):
      what = f"{row.metric} of {row.config or row.corruption}"
      metric = definitions.any_task_metric(row.metric)
      (least, most), interval = metric.bounds, row.number.interval
      if interval:
        lo, hi = interval
        self.assertTrue(metric.has_interval, what)
        self.assertBetween(row.value, lo - 1e-9, hi + 1e-9, what)
        self.assertTrue(least <= lo <= hi <= most, f"{what}: {interval}")
      elif metric.has_interval:
        self.assertIn("no interval: ", row.note, what)


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
    (alone,) = draws.total_means([totals[_FOG]["error"]])
    np.testing.assert_allclose(cells[_FOG]["error"].draws, alone.draws)

  def test_intervals(self):
    drawn = np.linspace(0.1, 0.3, 2000)
    number = _replicates(drawn, blocks=[0.1, 0.2, 0.3])
    got = spread.number(number, (-math.inf, math.inf))
    self.assertEqual((got.lo, got.hi), number.interval())
    self.assertEqual(got.jackknife, number.jackknife_interval())
    self.assertEmpty(got.note)
    cut = spread.number(number, (0.19, 0.21))
    self.assertEqual((cut.interval, cut.jackknife), ((0.19, 0.21),) * 2)
    with self.assertRaisesRegex(
      ValueError, r"0\.2, expected one in \[0, 0\.1\]"
    ):
      spread.number(number, (0, 0.1))

  def test_why_a_number_has_none(self):
    drawn, gaps = np.linspace(0.1, 0.3, 2000), np.arange(2000) % 9
    for number, words in (
      (_replicates(np.where(gaps, drawn, np.nan)), "1 of 20 draws"),
      (_replicates(drawn, blocks=[0.1, np.nan]), "without some of the groups"),
      (_replicates(drawn, blocks=[np.nan]), "all examples are one group"),
      (_replicates(None, blocks=[np.nan]), "all examples are one group"),
      (_replicates(None, blocks=[]), "values alone"),
      (_replicates(np.full(9, 0.2)), "every draw gives this value"),
    ):
      got = spread.number(number, (0, 1))
      self.assertEqual((got.value, got.interval), (0.2, None))
      self.assertRegex(got.note, f"^no interval: .*{words}$")
    point = _replicates(np.full(9, 0.2))
    got = spread.number(point, (0, 1), keeps_points=True)
    np.testing.assert_allclose((got.lo, got.hi), 0.2)
    self.assertIsNone(
      spread.number(_replicates(drawn, value=np.nan), (0, 1)).value
    )

  def test_two_unequal_groups_are_not_one(self):
    groups = np.repeat(["a", "b"], [60, 40])
    wrong = np.arange(100) % 7 < np.repeat([1, 3], [60, 40])
    mean = resampling.Draws.from_groups(groups).means(wrong, groups)
    self.assertLess(mean.effective_groups, 2)
    got = spread.number(mean, (0, 1))
    self.assertEmpty(got.note)
    self.assertBetween(got.value, got.lo, got.hi)

  def test_points(self):
    def row(**facts):
      return table.Row("m", "d", "", "", None, "excess", 0.3, **facts)

    point = row(lo=0.3, hi=0.3 + 1e-16, n=4)
    got = spread.without_point(point)
    self.assertEqual((got.value, got.lo, got.hi, got.n), (0.3, None, None, 4))
    self.assertEqual(got.note, "no interval: every draw gives this value")
    for other in (row(), row(lo=0.3, hi=0.31, n=4)):
      self.assertIs(spread.without_point(other), other)
