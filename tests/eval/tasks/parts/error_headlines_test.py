"""CE, mCE and means of arrays of errors against the metric of numbers."""

import numpy as np
from absl.testing import absltest

from eval.metrics import corruption_error
from eval.tasks.headlines import error_headlines, headlines
from robust_tfds import conditions
from robust_tfds.conditions import Condition

_FAMILY = conditions.PICTURES
_NAMES = _FAMILY.names()


def _errors(seed, names=_NAMES):
  rng = np.random.default_rng(seed)
  cells = [Condition(n, s) for n in names for s in conditions.SEVERITIES]
  errors = {c: rng.uniform(0.2, 0.9) for c in cells}
  return {
    c: {"error": headlines.value_alone(e)}
    for c, e in {Condition(): 0.1, **errors}.items()
  }


def _by_name(errors):
  names = dict.fromkeys(c.name for c in errors if c.name)
  return {
    n: [
      float(errors[Condition(n, s)]["error"].value)
      for s in conditions.SEVERITIES
    ]
    for n in names
  }


def _numbers(ours, theirs):
  listed = error_headlines.headlines(ours, theirs)
  return {
    key: float(number.value)
    for key, number in headlines.numbers(listed, ours, theirs).items()
  }


class ErrorHeadlinesTest(absltest.TestCase):
  def test_what_the_metric_says(self):
    ours, theirs = _errors(0), _errors(1)
    got = _numbers(ours, theirs)
    want = corruption_error.summarize(
      _by_name(ours),
      float(ours[Condition()]["error"].value),
      {
        "errors": _by_name(theirs),
        "clean_error": float(theirs[Condition()]["error"].value),
      },
    )
    for metric in ("ce", "relative_ce"):
      for name, value in want[metric].items():
        self.assertAlmostEqual(got[metric, name, None], value)
    for metric in ("mce", "relative_mce"):
      self.assertAlmostEqual(got[metric, "", None], want[metric])
    self.assertAlmostEqual(
      got["mean_corruption_error", "", None], want["mean_error"]
    )
    extra = [_by_name(ours)[n] for n in _FAMILY.names("extra")]
    self.assertAlmostEqual(
      got["extra_mean_corruption_error", "", None], np.mean(extra)
    )

  def test_what_lacks_cells_is_not_there(self):
    some = _errors(0, ("fog", "snow"))
    del some[Condition("snow", 2)], some[Condition()]
    got = _numbers(some, _errors(1))
    self.assertEqual(
      set(got), {("mean_error", "fog", None), ("ce", "fog", None)}
    )
    self.assertNotIn(("ce", "fog", None), _numbers(some, {}))

  def test_what_is_retained_of_sets_that_are_no_benchmark(self):
    ours = _errors(0)
    listed = error_headlines.headlines(ours, {}, benchmark=False)
    key = "accuracy_retained", "", None
    got = headlines.numbers(listed, ours, {})[key]
    right = [
      1 - float(ours[Condition(n, s)]["error"].value)
      for n in _FAMILY.names("common")
      for s in conditions.SEVERITIES
    ]
    self.assertAlmostEqual(float(got.value), np.mean(right) / 0.9)
    self.assertNotIn(key, _numbers(ours, _errors(1)))
    ours[Condition()] = {"error": headlines.value_alone(1.0)}
    self.assertTrue(np.isnan(headlines.numbers(listed, ours, {})[key].value))

  def test_a_baseline_without_errors_divides_nothing(self):
    none = {c: {"error": 0.0} for c in _errors(1)}
    got = _numbers(_errors(0), none)
    self.assertTrue(np.isnan(got["mce", "", None]))
