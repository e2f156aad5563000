"""CE, mCE and means of arrays of errors against the metric of numbers."""

import numpy as np
from absl.testing import absltest

from robust_tfds import conditions
from robust_tfds.conditions import Condition
from robust_tfds.eval.metrics import corruption_error
from robust_tfds.eval.tasks.parts import error_headlines

_FAMILY = conditions.PICTURES
_NAMES = _FAMILY.names()
_K = 4


def _errors(seed, names=_NAMES):
  rng = np.random.default_rng(seed)
  cells = [Condition(n, s) for n in names for s in conditions.SEVERITIES]
  return {c: rng.uniform(0.2, 0.9, _K) for c in [Condition(), *cells]}


def _by_name(errors, k):
  return {
    n: [errors[Condition(n, s)][k] for s in conditions.SEVERITIES]
    for n in dict.fromkeys(c.name for c in errors if c.name)
  }


class ErrorHeadlinesTest(absltest.TestCase):
  def test_every_place_is_what_the_metric_says(self):
    ours, theirs = _errors(0), _errors(1)
    got = error_headlines.of(ours, theirs)
    for k in range(_K):
      want = corruption_error.summarize(
        _by_name(ours, k),
        ours[Condition()][k],
        {
          "errors": _by_name(theirs, k),
          "clean_error": theirs[Condition()][k],
        },
      )
      for metric in ("ce", "relative_ce"):
        for name, value in want[metric].items():
          self.assertAlmostEqual(got[metric, name, None][k], value)
      for metric in ("mce", "relative_mce"):
        self.assertAlmostEqual(got[metric, "", None][k], want[metric])
      self.assertAlmostEqual(
        got["mean_corruption_error", "", None][k], want["mean_error"]
      )

  def test_what_lacks_cells_is_not_there(self):
    some = _errors(0, ("fog", "snow"))
    del some[Condition("snow", 2)], some[Condition()]
    got = error_headlines.of(some, _errors(1))
    self.assertEqual(
      set(got), {("mean_error", "fog", None), ("ce", "fog", None)}
    )
    self.assertNotIn(("ce", "fog", None), error_headlines.of(some, {}))

  def test_a_baseline_without_errors_divides_nothing(self):
    none = {c: 0 * e for c, e in _errors(1).items()}
    got = error_headlines.of(_errors(0), none)
    self.assertTrue(np.isnan(got["mce", "", None]).all())


if __name__ == "__main__":
  absltest.main()
