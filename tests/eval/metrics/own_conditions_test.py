"""A corruption of one's own: in every metric's cells, in no published mean."""

import dataclasses
from unittest import mock

import numpy as np
from absl.testing import absltest

from robust_tfds import conditions
from robust_tfds.eval.metrics import action
from robust_tfds.eval.metrics import corruption_error
from robust_tfds.eval.metrics import detection
from robust_tfds.eval.metrics import stability
from robust_tfds.eval.metrics.detection import benchmark

_ROW = conditions.Row("invert", "noise", "own")


def _with_row(family: conditions.Family) -> conditions.Family:
  return dataclasses.replace(family, rows=(*family.rows, _ROW))


class OwnConditionsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    for name in ("PICTURES", "SEQUENCES", "VIDEOS"):
      family = _with_row(getattr(conditions, name))
      self.enterContext(mock.patch.object(conditions, name, family))

  def test_corruption_error(self):
    flat = {n: [0.5] * 5 for n in conditions.PICTURES.names("common")}
    before = corruption_error.summarize(flat, 0.1)
    after = corruption_error.summarize({**flat, "invert": [1.0] * 5}, 0.1)
    self.assertEqual(after, before)  # the published baseline has no such errors
    baseline = {
      "errors": {**flat, "invert": [0.5] * 5},
      "clean_error": 0.1,
    }
    after = corruption_error.summarize(
      {**flat, "invert": [1.0] * 5}, 0.1, baseline
    )
    self.assertEqual(after["ce"]["invert"], 2.0)
    self.assertEqual((after["mce"], after["mean_error"]), (1.0, 0.5))

  def test_detection(self):
    flat = {n: [0.25] * 5 for n in benchmark.names("all")}
    for scope in benchmark.scopes():
      self.assertNotIn("invert", benchmark.names(scope))
      after = detection.summarize({**flat, "invert": [0.0] * 5}, 0.5, scope)
      self.assertEqual(after, detection.summarize(flat, 0.5, scope))

  def test_stability(self):
    flat = {n: 0.1 for n in conditions.SEQUENCES.names("common")}
    before = stability.summarize(flat, flat)
    after = stability.summarize({**flat, "invert": 1.0}, flat)
    self.assertEqual(after, before)
    baseline = {
      "flip_probability": {**flat, "invert": 0.5},
      "unnormalised_t5d": flat,
    }
    after = stability.summarize({**flat, "invert": 1.0}, flat, baseline)
    self.assertEqual(after["fr"]["invert"], 2.0)
    self.assertAlmostEqual(after["mfr"], 1.0)

  def test_action(self):
    flat = {
      (n, s): 0.4
      for n in conditions.VIDEOS.names("common")
      for s in conditions.SEVERITIES
    }
    more = {**flat, ("invert", 1): 0.0}
    before, after = action.robustness(flat, 0.8), action.robustness(more, 0.8)
    self.assertEqual(after["missing"], [])
    for measure in ("gamma_a", "gamma_r"):
      self.assertEqual(after[measure]["groups"], before[measure]["groups"])
      self.assertEqual(after[measure]["mean"], before[measure]["mean"])
    self.assertEqual(after["gamma_r"]["names"]["invert"], 0.0)

  def test_action_of_nothing_else(self):
    right = np.array([True, False, True, True])
    accuracy = {("invert", 1): 0.5}
    self.assertTrue(
      np.isnan(action.robustness(accuracy, 0.8)["gamma_a"]["mean"])
    )
    ends = action.robustness_intervals(
      {("invert", 1): right}, right, np.random.default_rng(0)
    )
    self.assertEqual(ends["gamma_r"]["names"]["invert"], (1.0, 1.0))
    self.assertEqual(ends["gamma_r"]["groups"], {})


if __name__ == "__main__":
  absltest.main()
