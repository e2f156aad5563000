"""Curves of raw results, of runs, and what is printed of absent ones."""

import numpy as np
from absl.testing import absltest

from eval.cells.number import Number
from eval.papers import raw_results
from eval.report.figures.parts import ap_curves, own, trainings
from robust_tfds.conditions import Condition
from tests.eval.report.figures import boards


class ApCurvesTest(absltest.TestCase):
  def test_the_mean_over_severities_is_the_printed_one(self):
    models = trainings.curve_models("coco_c")
    standard, stylized = ap_curves.raw_curves("coco_c", models)
    for curve, mpc in ((standard, 0.182), (stylized, 0.141)):
      values = [curve.numbers[s].value for s in (1, 2, 3, 4, 5)]
      self.assertAlmostEqual(np.mean(values), mpc, delta=5.1e-4)
    self.assertEqual((standard.place, stylized.place), (0, 1))
    cells = raw_results.cells("coco_c", models[0].file)
    (fog, _) = ap_curves.raw_curves("coco_c", models, "fog")
    self.assertEqual(fog.numbers[3].value, cells[Condition("fog", 3)])

  def test_an_absent_curve_has_what_is_printed(self):
    (absent,) = ap_curves.absent_curves(
      "coco_c", trainings.curve_models("coco_c")
    )
    self.assertAlmostEqual(absent.numbers[0].value, 0.346)
    self.assertAlmostEqual(absent.mpc, 0.204)
    self.assertIn("combined", ap_curves.remark([absent]))
    self.assertEqual(ap_curves.remark([]), "")
    clean, mean = absent.lines("coco_c", ap_curves.MEAN)
    self.assertEqual((clean[2], mean[2]), (0, "1-5"))

  def test_a_run_has_the_severities_that_it_has(self):
    board = boards.board("detection")
    cells = board.entries[0].cells
    cells.clear()
    number = Number(0.25, 0.2, 0.3)
    cells[Condition()] = {"bbox/AP": number, "bbox/AP50": number}
    cells[Condition("fog", 2)] = {"bbox/AP": number}
    model = own.from_boards([board])[0]
    self.assertEqual(ap_curves.main_metric(model), "bbox/AP")
    curve = ap_curves.run_curve(model, 3, "fog")
    self.assertEqual(list(curve.numbers), [0, 2])
    self.assertEqual(curve.numbers[2], number)
    self.assertEqual(list(ap_curves.run_curve(model, 3).numbers), [0])
    (line, _) = curve.lines("coco_c", "fog")
    self.assertEqual(
      line[:7], ["coco_c", "fog", 0, model.label, 0.25, 0.2, 0.3]
    )
