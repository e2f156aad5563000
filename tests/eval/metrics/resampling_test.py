"""Draws of whole groups: paired, of whole groups, equal to small loops."""

import numpy as np
from absl.testing import parameterized

from eval.metrics import resampling

_IDS = np.array([f"video{i}" for i in (3, 1, 1, 7, 3, 3, 9, 1)])
_VALUES = np.array([0.0, 1, 1, 0, 0, 1, 1, 0])


def _weights(draws, ids):
  """How often each draw has each group, read off the means of indicators."""
  of_group = np.unique(ids)
  indicators = (of_group[:, None] == of_group).astype(float)
  return np.rint(draws.means(indicators, of_group).draws * len(of_group)).T


class DrawsTest(parameterized.TestCase):
  def test_a_draw_has_as_many_groups_as_there_are(self):
    weights = _weights(resampling.Draws.from_groups(_IDS, resamples=50), _IDS)
    self.assertEqual(weights.shape, (50, 4))
    np.testing.assert_array_equal(weights.sum(axis=1), 4)
    self.assertGreater(len(np.unique(weights, axis=0)), 10)

  def test_equals_a_loop_over_draws_groups_and_examples(self):
    draws = resampling.Draws.from_groups(_IDS, resamples=40)
    result = draws.means(_VALUES, _IDS)
    for drawn, of_groups in zip(result.draws, _weights(draws, _IDS)):
      top = bottom = 0.0
      for group, times in zip(sorted(set(_IDS)), of_groups):
        for value, of in zip(_VALUES, _IDS):
          if of == group:
            top, bottom = top + times * value, bottom + times
      self.assertAlmostEqual(drawn, top / bottom, places=12)
    self.assertAlmostEqual(result.value, 0.5)

  def test_jackknife_leaves_every_group_out_once(self):
    result = resampling.Draws.from_groups(_IDS, resamples=2).means(
      _VALUES, _IDS
    )
    want = [_VALUES[_IDS != g].mean() for g in sorted(set(_IDS))]
    np.testing.assert_allclose(sorted(result.jackknife), sorted(want))
    self.assertAlmostEqual(result.effective_groups, 8**2 / (9 + 9 + 1 + 1))

  def test_blocks_are_equal_whole_and_not_of_neighbours(self):
    ids = np.array([f"{i:05d}" for i in range(1050)])
    draws = resampling.Draws.from_groups(ids, resamples=1)
    of = draws.blocks_of(ids)
    self.assertCountEqual(set(np.bincount(of)), {10, 11})
    self.assertEqual(draws.blocks, 100)
    self.assertGreater(np.abs(np.diff(of)).mean(), 20)
    left = draws.means(of == 7, ids).jackknife
    self.assertEqual(left[7], 0)
    self.assertEqual((left > 0).sum(), 99)

  def test_depends_on_the_set_of_ids_and_the_seed_alone(self):
    order = np.random.default_rng(0).permutation(len(_IDS))
    wide = _IDS[order].astype("U40")
    one = resampling.Draws.from_groups(_IDS, resamples=30).means(_VALUES, _IDS)
    same = resampling.Draws.from_groups(wide, resamples=30).means(
      _VALUES[order], wide
    )
    np.testing.assert_array_equal(one.draws, same.draws)
    np.testing.assert_array_equal(one.jackknife, same.jackknife)
    other = resampling.Draws.from_groups(_IDS, resamples=30, seed=1)
    self.assertFalse(
      np.array_equal(one.draws, other.means(_VALUES, _IDS).draws)
    )
    fewer = resampling.Draws.from_groups(_IDS, resamples=10).means(
      _VALUES, _IDS
    )
    np.testing.assert_array_equal(one.draws[:10], fewer.draws)

  def test_chunks_change_nothing(self):
    ids = np.array([f"{i:05d}" for i in range(300)])
    values = np.random.default_rng(0).random((300, 3))
    whole = resampling.Draws.from_groups(ids, resamples=120).means(values, ids)
    self.addCleanup(setattr, resampling, "_AT_ONCE", resampling._AT_ONCE)
    self.addCleanup(setattr, resampling, "_KEPT", resampling._KEPT)
    resampling._AT_ONCE, resampling._KEPT = 300 * 50, 0
    parts = resampling.Draws.from_groups(ids, resamples=120).means(values, ids)
    np.testing.assert_allclose(whole.draws, parts.draws, rtol=1e-14)

  def test_many_conditions_at_once_are_each_by_itself(self):
    draws = resampling.Draws.from_groups(_IDS, resamples=25)
    table = np.stack([_VALUES, 1 - _VALUES], axis=1)
    totals = [
      resampling.Totals.from_values(_VALUES.astype(bool), _IDS),
      resampling.Totals.from_values(table, _IDS),
      resampling.Totals.from_values(_VALUES[:5], _IDS[:5]),
    ]
    together = draws.total_means(totals)
    self.assertEqual([r.value.shape for r in together], [(), (2,), ()])
    alone = draws.means(_VALUES, _IDS)
    np.testing.assert_allclose(together[0].draws, alone.draws)
    np.testing.assert_allclose(together[1].draws[0], alone.draws)
    np.testing.assert_allclose(together[1].draws.sum(axis=0), 1)

  def test_a_condition_that_lacks_groups_is_of_what_it_has(self):
    draws = resampling.Draws.from_groups(_IDS, resamples=200)
    has = _IDS != "video1"
    result = draws.means(_VALUES[has], _IDS[has])
    self.assertAlmostEqual(result.value, _VALUES[has].mean())
    none = _weights(draws, _IDS)[:, 1:].sum(axis=1) == 0
    np.testing.assert_array_equal(np.isnan(result.draws), none)

  def test_equal_bytes_of_other_texts_are_other_groups(self):
    self.assertLen(resampling.Groups.from_ids(["a", "b"]), 2)
    self.assertLen(resampling.Groups.from_ids(["ab"]), 1)

  def test_refusals(self):
    draws = resampling.Draws.from_groups(_IDS, resamples=2)
    with self.assertRaisesRegex(ValueError, "Group 'other' is none of the 4"):
      draws.means([1.0], ["other"])
    with self.assertRaisesRegex(ValueError, "do not go together"):
      draws.means([1.0, 0.0], ["video1"])
    with self.assertRaisesRegex(ValueError, "finite numbers"):
      draws.means([np.nan], ["video1"])
    with self.assertRaisesRegex(ValueError, "column of texts"):
      resampling.Draws.from_groups([])
    with self.assertRaisesRegex(ValueError, "column of texts"):
      resampling.Draws.from_groups([1, 2])
