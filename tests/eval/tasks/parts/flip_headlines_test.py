"""FR, T5D and means of arrays against the metric of numbers."""

import numpy as np
from absl.testing import absltest

from eval.metrics import stability
from eval.tasks.headlines import flip_headlines, headlines
from robust_tfds import conditions
from robust_tfds.conditions import Condition

_FAMILY = conditions.SEQUENCES
_COMMON = _FAMILY.names("common")
_METRICS = tuple(flip_headlines.NORMALISERS.values())


def _cells(seed):
  rng = np.random.default_rng(seed)
  out = {Condition(): {"error": headlines.value_alone(rng.random())}}
  for condition in _FAMILY.select(["all"], (1, 2)):
    if not condition.clean:
      rows = 1 if _FAMILY.is_noise(condition.name) else 3
      out[condition] = {
        metric: headlines.value_alone(rng.uniform(0.01, 0.2, rows))
        for metric in _METRICS
      }
  return out


def _at(cells, name, metric, difficulty):
  """Noise has a cell a difficulty, the others a row."""
  noise = _FAMILY.is_noise(name)
  of_cell = cells[_FAMILY.condition(name, difficulty if noise else 1)]
  return float(of_cell[metric].value[0 if noise else difficulty - 1])


def _numbers(ours, theirs, **options):
  listed = flip_headlines.headlines(ours, theirs, **options)
  return {
    key: float(number.value)
    for key, number in headlines.numbers(listed, ours, theirs).items()
  }


class FlipHeadlinesTest(absltest.TestCase):
  def test_what_the_metric_says(self):
    cells = _cells(0)
    known = {
      "flip_probability": {n: 0.1 for n in _COMMON},
      "unnormalised_t5d": {n: 2.0 for n in _COMMON},
    }
    got = _numbers(cells, flip_headlines.published_cells(known), published=True)
    fp, t5d = (
      {n: _at(cells, n, metric, 1) for n in _COMMON} for metric in _METRICS
    )
    want = stability.summarize(fp, t5d, known)
    for metric in ("mfr", "mt5d"):
      self.assertAlmostEqual(got[metric, "", 1], want[metric])
    for name in _COMMON:
      self.assertAlmostEqual(got["fr", name, 1], want["fr"][name])
    for difficulty in (1, 2):
      plain = [_at(cells, n, "flip_probability", difficulty) for n in _COMMON]
      key = "mean_flip_probability", "", difficulty
      self.assertAlmostEqual(got[key], np.mean(plain))
    self.assertNotIn(("fr", "tilt", 2), got)  # published at 1 alone
    self.assertNotIn(("mean_flip_probability", "", 3), got)  # noise lacks it

  def test_a_model_against_itself(self):
    cells = _cells(0)
    got = _numbers(cells, cells)
    for difficulty in (1, 2):
      self.assertAlmostEqual(got["mt5d", "", difficulty], 1)
    tilt = cells[_FAMILY.condition("tilt", 1)]
    tilt["flip_probability"] = headlines.value_alone(np.zeros(3))
    self.assertTrue(np.isnan(_numbers(cells, cells)["fr", "tilt", 1]))
