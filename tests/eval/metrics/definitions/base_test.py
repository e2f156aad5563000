"""A metric's unit, direction and heading, in words."""

from absl.testing import absltest

from robust_tfds.eval.metrics.definitions.base import Metric


class MetricTest(absltest.TestCase):
  def test_unit(self):
    for changes, words in (
      ({}, "%, stored as a fraction"),
      ({"percent": False}, "none"),
      ({"percent": False, "unit": "nats"}, "nats"),
    ):
      self.assertEqual(Metric("nll", "NLL", **changes).unit_words, words)

  def test_sense(self):
    for sense, sign, words in (
      ("lower", -1, "lower is better"),
      ("higher", 1, "higher is better"),
      ("neither", 0, "neither is better"),
      ("unknown", 0, "unknown sense"),
    ):
      metric = Metric("nll", "NLL", sense)
      self.assertEqual((metric.sign, metric.sense_words), (sign, words))
      self.assertEqual(metric.higher_is_better, sense == "higher")

  def test_nobody_is_right_by_default(self):
    self.assertEqual(Metric("nll", "NLL").sense, "unknown")

  def test_full_heading(self):
    self.assertEqual(Metric("p", "P").full_heading, "P")
    self.assertEqual(Metric("p", "P", title="Power").full_heading, "Power")


if __name__ == "__main__":
  absltest.main()
