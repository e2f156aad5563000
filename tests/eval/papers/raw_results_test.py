"""The stored P of every condition equals the authors' files."""

import json
import statistics

from absl.testing import absltest

from eval.papers import raw_results
from robust_tfds import conditions
from robust_tfds.conditions import Condition
from tests import shared_data

_SETS = {
  "coco": "coco_c",
  "pascal_voc": "pascal_c",
  "cityscapes": "cityscapes_c",
}
_VOC = ("pascal_c", "faster_rcnn_r50_fpn_1x_voc0712")
_COMBINED = ("pascal_c", "faster_rcnn_r50_fpn_1x_vocsvoc0712")


def _values(metrics):
  """`[19][6]`; of VOC the mean over classes."""
  if "AP" in metrics:
    return metrics["AP"]
  return [
    [statistics.fmean(classes) for classes in row]
    for row in metrics["AP50_per_class"]
  ]


class RawResultsTest(absltest.TestCase):
  def test_every_cell_and_no_other(self):
    seen = set()
    for path in shared_data.golden("detection_raw_results").glob("*__*.json"):
      data = json.loads(path.read_text())
      for task, metrics in data["results"].items():
        metric = "segm/p" if task == "segm" else "p"
        key = _SETS[data["dataset"]], data["model"], metric
        cells = raw_results.cells(*key)
        seen.add(key)
        self.assertLen(cells, 19 * 5 + 1)
        for name, values in zip(data["corruptions"], _values(metrics)):
          self.assertAlmostEqual(cells[Condition()], values[0], delta=6e-7)
          for level, value in enumerate(values[1:], 1):
            stored = cells[Condition(name, level)]
            self.assertAlmostEqual(stored, value, delta=6e-7)
    self.assertEqual(seen, set(raw_results.files()))

  def test_rmse_and_figure_6(self):
    path = shared_data.path("data", "detection_raw_results", "figure6.json")
    data = json.loads(path.read_text())
    stored = data["rmse_by_corruption_severity"]
    self.assertEqual({_SETS[name] for name in stored}, set(raw_results.rmse()))
    for dataset, of_set in stored.items():
      for name, levels in of_set.items():
        for level, value in levels.items():
          ours = raw_results.rmse()[_SETS[dataset]][Condition(name, int(level))]
          self.assertAlmostEqual(ours, value, delta=6e-7)
    standard, combined = (raw_results.cells(*key) for key in (_VOC, _COMBINED))
    for name, drawn in data["figure6"].items():
      levels = [Condition(name, s) for s in conditions.SEVERITIES]
      means = [
        100 * statistics.fmean(cells[c] for c in levels) / standard[Condition()]
        for cells in (standard, combined)
      ]
      self.assertAlmostEqual(means[0], drawn["rpc_standard"], delta=1e-3)
      tip = drawn["rpc_combined_over_standard_clean"]
      self.assertAlmostEqual(means[1], tip, delta=1e-3)

  def test_summary(self):
    summary = raw_results.summary(raw_results.cells(*_VOC))
    self.assertAlmostEqual(100 * summary["p"], 80.450201, delta=1e-4)
    self.assertAlmostEqual(100 * summary["mpc"], 48.611869, delta=1e-4)
    self.assertAlmostEqual(100 * summary["rpc"], 60.424795, delta=1e-4)

  def test_none_of_files_that_are_not_public(self):
    self.assertEmpty(raw_results.cells("coco_c", "retinanet_r50_fpn_1x"))

  def test_sources(self):
    self.assertIn("MIT", raw_results.source())
    self.assertIn("uint8", raw_results.source("rmse"))
