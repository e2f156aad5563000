"""Points and lines of Figure 3 of Shankar et al."""

import dataclasses

from absl.testing import absltest

from eval.report.figures import base
from eval.report.figures.parts import own
from eval.report.figures.shankar import f3
from tests.eval.report.figures import boards, lines

_SET = "imagenet_vid_robust"


class Figure3Test(absltest.TestCase):
  def test_the_published_slopes(self):
    """docs/VIDEO.md, recomputed with scipy."""
    rows = {r.metric: r for r in f3.line_rows(_SET, {})}
    slope = rows["published_trend_slope"]
    self.assertEqual(slope.n, 78)
    self.assertAlmostEqual(slope.value, 1.207, delta=5e-4)
    self.assertAlmostEqual(slope.lo, 1.153, delta=1e-3)
    self.assertAlmostEqual(rows["paper_trend_slope"].value, 1.024, delta=5e-4)
    self.assertNotIn("trend_slope", rows)

  def test_own_line_from_three_models(self):
    points = {"a": (0.2, 0.1), "b": (0.4, 0.3), "c": (0.6, 0.5)}
    rows = {r.metric: r for r in f3.line_rows(_SET, points)}
    self.assertAlmostEqual(rows["trend_slope"].value, 1)
    self.assertAlmostEqual(rows["trend_intercept"].value, -0.1)

  def test_a_run_without_one_of_the_numbers_is_no_point(self):
    whole = boards.beside(boards.board("frames"), _SET)
    first, *others = whole.entries
    numbers = {k: n for k, n in first.numbers.items() if "acc_pmk" not in k}
    part = dataclasses.replace(first, numbers=numbers)
    board = dataclasses.replace(whole, entries=[part, *others])
    listed = lines.of("shankar_f3", base.Request(boards=[board]))
    sources = [line["model"] for line in listed if "own" in line["source"]]
    self.assertEqual(sources, [other.label for other in others])

  def test_networks_and_own_points(self):
    lines_of = lines.of("shankar_f3")
    self.assertLen(lines_of, 335 + 45)
    names = [line["model"] for line in lines_of]
    self.assertIn("resnet152_finetuned, printed", names)
    self.assertIn("resnet50_detection, doubtful, printed", names)
    models = own.from_boards([boards.board("frames"), boards.board("video")])
    points = f3.own_points(models)
    self.assertLen(points, 2)
