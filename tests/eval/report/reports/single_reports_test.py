"""Single reports: what each draws and says."""

import dataclasses
from unittest import mock

import numpy as np
from absl.testing import absltest, parameterized

from eval.metrics import calibration
from eval.report.reports import classification, reliability
from eval.report.reports.classification import cells, photographs
from eval.report.reports.detection import cells as detection_cells
from eval.report.reports.every_task import (
  compare_published,
  leaderboard_latex,
  leaderboard_markdown,
  summary,
)
from eval.report.reports.frames import tables
from eval.report.reports.sequences import cells as sequences_cells
from eval.report.reports.sequences import strips
from eval.report.reports.video import confusion
from eval.tables import breakdowns, pivot
from eval.tables import numbers as numbers_lib
from robust_tfds import conditions
from tests import in_folder
from tests.eval.report.reports import contexts


class CellsTest(absltest.TestCase):
  def test_every_cell_with_its_interval(self):
    context = contexts.of_task("classification", names=("fog",))
    row = pivot.row(context, "ours", metric="error", config="fog_3")
    numbers = [numbers_lib.percent(n) for n in (row.value, row.lo, row.hi)]
    text = cells.Cells().text(context)
    self.assertIn(f"{numbers[0]} ({numbers[1]}–{numbers[2]})", text)
    self.assertIn("| Corruption | 1 | 2 | 3 | 4 | 5 |", text)
    self.assertIn(", n = 100", text)


class PhotographsTest(in_folder.TestCase):
  def test_pictures_and_words(self):
    picture = np.zeros((8, 8, 3), np.uint8)
    said = [(picture, "daisy 90%"), (picture, "honeycomb 20%")]
    report = photographs.Photographs()
    context = contexts.of_task("classification", gallery={"a flower": said})
    report.write(context, self.root)
    text = (self.root / "photographs.md").read_text("utf-8")
    self.assertEqual(text, "a flower: daisy 90% · honeycomb 20%\n")
    (line,) = report.page_chart(context).lines
    self.assertEqual([p.caption for p in line.pictures], [w for _, w in said])


class DetectionCellsTest(absltest.TestCase):
  def test_a_table_a_kind_of_ap(self):
    context = contexts.of_task("detection", names=("fog",), models=("ours",))
    text = detection_cells.Cells().text(context)
    self.assertIn("## ours, bbox/AP50", text)
    self.assertNotIn("bbox/APs", text)
    clean = pivot.value(context, "ours", config="clean", metric="bbox/AP")
    self.assertIn(f"Clean: {numbers_lib.percent(clean)}", text)


class TablesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.context = contexts.of_task("frames")
    self.text = tables.Tables().text(self.context)

  def test_the_papers_models_stand_beside_ours(self):
    self.assertIn("| Model | pm-0 | pm-10 | Drop |", self.text)
    self.assertIn("| **ours** |", self.text)
    self.assertIn(
      "| c\\_d, printed | 50.0 [40.0, 60.0] | 40.0 [30.0, 50.0] | 10.0 |",
      self.text,
    )
    self.assertNotIn("| a |", self.text)  # of the testbed: in the figure

  def test_breakdowns_and_review(self):
    orig = breakdowns.row(self.context, "ours", "acc_orig/class=0")
    percent = numbers_lib.percent(orig.value)
    self.assertIn("## By class: ours", self.text)
    self.assertIn(f"| cat 0 | 20 | {percent} [", self.text)
    self.assertIn("| ours | all frames of all anchors |", self.text)

  def test_lines(self):
    self.assertIn(
      "| testbed's standard models | 9 | 0.900 [0.860, 0.950] |", self.text
    )
    self.assertIn("| this run | 9 |", self.text)
    self.assertNotIn("paper's table", self.text)


def _bins(seed: int, n: int = 50) -> calibration.Bins:
  rng = np.random.default_rng(seed)
  score = rng.beta(4, 2, n)
  return calibration.reliability(score, rng.random(n) < score)


def _context(task="classification", left_out=(), names=None):
  context = contexts.of_task(task)
  family = context.family
  names = family.names("common") if names is None else names
  cells = [conditions.Condition()]
  cells += [family.condition(n, s) for n in names for s in (1, 2)]
  known = {
    (model, c.name, c.level): _bins(i)
    for model in context.models
    for i, c in enumerate(cells)
    if c.config not in left_out
  }
  return dataclasses.replace(
    context, corruptions=tuple(names), reliability=known
  )


