"""Differences of calibration over cells."""

import numpy as np
from absl.testing import absltest

from eval.compare.pairs import calibration
from eval.metrics.replicates import Replicates
from eval.tasks.headlines import headlines
from robust_tfds import conditions
from robust_tfds.conditions import Condition

_FAMILY = conditions.PICTURES


def _cell(value, metric="ece") -> dict[str, Replicates]:
  if metric == "ece":
    return {metric: headlines.value_alone(value)}
  without = value + np.linspace(-0.01, 0.01, 20)
  return {metric: Replicates(np.array(value), None, without, 40)}


class CalibrationTest(absltest.TestCase):
  def _lines(self, first, second):
    lines = calibration.lines(first, second, _FAMILY)
    return {(x.metric, x.corruption): x for x in lines}

  def test_clean_corruptions_and_benchmark(self):
    cells = [Condition()] + [
      Condition(n, s) for n in _FAMILY.names("common") for s in range(1, 6)
    ]
    first = {c: _cell(0.1 + 0.01 * c.level) for c in cells}
    second = {c: _cell(0.2 + 0.02 * c.level) for c in cells}
    got = self._lines(first, second)
    self.assertLen(got, 17)
    self.assertAlmostEqual(got["ece", ""].difference.value, -0.1)
    for name in ("fog", ""):
      line = got["mean_ece", name]
      self.assertAlmostEqual(line.first, 0.13)
      self.assertAlmostEqual(line.second, 0.26)
      self.assertAlmostEqual(line.decrease.value, 0.5)
      # ECE is biased: no resampling of examples covers it.
      self.assertIsNone(line.difference.interval)
      self.assertIsNone(line.decrease.interval)

  def test_only_what_both_have_whole(self):
    fog = {Condition("fog", s): _cell(0.1) for s in range(1, 6)}
    snow = {Condition("snow", s): _cell(0.1) for s in range(1, 5)}
    got = self._lines({**fog, **snow}, {**fog, **snow})
    self.assertEqual(list(got), [("mean_ece", "fog")])
    self.assertEmpty(self._lines(fog, {}))
    other = {c: _cell(0.1, "nll") for c in fog}
    self.assertEmpty(self._lines(fog, other))
