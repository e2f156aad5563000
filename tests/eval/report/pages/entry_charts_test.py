"""Charts of an entry's page: which lines they have, and where these lie."""

from absl.testing import absltest

from eval.cells.number import Number
from eval.metrics.calibration import Bins
from eval.report.pages import entry_charts
from eval.report.pages import view as view_lib
from robust_tfds import conditions
from robust_tfds.conditions import Condition
from tests.eval.report.pages import boards

_ONE = Bins([10, 0, 30], [0.2, None, 0.9], [0.1, None, 0.5])
_OTHER = Bins([30, 5, 10], [0.3, 0.5, 0.8], [0.3, 0.4, 0.9])


def _severity(board, place=0):
  return entry_charts.severity_chart(view_lib.View(board), board.entries[place])


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


class ReliabilityTest(absltest.TestCase):
  def test_clean_and_every_level_without_extra_corruptions(self):
    cells = {
      Condition(): _ONE,
      Condition("fog", 2): _ONE,
      Condition("snow", 2): _OTHER,
      Condition("spatter", 2): _OTHER,
      Condition("fog", 5): _OTHER,
    }
    (chart,) = entry_charts.reliability_chart(cells, conditions.PICTURES)
    for text in (
      "clean: ECE 32.5 %, n = 40",
      # (40 x 0.025 + 5 x 0.1 + 40 x 0.275) / 85, over the bins of both.
      "severity 2: ECE 14.7 %, n = 85",
      "severity 5: ",
    ):
      self.assertIn(f"<title>{text}", chart.svg)
    self.assertNotIn("severity 1", chart.svg)

  def test_points_are_at_the_accuracies(self):
    cells = {Condition(): _ONE}
    (chart,) = entry_charts.reliability_chart(cells, conditions.PICTURES)
    self.assertIn("\n20: 10\n90: 50</title>", chart.svg)

  def test_nothing_known(self):
    empty = {Condition(): Bins([0], [None], [None])}
    for cells in ({}, empty):
      self.assertEmpty(
        entry_charts.reliability_chart(cells, conditions.PICTURES)
      )
