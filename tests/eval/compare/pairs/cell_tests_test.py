"""Tests of cells: by hand, of clusters, of what decides nothing."""

import numpy as np
import pytest
from absl.testing import absltest, parameterized
from scipy import stats

from eval.cells.facts import TaskFacts
from eval.compare.pairs import cell_tests, lines
from eval.compare.pairs.numbers import Numbers
from eval.metrics import significance
from eval.metrics.replicates import Replicates
from eval.metrics.resampling import Draws, Totals
from robust_tfds.conditions import Condition

_FACTS = TaskFacts("classification", "corruption", ())


def _numbers(first, second, groups=None, metric="error") -> Numbers:
  """Of condition -> values of each example, of both sides."""
  n = len(next(iter(first.values())))
  ids = np.array([f"g{i:04d}" for i in range(n)]) if groups is None else groups
  totals = [
    {c: {metric: Totals.from_values(v, ids)} for c, v in side.items()}
    for side in (first, second)
  ]
  draws = Draws.from_groups(ids)
  cells = [
    {
      c: {m: draws.total_means([t])[0] for m, t in of.items()}
      for c, of in s.items()
    }
    for s in totals
  ]
  return Numbers(cells, totals, dict.fromkeys(first, n), drawn=True)


def _wrong(n, count, start=0):
  return (np.arange(n) >= start) & (np.arange(n) < start + count)


class McNemarTest(parameterized.TestCase):
  def test_by_hand(self):
    fog = [Condition("fog", level) for level in (1, 2, 3)]
    # Only the first wrong: 1, 0, 0; only the second wrong: 9, 30, 0.
    first = dict(zip(fog, [_wrong(100, 1), _wrong(100, 0), _wrong(100, 5)]))
    second = dict(
      zip(fog, [_wrong(100, 9, 50), _wrong(100, 30), _wrong(100, 5)])
    )
    got = cell_tests.of_cells(_numbers(first, second), _FACTS)
    self.assertEqual([x.test.kind for x in got], [cell_tests.MCNEMAR] * 3)
    p = [stats.binomtest(1, 10).pvalue, 2 * 0.5**30, 1.0]
    np.testing.assert_allclose([x.test.p for x in got], p, rtol=1e-9)
    adjusted = [2 * p[0], 3 * p[1], 1.0]
    np.testing.assert_allclose(
      [x.test.adjusted for x in got], adjusted, rtol=1e-9
    )
    self.assertEqual(
      [x.test.verdict for x in got],
      [lines.BETTER, lines.BETTER, lines.UNDECIDED],
    )
    self.assertAlmostEqual(got[1].difference.value, -0.3, delta=1e-12)
    self.assertBetween(got[1].difference.lo, -0.42, -0.3)
    last = got[2].difference
    # Of 100 examples that two models answer alike; others may differ.
    self.assertEqual((last.value, last.interval), (0, None))
    self.assertEqual(got[0].n, 100)

  def test_more_can_be_better(self):
    fog = Condition("fog", 1)
    few, many = {fog: _wrong(50, 2)}, {fog: _wrong(50, 40)}
    for task, metric, verdict in (
      ("classification", "error", "worse"),
      ("video", "accuracy", "better"),
      ("video", "oddness", "unknown sense"),
    ):
      facts = TaskFacts(task, "corruption", ())
      (got,) = cell_tests.of_cells(_numbers(many, few, metric=metric), facts)
      self.assertEqual(got.test.verdict, verdict)

  def test_one_example(self):
    fog = Condition("fog", 1)
    one = _numbers({fog: np.array([True])}, {fog: np.array([False])})
    (got,) = cell_tests.of_cells(one, _FACTS)
    self.assertEqual((got.test.p, got.test.verdict), (1, lines.UNDECIDED))
    self.assertIsNone(got.difference.interval)

  def test_families(self):
    conditions = [Condition(), Condition("fog", 1), Condition("snow", 1)]
    first = {c: _wrong(60, 3) for c in conditions}
    second = {c: _wrong(60, 10) for c in conditions}
    got = cell_tests.of_cells(_numbers(first, second), _FACTS)
    p = stats.binomtest(0, 7).pvalue
    self.assertEqual(
      [(x.test.family, x.test.adjusted) for x in got],
      [("error, clean", p), ("error", 2 * p), ("error", 2 * p)],
    )


