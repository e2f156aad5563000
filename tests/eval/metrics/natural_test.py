"""Metrics of natural shifts: breakdowns, distances, labels, purity."""

import numpy as np
from absl.testing import absltest, parameterized

from eval.metrics import natural_breakdowns as breakdowns
from eval.metrics import natural_labels, pm_k, purity
from robust_tfds import errors


class BreakdownsTest(absltest.TestCase):
  """Breakdowns of pm-k: by class, property, offset, distance and review."""

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
    with self.assertRaisesRegex(ValueError, r"reviewed must be \[6\]"):
      breakdowns.review_impact(self.correct, self.sets, [1])


class LabelsTest(parameterized.TestCase):
  """Right or wrong against several labels; predictions matched to frames."""

  def test_any_of_several(self):
    labels = [[1, -1], [2, 0], [2, 0]]
    got = natural_labels.correct([[1, 0, 1], [0, 2, 2]], labels, 3)
    np.testing.assert_array_equal(
      got, [[True, True, False], [False, True, True]]
    )

  @parameterized.named_parameters(
    ("prediction", [3], [[0]], "Frame 0: unknown prediction 3; .* 0..2"),
    ("negative", [-1], [[0]], "unknown prediction -1"),
    ("label", [0, 0], [[1], [30]], "Frame 1: unknown label 30"),
    ("none", [0, 0], [[1], [-1]], "Frame 1 has no label"),
    ("shapes", [0, 0], [[1]], r"\[2\] and labels \[1, 1\]"),
  )
  def test_refuses(self, predicted, labels, message):
    with self.assertRaisesRegex(ValueError, message):
      natural_labels.correct(predicted, labels, 3)

  def test_aligned(self):
    got = natural_labels.aligned(["b", "a"], ["a", "c", "b"], [[1, 2, 3]])
    np.testing.assert_array_equal(got, [[3, 1]])


class PurityTest(parameterized.TestCase):
  """k-NN purity against neighbours by hand, and its chance level."""

  @parameterized.parameters((1, 4 / 5), (2, 6 / 10), (9, 8 / 20))
  def test_by_hand(self, k, expected):
    features = [[0.0], [1.0], [2.1], [10.0], [11.5]]
    self.assertAlmostEqual(purity.knn(features, [0, 0, 1, 1, 1], k), expected)

  def test_chance_and_shift(self):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1200, 5)), rng.integers(0, 4, 1200)
    self.assertAlmostEqual(purity.knn(x, y), 0.25, delta=0.02)
    split = x + 100.0 * y[:, None] + 1e6
    self.assertEqual(purity.knn(split, y), 1.0)

  @parameterized.parameters(
    ([[0.0], [1.0]], [0], 1),
    ([0.0, 1.0], [0, 1], 1),
    ([[0.0]], [0], 1),
    ([[0.0], [np.nan]], [0, 1], 1),
    ([[0.0], [1.0]], [0, 1], 0),
  )
  def test_refusals(self, features, labels, k):
    with self.assertRaises(errors.UserError):
      purity.knn(features, labels, k)
