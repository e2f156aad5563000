"""Labels, alignment, breakdowns, line and distances of natural videos."""

import numpy as np
from absl.testing import absltest
from absl.testing import parameterized
from scipy import stats

from robust_tfds.eval.metrics import natural_breakdowns as breakdowns
from robust_tfds.eval.metrics import natural_distance
from robust_tfds.eval.metrics import natural_labels
from robust_tfds.eval.metrics import natural_trend
from robust_tfds.eval.metrics import pm_k


class LabelsTest(parameterized.TestCase):
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

  def test_names_missing_frames(self):
    wanted = ["val/v/000001.JPEG", "val/v/000002.JPEG"]
    with self.assertRaisesRegex(
      ValueError, "No prediction for 1 of 2 frames: 'val/v/000002.JPEG'"
    ):
      natural_labels.aligned(wanted, wanted[:1], [1])
    with self.assertRaisesRegex(ValueError, "No prediction for 2 of 2"):
      natural_labels.aligned(wanted, [], [])
    with self.assertRaisesRegex(ValueError, "and 6 more"):
      natural_labels.aligned(list("bcdefghij"), ["a"], [1])

  def test_names_a_frame_predicted_twice(self):
    with self.assertRaisesRegex(ValueError, "More than one .* frame 'a'"):
      natural_labels.aligned(["a"], ["a", "a"], [1, 0])


class BreakdownsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.ids = ["a", "a", "a", "b", "b", "c"]
    self.frame = [0, -1, 2, 0, 2, 0]
    self.correct = np.array([1, 1, 0, 0, 1, 1], bool)
    self.sets = pm_k.group(self.ids, self.frame)

  def test_per_class_counts_an_anchor_for_each_label(self):
    labels = [[0, 1], [5, -1], [5, -1], [1, -1], [1, -1], [2, -1]]
    got = breakdowns.per_class(self.correct, self.sets, labels)
    self.assertEqual(set(got), {0, 1, 2})
    self.assertEqual((got[1]["n"], got[1]["acc_orig"][0]), (2, 0.5))
    self.assertEqual(got[1]["acc_pmk"][0], 0)

  def test_by_value(self):
    kinds = {"a": "P", "b": "P", "c": "I"}
    got = breakdowns.by_value(self.correct, self.sets, kinds)
    self.assertEqual(got["P"]["acc_orig"][0], 0.5)
    left = breakdowns.by_value(self.correct, self.sets, kinds, without=True)
    self.assertEqual(left["P"]["n"], 1)
    with self.assertRaisesRegex(ValueError, "No value for 1 set.*'c'"):
      breakdowns.by_value(self.correct, self.sets, {"a": 30, "b": 30})
    with self.assertRaisesRegex(ValueError, "1 values for 3 sets"):
      breakdowns.by_value(self.correct, self.sets, [30])

  def test_offsets(self):
    got = breakdowns.offset_errors([self.correct, self.correct], self.sets)
    self.assertEqual((got[2]["wrong"], got[2]["n"]), (2, 4))
    self.assertEqual((got[0]["wrong"], got[0]["n"]), (2, 6))

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

  def test_static_worst(self):
    other = np.array([1, 0, 0, 1, 0, 0], bool)
    got = breakdowns.static_worst([self.correct, other], self.sets)
    self.assertEqual(got["chosen"].tolist(), [2, 4, 5])
    self.assertEqual([a[0] for a in got["accuracy"]], [2 / 3, 0.0])
    self.assertEqual(got["with_anchor"][0][0], 1 / 3)


class TrendTest(absltest.TestCase):
  def test_against_scipy(self):
    rng = np.random.default_rng(0)
    x = rng.random(40)
    y = 0.9 * x - 0.1 + 0.05 * rng.normal(size=40)
    want, got = stats.linregress(x, y), natural_trend.fit(x, y)
    width = stats.t.ppf(0.975, 38)
    self.assertAlmostEqual(got.slope, want.slope)
    self.assertAlmostEqual(got.intercept, want.intercept)
    self.assertAlmostEqual(got.r_squared, want.rvalue**2)
    for ours, theirs, error in (
      (got.slope_interval, want.slope, want.stderr),
      (got.intercept_interval, want.intercept, want.intercept_stderr),
    ):
      self.assertAlmostEqual(ours[0], theirs - width * error)
      self.assertAlmostEqual(ours[1], theirs + width * error)
    lo, hi = got.band(0.0)
    self.assertAlmostEqual(float(lo), got.intercept_interval[0])
    self.assertAlmostEqual(float(hi), got.intercept_interval[1])
    off = natural_trend.effective_robustness(x, y, got)
    self.assertAlmostEqual(off.mean(), 0)

  def test_refuses(self):
    for x, y, message in (
      ([0.1, 0.2], [0, 0], "three models or more"),
      ([0.1, 0.2, np.nan], [0, 0, 0], "must be finite"),
      ([0.1] * 3, [0, 0, 0], "the same x"),
    ):
      with self.assertRaisesRegex(ValueError, message):
        natural_trend.fit(x, y)
    with self.assertRaisesRegex(ValueError, "level"):
      natural_trend.fit([0, 1, 2], [0, 1, 2], level=95)


class DistanceTest(absltest.TestCase):
  def test_differences_do_not_wrap(self):
    a = np.full((1, 2, 2, 3), 255, np.uint8)
    self.assertEqual(natural_distance.l_infinity(a, a * 0)[0], 1.0)
    self.assertEqual(natural_distance.l_infinity(a * 0, a)[0], 1.0)

  def test_refuses(self):
    a = np.zeros((2, 2, 3), np.uint8)
    with self.assertRaisesRegex(ValueError, "uint8 images of one shape"):
      natural_distance.l_infinity(a, a.astype(np.float32))
    with self.assertRaisesRegex(ValueError, "at least one value"):
      natural_distance.cdf([], [0.1])


if __name__ == "__main__":
  absltest.main()
