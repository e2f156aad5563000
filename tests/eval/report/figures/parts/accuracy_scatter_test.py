"""Points of printed networks and of runs."""

from absl.testing import absltest

from robust_tfds.eval import papers
from robust_tfds.eval.cells.number import Number
from robust_tfds.eval.report.figures.parts import accuracy_scatter, own
from tests.eval.report.figures import boards

_TITLES = {"mce": "mCE", "relative_mce": "relative mCE"}


class PointsTest(absltest.TestCase):
  def test_printed(self):
    networks = papers.printed_networks("imagenet_c")
    points = accuracy_scatter.printed(networks, list(_TITLES))
    self.assertLen(points, 2 * 7)
    (resnet,) = (
      p for p in points if (p.network, p.metric) == ("ResNet-50", "mce")
    )
    self.assertAlmostEqual(resnet.accuracy.value, 0.761)
    self.assertEqual(resnet.number.value, 0.767)
    self.assertIn("Table 1", resnet.source)

  def test_of_runs_an_interval_of_errors_turns_round(self):
    board = boards.normalised("classification")
    (model, *_) = own.of([board])
    (point,) = accuracy_scatter.runs([model], ["mce"])
    error, mean = model.number("clean_error"), model.number("mce")
    self.assertEqual(point.number, mean)
    self.assertAlmostEqual(point.accuracy.value, 1 - error.value)
    if error.hi is not None:
      self.assertAlmostEqual(point.accuracy.lo, 1 - error.hi)
    self.assertTrue(point.run)
    self.assertEmpty(accuracy_scatter.runs([model], ["mfr"]))

  def test_lines_of_the_csv_have_all_columns(self):
    point = accuracy_scatter.Point(
      "net", "mce", Number(0.7), Number(0.8, 0.7, 0.9), "a paper"
    )
    self.assertEqual(
      point.line(), ["net", "mce", 0.7, 0.8, 0.7, 0.9, "a paper"]
    )
    self.assertLen(point.line(), len(accuracy_scatter.COLUMNS))

  def test_drawn(self):
    networks = papers.printed_networks("imagenet_c")
    points = accuracy_scatter.printed(networks, list(_TITLES))
    points += accuracy_scatter.runs(
      own.of([boards.normalised("classification")]), list(_TITLES)
    )
    panel = accuracy_scatter.panel(points, _TITLES, "mean")
    names = [p.name for p in panel.points if p.name]
    self.assertCountEqual(names, {p.network for p in points})
    labels = dict.fromkeys(p.label for p in panel.points if p.label)
    self.assertEqual(list(labels), list(_TITLES.values()))


if __name__ == "__main__":
  absltest.main()
