"""Groups over severity: means by a loop of their own."""

import csv
import pathlib

from absl.testing import absltest

from robust_tfds.conditions import Condition
from robust_tfds.eval.report import figures
from robust_tfds.eval.report.figures import base
from robust_tfds.eval.report.figures.parts import own
from tests.eval.report.figures import boards


class SeverityGroupsTest(absltest.TestCase):
  def test_means_over_a_groups_perturbations(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    board = boards.board("video", names=("jumbling", "freezing", "jpeg"))
    (figure,) = figures.select("schiappa_f4")
    figure.draw(base.Request(boards=[board]), folder)
    with open(folder / "schiappa_f4.csv", encoding="utf-8") as file:
      lines = {
        (x["model"], x["group"], int(x["severity"])): x
        for x in csv.DictReader(file)
      }
    model = own.of([board])[0]
    one, other = (
      model.of_cell("accuracy", Condition(name, 3, "videos")).value
      for name in ("jumbling", "freezing")
    )
    line = lines["ours", "temporal", 3]
    expected = (one + other) / 2 / model.value("clean_accuracy")
    self.assertAlmostEqual(float(line["gamma_r"]), expected, places=9)
    self.assertEqual(line["perturbations"], "2")
    self.assertNotIn(("ours", "noise", 3), lines)
    self.assertLen(lines, 2 * 2 * 5)


if __name__ == "__main__":
  absltest.main()
