"""Charts of an entry's page: which lines they have, and where these lie."""

from absl.testing import absltest

from eval.cells.number import Number
from eval.report.pages import entry_charts
from eval.report.pages import view as view_lib
from robust_tfds import conditions
from robust_tfds.conditions import Condition
from tests.eval.report.pages import boards


def _severity(board, place=0):
  charts = entry_charts.SeverityCharts(view_lib.View(board))
  return charts.chart(board.entries[place])


class SeverityTest(absltest.TestCase):
  def test_every_corruption_has_a_line_with_its_numbers(self):
    board = boards.classification(4)
    (chart,) = _severity(board)
    numbers = board.entries[0].cells
    for name in conditions.PICTURES.names():
      lines = chart.svg.partition(f"<title>{name.replace('_', ' ')}\n")[2]
      shown = lines.partition("</title>")[0].split("\n")
      self.assertLen(shown, 6)
      for level, text in enumerate(shown):
        error = numbers[Condition(name if level else "", level)]["error"]
        self.assertStartsWith(text, f"{level}: {100 * error.value:.4g} (")
      self.assertIn(f"{name.replace('_', ' ')} ", chart.label)
    self.assertIn("median of all models", chart.svg)
    self.assertIn("(extra)", chart.svg)

  def test_no_interval_no_band(self):
    cells = {
      Condition("fog", level): {"error": Number(level / 10)} for level in (1, 2)
    }
    (chart,) = _severity(boards.one(cells=cells))
    self.assertIn("<title>fog\n1: 10\n2: 20</title>", chart.svg)
    self.assertNotIn("fill-opacity", chart.svg)

  def test_one_entry_has_no_median(self):
    (chart,) = _severity(boards.classification(1))
    self.assertNotIn("median", chart.svg)

  def test_entries_share_the_axes_and_leave_nothing_behind(self):
    board = boards.classification(3)
    charts = entry_charts.SeverityCharts(view_lib.View(board))
    first, second, again = (
      charts.chart(board.entries[i])[0].svg for i in (0, 1, 0)
    )
    self.assertEqual(first, again)
    self.assertNotEqual(first, second)
    self.assertEqual(first.count("<title>"), second.count("<title>"))

  def test_nothing_to_draw(self):
    self.assertEmpty(_severity(boards.frames()))
    self.assertEmpty(_severity(boards.classification(0, printed=1)))


class PartsTest(absltest.TestCase):
  def test_metrics_of_many_parts(self):
    board = boards.frames()
    charts = entry_charts.part_charts(view_lib.View(board), board.entries[0])
    self.assertEqual(
      [chart.title for chart in charts],
      ["pm-10 by k", "Conditional accuracy by distance", "Error by offset"],
    )
