"""Breakdowns of pm-k: by class, property, offset, distance and review."""

import numpy as np
from absl.testing import absltest

from eval.metrics import natural_breakdowns as breakdowns
from eval.metrics import pm_k


class BreakdownsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.ids = ["a", "a", "a", "b", "b", "c"]
    self.frame = [0, -1, 2, 0, 2, 0]
    self.correct = np.array([1, 1, 0, 0, 1, 1], bool)
    self.sets = pm_k.group(self.ids, self.frame)

  def test_by_value(self):
    kinds = {"a": "P", "b": "P", "c": "I"}
    got = breakdowns.per_value(self.correct, self.sets, kinds)
    self.assertEqual(got["P"]["acc_orig"][0], 0.5)
    left = breakdowns.per_value(self.correct, self.sets, kinds, without=True)
    self.assertEqual(left["P"]["n"], 1)
    with self.assertRaisesRegex(ValueError, "No value for 1 set.*'c'"):
      breakdowns.per_value(self.correct, self.sets, {"a": 30, "b": 30})
    with self.assertRaisesRegex(ValueError, "1 values for 3 sets"):
      breakdowns.per_value(self.correct, self.sets, [30])

  def test_conditional(self):
    got = breakdowns.conditional(self.correct, self.sets)
    self.assertEqual([got[2][n] for n in ("right", "n", "pairs")], [0, 1, 2])
    wrong = np.zeros(6, bool)
    none = breakdowns.conditional(wrong, self.sets)
    self.assertTrue(np.isnan(none[1]["accuracy"][0]))

  def test_review(self):
    got = breakdowns.review_impact(self.correct, self.sets, [1, 1, 0, 0, 0, 1])
    self.assertEqual(got["reviewed"]["acc_pmk"][0], 1.0)
    self.assertEqual(got["same_anchors"]["acc_pmk"][0], 0.5)
    self.assertEqual(got["unreviewed"]["n"], 3)
    with self.assertRaisesRegex(ValueError, "accepted no anchor"):
      breakdowns.review_impact(self.correct, self.sets, [0] * 6)
    with self.assertRaisesRegex(ValueError, r"reviewed must be \[6\]"):
      breakdowns.review_impact(self.correct, self.sets, [1])