class PanelsTest(parameterized.TestCase):
  def test_clean_and_severities(self):
    context = _context()
    clean, one, two = reliability.panels(context, "ours")
    self.assertEqual(clean.title, "clean")
    self.assertEqual(one.title, "severity 1, 15 corruptions")
    self.assertEqual(two.title, "severity 2, 15 corruptions")
    self.assertEqual(sum(clean.bins.count), 50)
    self.assertEqual(sum(one.bins.count), 15 * 50)
    self.assertTrue(clean.bins.lo)
    self.assertFalse(one.bins.lo)  # the same pictures 15 times

  def test_what_is_missing_is_said(self):
    context = _context(left_out=("fog_1",))
    _, one, two = reliability.panels(context, "ours")
    self.assertEqual(one.title, "severity 1, 14 of 15 corruptions")
    self.assertEqual(two.title, "severity 2, 15 corruptions")
    context = _context(names=("fog", "snow"))
    _, one, _ = reliability.panels(context, "ours")
    self.assertEqual(one.title, "severity 1, 2 of 15 corruptions")

  def test_extra_corruptions_are_in_none(self):
    context = _context(names=("fog", "speckle_noise"))
    _, one, _ = reliability.panels(context, "ours")
    self.assertEqual(sum(one.bins.count), 50)
    context = _context(names=("speckle_noise",))
    self.assertLen(reliability.panels(context, "ours"), 1)


class ReliabilityTest(parameterized.TestCase):
  def test_only_models_with_scores_are_drawn(self):
    context = _context()
    known = {k: v for k, v in context.reliability.items() if k[0] == "base"}
    report = reliability.Reliability()
    figure = report.draw(dataclasses.replace(context, reliability=known))
    labels = {ax.get_ylabel() for ax in figure.axes}
    self.assertIn("base\naccuracy (%)", labels)
    self.assertNotIn("ours\naccuracy (%)", labels)
    nothing = dataclasses.replace(context, reliability={})
    self.assertIsNone(report.draw(nothing))


class SequenceCellsTest(absltest.TestCase):
  def test_a_line_a_difficulty(self):
    context = contexts.of_task("sequences", names=("tilt",), models=("ours",))
    text = sequences_cells.Cells().text(context)
    self.assertIn(
      "Difficulty | FP (%) | FR (%) | uT5D | T5D (%) | Zipf | n |", text
    )
    lines = [x for x in text.splitlines() if x.startswith("| tilt")]
    self.assertLen(lines, 3)
    self.assertStartsWith(lines[2], "| tilt | 3 | ")
    self.assertEndsWith(lines[2], " | 40 |")


class SeverityCurvesTest(absltest.TestCase):
  def test_panels_and_their_clean_number(self):
    context = contexts.of_task("classification", names=("fog", "speckle_noise"))
    figure = classification.REPORTS["severity_curves"].draw(context)
    fog, extra = figure.axes
    self.assertEqual(fog.get_title(loc="left"), "fog\nweather")
    self.assertEqual(extra.get_title(loc="left"), "speckle noise\nnoise, extra")
    line = fog.lines[0]
    clean = context.rows_of["ours", "error"][0]
    self.assertEqual(line.get_xdata()[0], 0)
    self.assertAlmostEqual(line.get_ydata()[0], 100 * clean.value)

  def test_a_corruption_of_ones_own_is_no_extra_one(self):
    context = contexts.of_task("classification", names=("fog",))
    own = dataclasses.replace(context.family.row("fog"), set="own")
    with mock.patch.object(type(context.family), "row", return_value=own):
      figure = classification.REPORTS["severity_curves"].draw(context)
    self.assertEqual(figure.axes[0].get_title(loc="left"), "fog\nweather")
    context = dataclasses.replace(
      context, corruptions=("speckle_noise",), family=context.family
    )
    own = dataclasses.replace(own, name="speckle_noise", group="digital")
    with mock.patch.object(type(context.family), "row", return_value=own):
      figure = classification.REPORTS["severity_curves"].draw(context)
    heading = figure.axes[0].get_title(loc="left")
    self.assertEndsWith(heading, "digital, own")


_RIGHT = np.array([[0, 0], [1, 1], [2, 2]])


_WRONG = np.array([[0, 1], [1, 1], [2, 2]])


class ConfusionTest(absltest.TestCase):
  def test_of_a_group_the_worst_cell(self):
    context = contexts.of_task(
      "video",
      models=("ours",),
      names=("gaussian_noise", "shot_noise"),
      confusions={
        ("ours", "", 0): _RIGHT,
        ("ours", "gaussian_noise", 1): _RIGHT,
        ("ours", "shot_noise", 5): _WRONG,
      },
    )
    text = confusion.Confusion().text(context)
    self.assertIn("## ours, shot noise 5", text)
    self.assertNotIn("gaussian noise", text)
    self.assertIn("| cat\\_0 | dog | 100.0 | 0.0 |", text)


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

  def test_nothing_published(self):
    context = contexts.of_task("video")
    self.assertEmpty(
      compare_published.ComparePublished().write(context, self.root)
    )


class StripsTest(parameterized.TestCase):
  @parameterized.parameters(("tilt", 2), ("gaussian_noise", 6))
  def test_flips_are_from_the_frame_before_and_in_noise_from_the_first(
    self, name, flips
  ):
    # 3 frames of class 0, 6 of class 1, 3 of class 0 again.
    top5 = np.repeat([[0], [1], [0]], [3, 6, 3], axis=0) + np.zeros(5, int)
    context = contexts.of_task(
      "sequences",
      models=("ours",),
      names=(name,),
      predicted={("ours", name, 1): top5},
    )
    (line,) = strips.Strips().lines(context)
    self.assertEqual(line.note, f"ours {flips} of 11")