class GroupsTest(parameterized.TestCase):
  def test_clusters_are_drawn_whole(self):
    # 12 groups of 20 equal examples, of which 4 differ: McNemar would see 80.
    groups = np.repeat([f"g{i:02d}" for i in range(12)], 20)
    place = np.repeat(np.arange(12), 20)
    fog = Condition("fog", 1)
    numbers = _numbers({fog: place < 2}, {fog: place < 6}, groups)
    (got,) = cell_tests.of_cells(numbers, _FACTS)
    self.assertEqual(got.test.kind, cell_tests.EXCHANGE)
    self.assertGreaterEqual(got.test.p, 1 / 8)
    self.assertEqual(got.test.verdict, lines.UNDECIDED)
    self.assertAlmostEqual(got.difference.value, -1 / 3, delta=1e-12)

  def test_a_giant_group_that_wins_what_it_loses_is_no_certain_0(self):
    groups = np.array(["giant"] * 900 + [f"s{i:02d}" for i in range(99)])
    fog, place = Condition("fog", 1), np.arange(999)
    numbers = _numbers({fog: place < 5}, {fog: (place - 5) // 5 == 0}, groups)
    (got,) = cell_tests.of_cells(numbers, _FACTS)
    self.assertEqual((got.difference.value, got.difference.interval), (0, None))
    self.assertIn("every draw gives this value", got.note)

  @pytest.mark.slow
  def test_what_the_interval_leaves_open_is_not_decided(self):
    """Both err in 10 %, one in whole groups: 15 % of 100 heavy-tailed ones."""
    rng, fog = np.random.default_rng(3), Condition("fog", 1)
    decided = open_ = alone = 0
    for _ in range(60):
      sizes = np.maximum(1, np.round(rng.lognormal(1.0, 1.3, 100))).astype(int)
      of = np.repeat(np.arange(100), sizes)
      whole, single = (rng.random(100) < 0.1)[of], rng.random(len(of)) < 0.1
      ids = np.char.add("g", of.astype(str))
      (got,) = cell_tests.of_cells(
        _numbers({fog: whole}, {fog: single}, ids), _FACTS
      )
      sums = np.bincount(of, whole.astype(float) - single)
      alone += significance.exchange_p(sums, 2000) <= 0.05
      decided += got.test.p <= 0.05
      lo, hi = got.difference.interval
      open_ += got.test.p <= 0.05 and lo <= 0 <= hi
    self.assertEqual(open_, 0)
    self.assertLess(decided, alone)

  def test_a_family_of_many_can_still_be_decided(self):
    cells = [Condition("fog", s) for s in range(1, 6)]
    cells += [Condition("snow", s) for s in range(1, 6)]
    rng = np.random.default_rng(0)
    first = {c: rng.random(300) for c in cells}
    second = {c: v + 0.5 for c, v in first.items()}
    got = cell_tests.of_cells(_numbers(first, second), _FACTS)
    self.assertEqual({x.test.verdict for x in got}, {lines.BETTER})
    self.assertLessEqual(max(x.test.adjusted for x in got), 0.001)

  def test_few_groups_can_still_be_decided(self):
    # 25 groups of UCF101's kind.
    rng = np.random.default_rng(0)
    groups = np.repeat([f"g{i:02d}" for i in range(25)], 4)
    cells = [
      Condition(n, s) for n in ("fog", "snow", "frost") for s in range(1, 6)
    ]
    first = {c: rng.random(100) for c in cells}
    second = {c: v + 0.5 for c, v in first.items()}
    got = cell_tests.of_cells(_numbers(first, second, groups), _FACTS)
    self.assertEqual({x.test.verdict for x in got}, {lines.BETTER})

  def test_cells_that_lack_groups_of_others(self):
    fog, snow = Condition("fog", 1), Condition("snow", 1)
    ids = np.repeat([f"g{i:02d}" for i in range(12)], 2)
    draws, cells, totals = Draws.from_groups(ids), [{}, {}], [{}, {}]
    for side, more in enumerate((0.0, 0.5)):
      for condition, first in ((fog, 0), (snow, 4)):
        of = Totals.from_values(np.arange(24.0)[first:] + more, ids[first:])
        totals[side][condition] = {"error": of}
        cells[side][condition] = {"error": draws.total_means([of])[0]}
    numbers = Numbers(cells, totals, {fog: 24, snow: 20}, drawn=True)
    got = cell_tests.of_cells(numbers, _FACTS)
    np.testing.assert_allclose(
      [x.test.p for x in got], [2**-11, 2**-9], rtol=0.2
    )

  def test_several_levels_of_a_cell(self):
    tilt = Condition("tilt", 1, "sequences")
    values = np.random.default_rng(0).random((50, 3))
    numbers = _numbers({tilt: values}, {tilt: values + [0, 0.2, -0.3]})
    got = cell_tests.of_cells(numbers, _FACTS)
    self.assertEqual([x.level for x in got], [1, 2, 3])
    np.testing.assert_allclose(
      [x.difference.value for x in got], [0, -0.2, 0.3], atol=1e-12
    )
    self.assertEqual(
      [x.test.verdict for x in got], ["undecided", "better", "worse"]
    )


class JackknifeTest(absltest.TestCase):
  def test_average_precision(self):
    x = np.random.default_rng(1).normal(0.1, 0.05, 40)
    without = (x.sum() - x) / 39
    zero = Replicates(np.array(0.0), None, np.zeros(40))
    one = Replicates(np.array(x.mean()), None, without)
    fog = Condition("fog", 1)
    numbers = Numbers(
      [{fog: {"bbox/AP": one}}, {fog: {"bbox/AP": zero}}],
      [{}, {}],
      {fog: 40},
      drawn=True,
    )
    facts = TaskFacts("detection", "corruption", ())
    (got,) = cell_tests.of_cells(numbers, facts)
    want = stats.ttest_1samp(x, 0)
    self.assertEqual(got.test.kind, cell_tests.JACKKNIFE)
    self.assertAlmostEqual(got.test.p, want.pvalue, delta=1e-9)
    ends = want.confidence_interval()
    self.assertBetween(got.difference.lo, ends.low - 0.001, ends.low + 1e-9)
    self.assertEqual(got.test.verdict, lines.BETTER)

  def test_values_alone(self):
    fog = Condition("fog", 1)
    cells = [
      {fog: {"bbox/AP": Replicates(np.array(v), None, np.zeros(0))}}
      for v in (0.4, 0.3)
    ]
    numbers = Numbers(cells, [{}, {}], {fog: 1}, drawn=False)
    (got,) = cell_tests.of_cells(numbers, _FACTS)
    self.assertAlmostEqual(got.difference.value, 0.1)
    self.assertEqual((got.test.kind, got.test.verdict), ("", ""))
    self.assertIn("no test", got.note)
