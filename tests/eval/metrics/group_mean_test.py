"""The mean of a number with its interval over groups."""

import numpy as np
from absl.testing import absltest, parameterized
from scipy import stats

from robust_tfds import errors
from robust_tfds.eval.metrics import group_mean, replicates, resampling


def _ids(index) -> np.ndarray:
  return np.array([f"{i:04d}" for i in index])


class IntervalTest(parameterized.TestCase):
  def test_of_examples_alone_it_is_students(self):
    values = np.random.default_rng(0).exponential(size=40).astype(np.float32)
    mean, ends = group_mean.interval(values, _ids(range(40)))
    want = stats.t.interval(
      0.95, 39, values.mean(dtype=np.float64), stats.sem(values.astype(float))
    )
    self.assertAlmostEqual(mean, values.mean(dtype=np.float64))
    np.testing.assert_allclose(ends, want, rtol=1e-9)

  def test_equal_values_of_a_group_are_one(self):
    """Doubling every example adds nothing."""
    values = np.random.default_rng(1).normal(size=30)
    ids = _ids(range(30))
    alone = group_mean.interval(values, ids)
    twice = group_mean.interval(np.tile(values, 2), np.tile(ids, 2))
    np.testing.assert_allclose(twice[1], alone[1])

  def test_agrees_with_the_bootstrap(self):
    rng = np.random.default_rng(2)
    index = rng.integers(0, 300, 1500)
    values = rng.exponential(size=1500) + rng.normal(size=300)[index]
    ids = _ids(index)
    mean, ends = group_mean.interval(values, ids)
    drawn = resampling.Draws.of(ids).means(values, ids)
    self.assertAlmostEqual(mean, float(drawn.value))
    width = ends[1] - ends[0]
    np.testing.assert_allclose(ends, drawn.interval(), atol=0.08 * width)

  def test_covers(self):
    """NLL is skewed: of 200 exponential numbers, and of 60 groups of them."""
    rng = np.random.default_rng(3)
    for ids in (_ids(range(200)), _ids(np.arange(240) % 60)):
      inside = 0
      for _ in range(1000):
        values = rng.exponential(size=len(ids))
        lo, hi = group_mean.interval(values, ids)[1]
        inside += lo <= 1 <= hi
      self.assertBetween(inside, 925, 970)

  def test_one_group(self):
    self.assertEqual(
      group_mean.interval([1.0, 2.0], ["a", "a"]), (1.5, (None, None))
    )

  @parameterized.parameters(
    ([], [], 0.95, "at least one"),
    ([1.0], ["a", "b"], 0.95, "do not go together"),
    ([np.inf], ["a"], 0.95, "finite"),
    ([1.0], ["a"], 1, "level"),
  )
  def test_refused(self, values, groups, level, message):
    with self.assertRaisesRegex(errors.UserError, message):
      group_mean.interval(values, groups, level)


class LeftOutTest(absltest.TestCase):
  def test_it_is_the_jackknife_of_the_draws(self):
    ids = _ids(np.arange(450) % 150)
    values = np.random.default_rng(0).exponential(size=450)
    got = group_mean.left_out(values, ids)
    drawn = resampling.Draws.of(ids).means(values, ids)
    self.assertEqual(float(got.value), group_mean.interval(values, ids)[0])
    self.assertEqual((got.draws, got.groups), (None, drawn.groups))
    np.testing.assert_allclose(got.jackknife, drawn.jackknife)

  def test_one_group_has_no_interval(self):
    lo, hi = group_mean.left_out([1.0, 2.0], ["a", "a"]).interval()
    self.assertTrue(np.isnan([lo, hi]).all())

  def test_covers(self):
    rng = np.random.default_rng(3)
    ids, inside = _ids(range(300)), 0
    for _ in range(500):
      hard = rng.exponential(size=300)  # the same pictures in both cells
      cells = [
        group_mean.left_out(hard + rng.normal(size=300), ids) for _ in range(2)
      ]
      mean = replicates.combine(lambda *each: np.mean(each, axis=0), *cells)
      lo, hi = mean.interval()
      inside += lo <= 1 <= hi
    self.assertBetween(inside, 460, 490)
