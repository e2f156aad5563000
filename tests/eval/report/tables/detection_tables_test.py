"""The detection paper's numbers beside ours."""

from absl.testing import absltest

from eval.cells import table
from eval.tables import detection_tables


def _row(metric, value, config="", model="faster_rcnn_r50_fpn_1x_coco"):
  severity = 0 if config else None
  return table.Row(model, "coco", config, "", severity, metric, value)


class DetectionTablesTest(absltest.TestCase):
  def test_printed_rows_of_the_models_at_hand(self):
    rows = [
      _row("bbox/AP", 0.363, "clean"),
      _row("p", 0.363),
      _row("mpc", 0.182),
      _row("rpc", 0.5),
    ]
    (compared,) = detection_tables.compare(rows)
    self.assertEqual(compared.row.where, "Table 2")
    self.assertEqual(compared.agrees, (True, True, False))
    text = detection_tables.markdown(rows)
    self.assertIn("| bbox/AP | 36.30 | 18.20 | 50.00 |", text)
    self.assertIn("50.00, 50.2, -0.20 (!)", text)
    self.assertIn("2 of 3 printed numbers agree", text)

  def test_models_that_are_not_printed(self):
    rows = [_row("bbox/AP", 0.5, "clean", "mine"), _row("p", 0.5, model="mine")]
    text = detection_tables.markdown(rows)
    self.assertIn("| coco | mine | bbox/AP | 50.00 | - | - |", text)
    self.assertNotIn("Beside", text)
