"""Ranks and rank ranges of numbers with draws."""

import numpy as np
from absl.testing import absltest

from eval.compare.boards import ranks
from eval.metrics import resampling


def _numbers(columns):
  ids = np.array([f"i{i:05d}" for i in range(len(columns[0]))])
  draws = resampling.Draws.from_groups(ids, resamples=50)
  return [draws.means(np.asarray(c, float), ids) for c in columns]


class RanksTest(absltest.TestCase):
  def test_a_clear_order_and_a_tie(self):
    rng = np.random.default_rng(0)
    hard = rng.random(2000)
    # 10 % and 30 % wrong; the third differs from the second by two examples.
    one, two = hard < 0.1, hard < 0.3
    three = two.copy()
    three[np.flatnonzero(two)[:2]] = False
    three[np.flatnonzero(~two)[:2]] = True
    ranges = ranks.ranges(_numbers([one, two, three]), -1)
    self.assertEqual(ranges, [(1, 1), (2, 3), (2, 3)])
    self.assertEqual(
      ranks.ranges(_numbers([one, two, three]), 1), [(3, 3), (1, 2), (1, 2)]
    )

  def test_paired_beats_apart(self):
    # One model is right wherever the other is, and on 3 % more: the pairs decide
    # what two intervals of +-4 points would not.
    hard = np.random.default_rng(1).random(500)
    ranges = ranks.ranges(_numbers([hard < 0.40, hard < 0.43]), -1)
    self.assertEqual(ranges, [(1, 1), (2, 2)])

  def test_a_pair_that_some_block_leaves_undefined_stays_open(self):
    hard = np.random.default_rng(0).random(2000)
    one, two, three = _numbers([hard < 0.1, hard < 0.5, hard < 0.9])
    two.jackknife[3] = np.nan
    ranges = ranks.ranges([one, two, three], -1)
    self.assertEqual(ranges, [(1, 2), (1, 3), (2, 3)])

  def test_one_and_equal(self):
    same = np.arange(100) % 3 == 0
    self.assertEqual(ranks.ranges(_numbers([same]), -1), [(1, 1)])
    self.assertEqual(ranks.ranges(_numbers([same, same]), -1), [(1, 2), (1, 2)])
    self.assertEqual(ranks.ranks([0.2, 0.2, 0.1], -1), [2, 2, 1])
