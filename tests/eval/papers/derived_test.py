"""What follows from printed numbers, against what others computed of them."""

import json

from absl.testing import absltest

from eval.papers import derived
from tests import shared_data

_TRAININGS = {"": "", "S": ", scratch", "P": ", kinetics400"}
_TABLES = {"ucf101_p": "table6", "hmdb51_p": "table7"}


class DerivedTest(absltest.TestCase):
  def test_clean_accuracies(self):
    path = shared_data.published("schiappa", "implied_clean_accuracy.json")
    expected = {}
    for key, stored in json.loads(path.read_text()).items():
      dataset, _, name = key.partition(":")
      network, _, training = name.partition("-")
      expected[dataset, network + _TRAININGS[training]] = tuple(stored.values())
    implied = {
      (a.dataset, a.label): (
        round(100 * a.value, 1),
        a.rows,
        round(100 * a.lo, 1),
        round(100 * a.hi, 1),
        a.consistent,
      )
      for a in derived.clean_accuracies()
    }
    self.assertEqual(implied, expected)

  def test_groups_of_figure_6(self):
    path = shared_data.published("schiappa", "fig6_groups_derived.csv")
    rows = shared_data.lines(path)
    self.assertNotEmpty(rows)
    for row in rows:
      label = f"{row['model']}, {row['pretraining']}"
      of_network = derived.groups(_TABLES[row["dataset"]])[label]
      value = of_network[row["metric"]][row["group"]]
      self.assertAlmostEqual(value, float(row["mean_of_perturbation_rows"]), 4)
    count = sum(len(derived.groups(t)) for t in _TABLES.values())
    self.assertLen(rows, count * 2 * 3)
