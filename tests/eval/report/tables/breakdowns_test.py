"""Rows of natural perturbations."""

from absl.testing import absltest

from eval.tables import breakdowns
from tests.eval.report.reports import contexts


class BreakdownsTest(absltest.TestCase):
  def test_numbers_are_in_their_order(self):
    context = contexts.of_task("frames")
    series = breakdowns.series(context, "ours", "acc_pmk", "k")
    self.assertEqual([v for v, _ in series], [str(k) for k in range(11)])
    signed = breakdowns.series(context, "ours", "error", "offset")
    self.assertEqual(signed[0][0], "-10")
    self.assertEqual(signed[-1][0], "+10")

  def test_words_are_in_the_order_of_the_table(self):
    context = contexts.of_task("frames")
    series = breakdowns.series(context, "ours", "acc_orig", "frame_type")
    self.assertEqual([v for v, _ in series], ["I", "P"])

  def test_class_names(self):
    context = contexts.of_task("frames")
    self.assertEqual(breakdowns.class_name(context, "0"), "cat 0")
    self.assertEqual(breakdowns.class_name(context, "7"), "7")
