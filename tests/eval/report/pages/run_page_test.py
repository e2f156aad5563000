"""The page of a run: what comes first, what the reports wrote, by the site's parts."""

import dataclasses
import re

from eval.charts import pictures
from eval.report import reports
from eval.report.pages import run_page
from eval.report.reports import base
from tests import in_folder
from tests.eval.report.pages import html_check
from tests.eval.report.reports import contexts


class _Drawing(base.Chart):
  """A figure that is written, and one that is not."""

  caption, reading, shows = "Here <it> is", "Read <it>.", "A <line>"

  def __init__(self, stem):
    self.stem = stem

  def draw(self, context):
    return None


class HtmlTest(in_folder.TestCase):
  def _page(self, context, *listed) -> str:
    (path,) = run_page.write(context, listed, self.root)
    self.assertEqual(path, self.root / "report.html")
    text = path.read_text("utf-8")
    self.assertEmpty(html_check.Page(text, images=True).faults)
    return text

  def test_figures_and_provenance(self):
    svg = "<svg width='9pt'><g><title>a &amp; b</title></g></svg>"
    (self.root / "there.svg").write_text(svg)
    context = contexts.of_task("classification", provenance=["seed <0>"])
    page = self._page(context, _Drawing("there"), _Drawing("absent"))
    self.assertIn('aria-label="A &lt;line&gt;: ours, base."', page)
    self.assertIn("<title>a &amp; b</title>", page)
    self.assertEqual(page.count("Read &lt;it&gt;."), 1)
    self.assertIn("seed &lt;0&gt;", page)

  def test_verdict_picture_and_intervals_come_first(self):
    context = contexts.of_task("classification")
    page = self._page(context)
    start, _, _ = page.partition("<nav")
    text = html_check.Page(page, images=True).text
    for sentence in context.verdict:
      self.assertIn(sentence, text)
    self.assertIn("data:image/png", start)
    error = next(r for r in context.rows if r.metric == "clean_error")
    ends = f"{100 * error.lo:.1f}–{100 * error.hi:.1f}"
    self.assertIn(f"{100 * error.value:.1f}<i>{ends}</i>", start)

  def test_the_first_picture_is_clean_then_the_worst(self):
    context = contexts.of_task("classification", names=("fog", "snow"))
    start, _, _ = self._page(context).partition("<nav")
    cells = {
      (r.corruption, r.severity): r.value
      for r in context.rows
      if r.model == "ours" and (r.corruption, r.severity) in context.samples
    }
    name, level = max((k for k in cells if k[0]), key=cells.get)
    clean, worst, *_ = re.findall('alt="The example, (.*?); ours: Error', start)
    self.assertEqual([clean, worst], ["clean", f"{name} {level}"])

  def test_boxes_stand_in_their_pictures(self):
    context = contexts.of_task("detection")
    folder = self.root
    reports.write_all(context, folder)
    page = (folder / "report.html").read_text("utf-8")
    self.assertIn('<rect class="missed" x="1.0" y="1.0"', page)
    self.assertIn("M dog</text>", page)
    self.assertIn("fog 3, 1 hit, 1 missed, 1 false", page)

  def test_a_number_that_no_model_has_is_noted_and_has_no_column(self):
    context = contexts.of_task("classification", models=("m",))
    row = next(r for r in context.rows if r.metric == "clean_error")
    none = dataclasses.replace(
      row, metric="mean_corruption_error", value=float("nan"), note="lacks fog"
    )
    page = self._page(dataclasses.replace(context, notes=[none]))
    self.assertNotIn('data-k="mean_corruption_error"', page)
    self.assertIn("Mean error (common) of m: lacks fog.", page)

  def test_pictures_beyond_the_first_are_folded(self):
    class Many(base.Pictures):
      stem, caption, reading = "many", "Many", "Of {model}."
      side = 1.0

      def lines(self, context):
        sample = context.samples["", 0]
        return [
          pictures.Line([pictures.Picture(sample)], f"line {i}")
          for i in range(6)
        ]

    (self.root / "many.svg").write_text("")
    page = self._page(contexts.of_task("classification"), Many())
    section = page[page.index('id="many"') :].partition("</section>")[0]
    shown, _, folded = section.partition("<details>")
    self.assertEqual([shown.count("line "), folded.count("line ")], [8, 4])
    self.assertIn("Of ours.", shown)
