"""Figures 3, 4 and 6: what the CSV holds, and which runs are drawn."""

import csv
import pathlib

from absl.testing import absltest, parameterized

from robust_tfds.eval.report import figures
from robust_tfds.eval.report.figures import base
from tests.eval.report.figures import boards


class ScatterTest(parameterized.TestCase):
  def lines(self, name, *of):
    folder = pathlib.Path(self.create_tempdir().full_path)
    (figure,) = figures.select(name)
    figure.draw(base.Request(boards=of), folder)
    with open(folder / f"{name}.csv", newline="") as f:
      return list(csv.DictReader(f))

  @parameterized.parameters(
    ("hendrycks_f3", 7, {"mce": 0.767, "relative_mce": 1.05}),
    ("hendrycks_f4", 7, {"mfr": 0.58, "mt5d": 0.783}),
    (
      "hendrycks_f6",
      5,
      {"mce": 0.767, "relative_mce": 1.05, "mfr": 0.58, "mt5d": 0.783},
    ),
  )
  def test_printed(self, name, networks, resnet50):
    lines = self.lines(name)
    self.assertLen({line["network"] for line in lines}, networks)
    values = {
      line["metric"]: float(line["value"])
      for line in lines
      if line["network"] == "ResNet-50"
    }
    self.assertEqual(values, resnet50)

  def test_a_figure_of_one_table_draws_its_numbers(self):
    lines = self.lines("hendrycks_f6")
    (dense,) = (
      line
      for line in lines
      if (line["network"], line["metric"]) == ("DenseNet-161", "mce")
    )
    self.assertAlmostEqual(float(dense["accuracy"]), 1 - 0.229)
    self.assertTrue(dense["source"].endswith("section 5.2"))

  def test_runs_are_added_to_the_panel_of_their_task(self):
    board = boards.normalised("classification", run="mine")
    lines = self.lines("hendrycks_f6", board)
    added = [line for line in lines if "mine" in line["source"]]
    self.assertEqual(
      {line["metric"] for line in added}, {"mce", "relative_mce"}
    )
    self.assertLen({line["network"] for line in added}, len(board.runs))


if __name__ == "__main__":
  absltest.main()
