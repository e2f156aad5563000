"""pm-k by hand and by brute force."""

import numpy as np
from absl.testing import parameterized

from eval.metrics import intervals, pm_k


def _random_sets(rng, anchors):
  ids, frames = [], []
  for a in range(anchors):
    near = rng.choice(np.arange(1, 11), rng.integers(0, 11), replace=False)
    offsets = [0, *(int(n) * int(rng.choice([-1, 1])) for n in near)]
    ids += [f"set{a}"] * len(offsets)
    frames += offsets
  order = rng.permutation(len(ids))
  return np.array(ids)[order], np.array(frames)[order]


class AccuracyTest(parameterized.TestCase):
  @parameterized.parameters(range(6))
  def test_brute_force(self, seed):
    rng = np.random.default_rng(seed)
    ids, frames = _random_sets(rng, 40)
    right = rng.random(len(ids)) < 0.9
    for k in (0, 1, 4, 10):
      held = [
        all(right[(ids == i) & (np.abs(frames) <= k)]) for i in np.unique(ids)
      ]
      got = pm_k.accuracy(right, ids, frames, k=k)
      lo, hi = intervals.clopper_pearson(sum(held), 40)
      self.assertEqual(got["acc_pmk"], (np.mean(held), lo, hi))
      self.assertEqual(got["n"], 40)
      clean = right[frames == 0].mean()
      self.assertAlmostEqual(got["acc_orig"][0], clean, delta=1e-12)
      self.assertAlmostEqual(got["drop"][0], clean - np.mean(held), delta=1e-12)

  def test_order_of_the_rows_does_not_matter(self):
    rng = np.random.default_rng(0)
    ids, frames = _random_sets(rng, 30)
    right = rng.random(len(ids)) < 0.8
    order = rng.permutation(len(ids))
    self.assertEqual(
      pm_k.accuracy(right, ids, frames),
      pm_k.accuracy(right[order], ids[order], frames[order]),
    )

  def test_an_anchor_without_neighbours_counts_by_itself(self):
    got = pm_k.accuracy([1, 0, 1], ["a", "b", "c"], [0, 0, 0])
    self.assertEqual(got["acc_orig"], got["acc_pmk"])
    self.assertEqual(got["n"], 3)
    self.assertEqual(got["drop"][0], 0)

  def test_offsets_beyond_k_are_left_out(self):
    correct, ids, frames = [1, 1, 0], ["a"] * 3, [0, 4, -11]
    self.assertEqual(pm_k.accuracy(correct, ids, frames)["acc_pmk"][0], 1)
    self.assertEqual(pm_k.accuracy(correct, ids, frames, k=11)["drop"][0], 1)

  def test_curve_of_many_models(self):
    rng = np.random.default_rng(0)
    ids, frames = _random_sets(rng, 25)
    right = rng.random((2, 3, len(ids))) < 0.9
    curve = pm_k.curve(right, pm_k.group(ids, frames))
    self.assertEqual(curve.value.shape, (2, 3, 11))
    self.assertTrue((np.diff(curve.value) <= 0).all())
    for k in (0, 7, 10):
      one = pm_k.accuracy(right[1, 2], ids, frames, k=k)["acc_pmk"]
      found = curve.value[1, 2, k], curve.lo[1, 2, k], curve.hi[1, 2, k]
      np.testing.assert_allclose(found, one, atol=1e-12)

  def test_equation_1_leaves_the_anchor_out(self):
    sets = pm_k.group(["a", "a", "b"], [0, 1, 0])
    self.assertEqual(pm_k.without_anchor([0, 1, 1], sets)[0], 1.0)
    self.assertEqual(pm_k.without_anchor([1, 0, 0], sets)[0], 0.5)

  def test_whole_numbers_of_ids_and_floats(self):
    got = pm_k.accuracy(np.array([1.0, 0.0]), [7, 7], [0.0, 1.0])
    self.assertEqual(got["drop"][0], 1.0)
