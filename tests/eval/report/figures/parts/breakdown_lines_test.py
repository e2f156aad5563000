"""A line a model over a breakdown."""

import csv
import pathlib

from absl.testing import absltest

from robust_tfds.eval.report import figures
from tests.eval.report.figures import boards


class BreakdownLinesTest(absltest.TestCase):
  def test_eleven_values_a_model(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    (figure,) = figures.select("shankar_f11")
    figure.draw(boards.request("frames"), folder)
    with open(folder / "shankar_f11.csv", encoding="utf-8") as file:
      lines = list(csv.DictReader(file))
    self.assertLen(lines, 22)
    metrics = [x["metric"] for x in lines if x["model"] == "ours"]
    self.assertEqual(metrics, [f"acc_pmk/k={k}" for k in range(11)])


if __name__ == "__main__":
  absltest.main()
