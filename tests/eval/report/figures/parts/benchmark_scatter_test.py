"""Points of printed networks and of runs, as they are drawn."""

from absl.testing import absltest

from eval.cells.number import Number
from eval.report.figures.parts import benchmark_scatter, own
from tests.eval.report.figures import boards

_TITLES = {"mce": "mCE", "relative_mce": "relative mCE"}


class PointsTest(absltest.TestCase):
  def test_of_runs_an_interval_of_errors_turns_round(self):
    (model, *_) = own.from_boards([boards.normalised("classification")])
    (point,) = benchmark_scatter.run_points([model], ["mce"])
    self.assertEqual(point.number, model.number("mce"))
    self.assertAlmostEqual(point.accuracy.value, 0.7)
    self.assertAlmostEqual(point.accuracy.lo, 0.67)
    self.assertTrue(point.run)
    self.assertEmpty(benchmark_scatter.run_points([model], ["mfr"]))

  def test_drawn(self):
    """A network of two means is named once; only printed ones are in the legend."""
    numbers = Number(0.7), Number(0.8, 0.7, 0.9)
    points = [
      benchmark_scatter.Point("net", metric, *numbers, "a paper")
      for metric in _TITLES
    ]
    points += benchmark_scatter.run_points(
      own.from_boards([boards.normalised("classification")]), list(_TITLES)
    )
    panel = benchmark_scatter.panel(points, _TITLES, "mean")
    names = [p.name for p in panel.points if p.name]
    self.assertCountEqual(names, ["net", "ours", "base"])
    labels = dict.fromkeys(p.label for p in panel.points if p.label)
    self.assertEqual(list(labels), list(_TITLES.values()))
