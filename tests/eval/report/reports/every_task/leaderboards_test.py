"""The leaderboards and the summary: what is bold, escaped and printed."""

from eval.report.reports.every_task import (
  compare_published,
  leaderboard_latex,
  leaderboard_markdown,
  summary,
  throughput,
)
from eval.tables import pivot, writers
from tests import in_folder
from tests.eval.report.reports import contexts


class LeaderboardsTest(in_folder.TestCase):
  def test_the_best_is_bold_in_percent(self):
    context = contexts.of_task("classification")
    text = leaderboard_markdown.LeaderboardMarkdown().text(context)
    errors = pivot.headline_columns(context)[0].numbers
    self.assertIn(f"**{100 * min(errors):.1f}**", text)
    self.assertNotIn(f"**{100 * max(errors):.1f}**", text)
    self.assertIn("## CE of the extra corruptions (never in mCE)", text)

  def test_of_one_model_nothing_is_bold(self):
    context = contexts.of_task("classification", models=("alone",))
    markdown = leaderboard_markdown.LeaderboardMarkdown().text(context)
    self.assertNotIn("**", markdown)
    latex = leaderboard_latex.LeaderboardLatex().text(context)
    self.assertNotIn("\\textbf", latex)

  def test_latex_escapes(self):
    escaped = writers.escape_latex("50%_\\")
    self.assertEqual(escaped, "50\\%\\_\\textbackslash{}")

  def test_latex_says_the_metric_where_there_are_several(self):
    report = leaderboard_latex.LeaderboardLatex()
    text = report.text(contexts.of_task("sequences"))
    self.assertIn("\\rotatebox{90}{tilt, FR}", text)
    text = report.text(contexts.of_task("classification"))
    self.assertIn("\\rotatebox{90}{fog}", text)

  def test_summary_names_missing_corruptions(self):
    names = ("fog", "snow", "spatter")
    text = summary.Summary().text(
      contexts.of_task("classification", names=names)
    )
    self.assertIn("No mCE: the run lacks gaussian_noise", text)
    self.assertIn("digits_c: 2 model(s), rates in %", text)

  def test_published_numbers_beside_ours(self):
    context = contexts.of_task(
      "classification",
      published={"ours": {"clean_error": 0.95, "source": "a paper"}},
    )
    ours = pivot.headline(context, "ours", "clean_error")
    text = compare_published.ComparePublished().text(context)
    difference = f"{100 * (ours - 0.95):.1f}"
    self.assertIn(
      f"| ours | clean\\_error | 95.0 | {100 * ours:.1f} | {difference} |"
      " a paper |",
      text,
    )

  def test_published_numbers_of_every_perturbation(self):
    context = contexts.of_task("sequences")
    text = compare_published.ComparePublished().text(context)
    self.assertIn("| ours | fr, tilt | 50.0 |", text)

  def test_an_empty_name_is_the_whole_benchmark(self):
    published = {"ours": {"gamma_r": {"": 0.5, "jumbling": 0.6}}}
    context = contexts.of_task("video", published=published)
    ours = pivot.headline(context, "ours", "gamma_r")
    text = compare_published.ComparePublished().text(context)
    self.assertIn(f"| ours | gamma\\_r | 50.0 | {100 * ours:.1f} |", text)
    self.assertIn("| ours | gamma\\_r, jumbling | 60.0 |", text)

  def test_nothing_published_nothing_timed(self):
    context = contexts.of_task("video")
    self.assertEmpty(
      compare_published.ComparePublished().write(context, self.root)
    )
    self.assertEmpty(throughput.Throughput().write(context, self.root))

  def test_throughput_says_which_side_is_slow(self):
    timing = {"rate": 2.0, "images": 10.0, "waited_s": 4.0, "wall_s": 5.0}
    context = contexts.of_task("video", timing=timing)
    text = throughput.Throughput().text(context)
    self.assertIn("Input-bound: 80 % of the time", text)
    self.assertIn("| images/s, without compilation | 2.0 |", text)

  def test_throughput_reads_examples_and_shows_images(self):
    timing = {"rate": 2.0, "images": 10.0, "waited_s": 0.0, "wall_s": 5.0}
    timing |= {"input_rate": 3.0, "device_rate": 40.0, "idle_share": 0.125}
    context = contexts.of_task("video", timing=timing)
    text = throughput.Throughput().text(context)
    self.assertIn("| reading alone | 3.0 examples/s |", text)
    self.assertIn("| devices alone | 40.0 images/s |", text)
    self.assertIn("| devices idle after the first block | 12.5 % ", text)
