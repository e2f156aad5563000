"""Panels of corruptions: every raw number is in the CSV; Figure 6's points too."""

import json

from absl.testing import absltest

from eval.papers import raw_results
from robust_tfds import conditions
from robust_tfds.conditions import Condition
from tests import shared_data
from tests.eval.report.figures import lines


class CorruptionCurvesTest(absltest.TestCase):
  def test_numbers_are_those_of_the_files(self):
    listed = lines.of("michaelis_f7")
    cells = raw_results.cells("pascal_c", "faster_rcnn_r50_fpn_1x_voc0712")
    names = conditions.PICTURES.names("common")
    got = {
      Condition(x["corruption"] if x["severity"] else "", x["severity"]): x["P"]
      for x in listed
      if x["curve"] == "trained on standard data" and x["corruption"] in names
    }
    self.assertLen(got, 1 + 15 * 5)
    self.assertEqual(got, {c: cells[c] for c in got})
    absent = [n for n in listed if n["curve"].endswith("(no raw results)")]
    self.assertEqual([n["P"] for n in absent], [0.68, 0.5])

  def test_points_of_figure_6(self):
    path = shared_data.path("data", "detection_raw_results", "figure6.json")
    points = json.loads(path.read_text())["figure6"]
    keys = {
      "standard": "rpc_standard",
      "combined": "rpc_combined_over_standard_clean",
    }
    listed = lines.of("michaelis_f6")
    self.assertLen(listed, 30)
    for line in listed:
      point = points[line["corruption"]]
      rmse = line["RMSE (as the authors' file)"]
      self.assertAlmostEqual(rmse, point["mean_rmse"], delta=1e-5)
      relative = 100 * line["relative P"]
      self.assertAlmostEqual(
        relative, point[keys[line["model"]]], delta=1e-3, msg=line
      )
