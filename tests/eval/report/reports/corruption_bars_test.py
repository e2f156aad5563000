"""Bars: a panel a number, a group a corruption."""

from absl.testing import parameterized

from eval.report.reports.detection import bars as of_detection
from eval.report.reports.sequences import bars as of_sequences
from tests.eval.report.reports import contexts


class CorruptionBarsTest(parameterized.TestCase):
  @parameterized.parameters(
    ("detection", of_detection.Bars(), ["fog"]),
    ("sequences", of_sequences.Bars(), ["tilt"]),
  )
  def test_a_panel_a_number(self, task, chart, names):
    context = contexts.of_task(task, names=names)
    figure = chart.draw(context)
    self.assertNotEmpty(figure.axes)
    ticks = [t.get_text() for t in figure.axes[-1].get_xticklabels()]
    self.assertEqual(ticks, names)
    height = figure.get_size_inches()[1]
    self.assertAlmostEqual(height, chart.height * len(figure.axes) + 0.8)
    nothing = contexts.of_task(task, names=())
    self.assertIsNone(chart.draw(nothing))
