"""Panels of corruptions: every raw number is in the CSV; Figure 6's points too."""

import csv
import json
import pathlib

from absl.testing import absltest

from robust_tfds import conditions
from robust_tfds.conditions import Condition
from robust_tfds.eval.papers import raw_results
from robust_tfds.eval.report import figures
from robust_tfds.eval.report.figures import base
from tests import shared_data


class CorruptionCurvesTest(absltest.TestCase):
  def _lines(self, name):
    folder = pathlib.Path(self.create_tempdir().full_path)
    (figure,) = figures.select(name)
    figure.draw(base.Request(), folder)
    with open(folder / f"{name}.csv", encoding="utf-8") as file:
      return list(csv.DictReader(file))

  def test_numbers_are_those_of_the_files(self):
    lines = self._lines("michaelis_f7")
    cells = raw_results.cells("pascal_c", "faster_rcnn_r50_fpn_1x_voc0712")
    found = 0
    for line in lines:
      if line["curve"] != "trained on standard data":
        continue
      if line["corruption"] in conditions.PICTURES.names("common"):
        severity = int(line["severity"])
        name = line["corruption"] if severity else ""
        self.assertEqual(float(line["P"]), cells[Condition(name, severity)])
        found += 1
    self.assertEqual(found, 15 * 6)
    absent = [n for n in lines if n["curve"].endswith("(no raw results)")]
    self.assertEqual([float(n["P"]) for n in absent], [0.68, 0.5])

  def test_points_of_figure_6(self):
    path = shared_data.path("data", "detection_raw_results", "figure6.json")
    points = json.loads(path.read_text())["figure6"]
    keys = {
      "standard": "rpc_standard",
      "combined": "rpc_combined_over_standard_clean",
    }
    lines = self._lines("michaelis_f6")
    self.assertLen(lines, 30)
    for line in lines:
      point = points[line["corruption"]]
      rmse = float(line["RMSE (as the authors' file)"])
      self.assertAlmostEqual(rmse, point["mean_rmse"], delta=1e-5)
      relative = 100 * float(line["relative P"])
      self.assertAlmostEqual(
        relative, point[keys[line["model"]]], delta=1e-3, msg=line
      )


if __name__ == "__main__":
  absltest.main()
