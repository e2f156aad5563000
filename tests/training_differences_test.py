"""Differences of docs/TRAINING.md against scipy, from the stored numbers."""

import dataclasses

import numpy as np
from absl.testing import absltest
from scipy import stats

from robust_tfds import conditions
from tools import training_differences, training_measures, training_runs

_LINES = training_runs.stored("pictures")
_ROWS = training_differences.networks(_LINES)
_COMMON = conditions.PICTURES.names("common")


def _mean_errors(network: str, row: str) -> np.ndarray:
  """In percent, of each seed; by itself, from the table."""
  return np.array(
    [
      100 * np.mean([line.numbers[f"{n}:mean_error"] for n in _COMMON])
      for line in _LINES
      if (line.network, line.row) == (network, row)
    ]
  )


class IntervalTest(absltest.TestCase):
  def test_students(self):
    values = [0.3, 0.1, 0.7]
    mean, half = training_differences.interval(values)
    low, high = stats.t.interval(0.95, 2, np.mean(values), stats.sem(values))
    self.assertAlmostEqual(mean - half, low)
    self.assertAlmostEqual(mean + half, high)

  def test_quantile(self):
    self.assertAlmostEqual(training_differences.quantile(0.95, 3), 4.303, 3)


class DifferenceTest(absltest.TestCase):
  def test_what_is_shown(self):
    for mean, half, shown in (
      (-1.0, 0.5, True),
      (1.0, 1.5, False),
      (0.3, 0.0, False),  # three equal counts are no interval
    ):
      cell = training_differences.Difference(mean, half)
      self.assertEqual(cell.shown, shown)
      self.assertEqual(str(cell).startswith("**"), shown)
      self.assertEqual("no difference shown (" in str(cell), not shown)

  def test_a_wider_interval_is_of_the_exact_half(self):
    cell = training_differences.Difference(0.1, 0.004)  # 0.00 in the table
    self.assertTrue(cell.survives(0.99, 3))
    self.assertFalse(cell.survives(1 - 1e-5, 3))

  def test_the_chance_of_examples_is_added(self):
    cell = training_differences.Difference(0.93, 0.80)
    self.assertTrue(cell.shown)
    self.assertFalse(cell.holds(359))  # .93 within ± 1.27
    self.assertTrue(cell.holds(2000))
    self.assertTrue(training_differences.Difference(-1.60, 0.80).holds(359))


class ComparisonsTest(absltest.TestCase):
  def test_each_is_a_paired_t_test(self):
    """Of scipy: shown where p < .05, unless three seeds say exactly the same."""
    for network, rows in _ROWS.items():
      measures = training_measures.of("pictures", rows["standard"])
      steps = training_differences.at_equal_steps(rows, measures)
      gradients = training_differences.at_equal_gradients(rows, measures)
      self.assertTrue(all(x.beside == "standard" for x in steps))
      for comparison in (*steps, *gradients):
        pair = [
          _mean_errors(network, row)
          for row in (comparison.row, comparison.beside)
        ]
        cell = comparison.cells["mean"]
        self.assertAlmostEqual(cell.mean, np.mean(pair[0] - pair[1]))
        p = stats.ttest_rel(*pair).pvalue
        self.assertEqual(cell.shown, p < 0.05, comparison)

  def test_equal_gradients(self):
    for rows in _ROWS.values():
      measures = training_measures.of("pictures", rows["standard"])
      beside = {
        x.row: x.beside
        for x in training_differences.at_equal_gradients(rows, measures)
      }
      self.assertEqual(beside["augmix"], "standard x 3")
      self.assertEqual(beside["stability"], "standard x 2")
      self.assertEqual(beside["finetune"], "standard x 2")
      self.assertNotIn("pixmix", beside)  # one gradient: those of equal steps
      for name in {"alp", "adversarial"} & set(rows):
        self.assertEqual(beside[name], "standard x 12")

  def test_what_begins_with_standard_is_not_of_equal_steps(self):
    for rows in _ROWS.values():
      measures = training_measures.of("pictures", rows["standard"])
      steps = training_differences.at_equal_steps(rows, measures)
      names = {x.row for x in steps}
      self.assertEmpty(names & {"finetune", "standard", "standard x 2"})
      self.assertIn("augmix", names)

  def test_held_out_is_of_the_same_conditions_in_both(self):
    rows = dict(_ROWS["digits_cnn"])
    seen = ("fog", "snow")
    rows = {
      "standard": rows["standard"],
      "other": [
        dataclasses.replace(x, row="other", seen=seen) for x in rows["standard"]
      ],
    }
    measures = training_measures.of("pictures", rows["standard"])
    (found,) = training_differences.at_equal_steps(rows, measures)
    self.assertEqual(found.cells["held out"].mean, 0)


if __name__ == "__main__":
  absltest.main()
