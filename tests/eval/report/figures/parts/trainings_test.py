"""Curves by training data: one of each data set is absent, and printed."""

from absl.testing import parameterized

from eval.papers import raw_results
from eval.report.figures.parts import ap_curves, trainings


class TrainingsTest(parameterized.TestCase):
  @parameterized.parameters(
    ("pascal_c", "stylized"),
    ("coco_c", "combined"),
    ("cityscapes_c", "combined"),
  )
  def test_one_is_absent(self, dataset, training):
    models = trainings.curve_models(dataset)
    self.assertLen(models, 3)
    for model in models:
      public = bool(raw_results.cells(dataset, model.file))
      self.assertEqual(public, bool(model.file))
    (absent,) = ap_curves.absent_curves(dataset, models)
    self.assertEqual(absent.label, f"trained on {training} data")
    self.assertIn("Table 2", absent.source)
