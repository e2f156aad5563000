"""FR, T5D and means of arrays against the metric of numbers."""

import numpy as np
from absl.testing import absltest

from robust_tfds import conditions
from robust_tfds.conditions import Condition
from robust_tfds.eval.metrics import stability
from robust_tfds.eval.tasks.parts import flip_headlines

_FAMILY = conditions.SEQUENCES
_COMMON = _FAMILY.names("common")
_K = 3


def _cells(seed):
  rng = np.random.default_rng(seed)
  out = {Condition(): {"error": rng.random(_K)}}
  for condition in _FAMILY.select(["all"], (1, 2)):
    if not condition.clean:
      rows = 1 if _FAMILY.is_noise(condition.name) else 3
      out[condition] = {
        metric: rng.uniform(0.01, 0.2, (rows, _K))
        for metric in flip_headlines.NORMALISERS.values()
      }
  return out


class FlipHeadlinesTest(absltest.TestCase):
  def test_every_place_is_what_the_metric_says(self):
    cells = _cells(0)
    fp, t5d = (
      flip_headlines.at(cells, metric, 1)
      for metric in ("flip_probability", "unnormalised_t5d")
    )
    known = {
      "flip_probability": {n: 0.1 for n in _COMMON},
      "unnormalised_t5d": {n: 2.0 for n in _COMMON},
    }
    got = flip_headlines.of(cells, known)
    for k in range(_K):
      want = stability.summarize(
        {n: fp[n][k] for n in _COMMON}, {n: t5d[n][k] for n in _COMMON}, known
      )
      for metric in ("mfr", "mt5d"):
        self.assertAlmostEqual(got[metric, "", 1][k], want[metric])
      for name in _COMMON:
        self.assertAlmostEqual(got["fr", name, 1][k], want["fr"][name])
    plain = np.mean([fp[n] for n in _COMMON], axis=0)
    np.testing.assert_allclose(got["mean_flip_probability", "", 1], plain)
    self.assertNotIn(("fr", "tilt", 2), got)
    self.assertIn(("mean_flip_probability", "", 2), got)

  def test_noise_has_a_cell_a_difficulty(self):
    cells = _cells(0)
    second = flip_headlines.at(cells, "flip_probability", 2)
    noise = cells[_FAMILY.condition("shot_noise", 2)]["flip_probability"]
    tilt = cells[_FAMILY.condition("tilt", 1)]["flip_probability"]
    np.testing.assert_array_equal(second["shot_noise"], noise[0])
    np.testing.assert_array_equal(second["tilt"], tilt[1])
    third = flip_headlines.of(cells, {})
    self.assertNotIn(("mean_flip_probability", "", 3), third)

  def test_a_model_against_itself(self):
    cells = _cells(0)
    got = flip_headlines.of(cells, {}, cells)
    for difficulty in (1, 2):
      np.testing.assert_allclose(got["mt5d", "", difficulty], 1)
    cells[_FAMILY.condition("tilt", 1)]["flip_probability"][:] = 0
    got = flip_headlines.of(cells, {}, cells)
    self.assertTrue(np.isnan(got["fr", "tilt", 1]).all())


if __name__ == "__main__":
  absltest.main()
