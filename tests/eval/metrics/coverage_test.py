"""Intervals cover as often as they say: simulated with fixed seeds."""

import numpy as np
import pytest
from absl.testing import parameterized

from tests.eval.metrics import coverage


class CoverageTest(parameterized.TestCase):
  def test_the_truth_is_what_many_examples_say(self):
    design = coverage.Design(4000, 0.7)
    wrong, groups = design.draw(np.random.default_rng(0))
    self.assertLen(np.unique(groups), 4000)
    np.testing.assert_allclose(wrong.mean(axis=0), design.truth, atol=0.02)

  def test_a_few_data_sets(self):
    shares = coverage.covered(coverage.Design(25, 0.7), 120)
    for name, share in shares.items():
      self.assertBetween(share.coverage, 0.88, 1, name)
    half = coverage.covered(coverage.Design(25, 0.7), 120, level=0.5)
    for name, share in half.items():
      self.assertBetween(share.coverage, 0.35, 0.65, name)

  @parameterized.parameters(*coverage.DESIGNS)
  @pytest.mark.slow
  def test_95_percent_cover_93_to_97(self, design):
    sets = 2000
    for name, share in coverage.covered(design, sets).items():
      where = design.words, name
      # Clopper and Pearson promise at least 95 %, and cover more.
      most = 0.995 if name == coverage.CELL else 0.97
      self.assertBetween(share.coverage, 0.93, most, where)
      self.assertGreater(share.there, 0.95 * sets, where)
      if share.jackknife_coverage is not None:
        self.assertBetween(share.jackknife_coverage, 0.92, 0.98, where)
