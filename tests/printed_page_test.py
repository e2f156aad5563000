"""Pages with printed numbers say what `eval/papers` holds."""

from absl.testing import parameterized

from eval import papers
from eval.metrics import trend
from tools import printed_page


class PrintedPageTest(parameterized.TestCase):
  def test_the_page_is_of_these_numbers(self):
    self.assertEqual(
      printed_page.FILE.read_text("utf-8"),
      printed_page.text(),
      "run python -m tools.printed_page",
    )

  def test_every_doubt_has_a_row(self):
    text = printed_page.text()
    for doubt in papers.doubts():
      self.assertIn(f"| {doubt.words} |\n", text)

  @parameterized.parameters("imagenet_vid_robust", "ytbb_robust")
  def test_lines_of_natural_videos(self, dataset):
    page = printed_page.ROOT / "docs" / "VIDEO.md"
    text = " ".join(page.read_text("utf-8").split())
    points = papers.testbed(dataset).values()
    line = trend.fit(*zip(*points))
    self.assertIn(f"{_slope(line)} and", text)
    self.assertIn(f"{100 * line.intercept:.1f} %", text)
    listed = papers.networks(dataset, "acc_orig", "acc_pmk").values()
    self.assertIn(_slope(trend.fit(*zip(*listed))), text)


def _slope(line):
  lo, hi = line.slope_interval
  return f"{line.slope:.3f} [{lo:.3f}, {hi:.3f}]"
