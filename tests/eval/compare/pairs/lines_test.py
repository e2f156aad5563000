"""The sense of metrics, and what lines say of themselves."""

from absl.testing import absltest, parameterized

from robust_tfds.conditions import Condition
from robust_tfds.eval import tasks
from robust_tfds.eval.compare.pairs import lines
from robust_tfds.eval.compare.pairs.lines import Interval, Line


class LinesTest(parameterized.TestCase):
  @parameterized.parameters(
    ("classification", "error", False),
    ("classification", "mce", False),
    ("classification", "nll", False),
    ("classification", "brier", False),
    ("classification", "ece", False),
    ("sequences", "flip_probability", False),
    ("sequences", "unnormalised_t5d", False),
    ("frames", "acc_orig", True),
    ("frames", "acc_pmk", True),
    ("frames", "drop", False),
    ("video", "accuracy", True),
    ("video", "accuracy/category/Age", True),
    ("video", "gamma_a/noise", True),
    ("video", "gamma_r", True),
    ("detection", "bbox/AP", True),
    ("detection", "segm/AP", True),
    ("detection", "bbox/AP50", True),
    ("detection", "segm/mpc", True),
    ("detection", "mean_ap", True),
  )
  def test_sense(self, task, name, higher):
    metric = lines.metric_of(tasks.get(task).facts, name)
    self.assertEqual(metric.higher_is_better, higher)
    self.assertEqual(metric.name, name)

  @parameterized.parameters(*tasks.names())
  def test_the_task_has_the_last_word(self, task):
    facts = tasks.get(task).facts
    for metric in (*facts.headlines, *facts.details, *facts.others):
      self.assertIs(
        lines.metric_of(facts, metric.name), facts.metric(metric.name)
      )

  def test_units(self):
    facts = tasks.get("classification").facts
    for name, percent in (("mean_nll", False), ("ece", True), ("error", True)):
      self.assertEqual(lines.metric_of(facts, name).percent, percent)

  def test_of_benchmark(self):
    one = Interval(0.1)
    self.assertFalse(one.known)
    self.assertTrue(Line("mce", "", None, None, 1, 2, one).of_benchmark)
    self.assertFalse(Line("ce", "fog", None, None, 1, 2, one).of_benchmark)
    cell = Line("error", "", 0, Condition(), 1, 2, one)
    self.assertFalse(cell.of_benchmark)


if __name__ == "__main__":
  absltest.main()
