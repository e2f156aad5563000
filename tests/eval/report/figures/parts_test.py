"""The parts of figures: curves, networks, runs, printed rows, sheets."""

import math
import pathlib

import numpy as np
from absl.testing import absltest, parameterized
from etils import epath
from PIL import Image

from eval.papers import raw_results
from eval.report import figures
from eval.report.figures import base, drawing
from eval.report.figures.parts import (
  ap_curves,
  benchmark_scatter,
  own,
  picture_pairs,
  sheet,
  trainings,
)
from robust_tfds import errors
from robust_tfds.conditions import Condition
from tests import in_folder
from tests.eval.report.figures import boards


class _Figure(base.PaperFigure):
  def drawn(self, request):
    raise NotImplementedError


_FOLDERS = _Figure("taori_f8", "", needs_folders=("clean", "stylized"))


class PaperFigureTest(in_folder.TestCase):
  def test_a_figure_of_folders_asks_for_them(self):
    request = base.Request(clean=self.root, stylized=self.root)
    self.assertEqual(_FOLDERS.folders(request), [self.root, self.root])
    with self.assertRaisesRegex(errors.UserError, "missing: --stylized"):
      _FOLDERS.folders(base.Request(clean=self.root))
    request = base.Request(clean=self.root / "no", stylized=self.root)
    with self.assertRaisesRegex(errors.UserError, "--clean=.*no: no such"):
      _FOLDERS.folders(request)


class _Pictures(base.PaperFigure):
  def drawn(self, request):
    self.boards(request)
    raise NotImplementedError


_drawing_PICTURES = _Pictures(
  "taori_f7",
  "Pictures",
  "no paper prints them",
  tasks=("video",),
  needs_runs=True,
)


class DrawingTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path) / "new"
    self.said = []

  def draw(self, figures, **asked):
    request = base.Request(**asked)
    return drawing.draw(figures, request, self.folder, self.said.append)

  def test_runs_of_other_tasks_are_named(self):
    self.draw(figures.select("shankar_t5"), boards=[boards.board("video")])
    self.assertIn(
      "takes runs of frames; not used: made_up (video)", self.said[-1]
    )

  def test_one_that_cannot_be_drawn_is_refused(self):
    with self.assertRaisesRegex(errors.UserError, "no paper prints them"):
      self.draw([_drawing_PICTURES])

  def test_of_several_the_others_are_drawn(self):
    files = self.draw([_drawing_PICTURES, *figures.select("shankar_t5")])
    self.assertLen(files, 2)
    self.assertRegex(self.said[-1], "not drawn. .*no paper prints them")

  def test_none_of_several(self):
    with self.assertRaisesRegex(errors.UserError, "None of these figures"):
      self.draw([_drawing_PICTURES, _drawing_PICTURES])
    self.assertLen(self.said, 1)


class ApCurvesTest(absltest.TestCase):
  def test_the_mean_over_severities_is_the_printed_one(self):
    models = trainings.curve_models("coco_c")
    standard, stylized = ap_curves.raw_curves("coco_c", models)
    for curve, mpc in ((standard, 0.182), (stylized, 0.141)):
      values = [curve.numbers[s].value for s in (1, 2, 3, 4, 5)]
      self.assertAlmostEqual(np.mean(values), mpc, delta=5.1e-4)
    self.assertEqual((standard.place, stylized.place), (0, 1))
    cells = raw_results.cells("coco_c", models[0].file)
    (fog, _) = ap_curves.raw_curves("coco_c", models, "fog")
    self.assertEqual(fog.numbers[3].value, cells[Condition("fog", 3)])


class PointsTest(absltest.TestCase):
  def test_of_runs_an_interval_of_errors_turns_round(self):
    (model, *_) = own.from_boards([boards.normalised("classification")])
    (point,) = benchmark_scatter.run_points([model], ["mce"])
    self.assertEqual(point.number, model.number("mce"))
    self.assertAlmostEqual(point.accuracy.value, 0.7)
    self.assertAlmostEqual(point.accuracy.lo, 0.67)
    self.assertTrue(point.run)
    self.assertEmpty(benchmark_scatter.run_points([model], ["mfr"]))


class OwnTest(absltest.TestCase):
  def test_equal_labels_stay_apart(self):
    pair = [boards.board("video", run=r) for r in ("one", "two")]
    self.assertEqual(
      [m.label for m in own.from_boards(pair)],
      ["ours (one)", "base (one)", "ours (two)", "base (two)"],
    )
    same = [boards.board("video", run="one")] * 2
    self.assertLen({m.label for m in own.from_boards(same)}, 4)


class PairsTest(in_folder.TestCase):
  def folder(self, name: str, *files: str) -> epath.Path:
    for file in files:
      path = self.root / name / file
      path.parent.mkdir(parents=True, exist_ok=True)
      path.write_bytes(b"")
    return epath.Path(self.root / name)

  @parameterized.parameters(
    ("a.jpg", "a.jpg"),
    ("a.jpg", "a.png"),
    ("a.jpg", "a-stylized-monet.jpg"),
    ("train/a.jpg", "train/a-stylized-monet.jpg"),
    ("a.b.jpg", "a.b-stylized-1.2.jpg"),
    ("a-stylized-x.jpg", "a-stylized-x-stylized-y.jpg"),
  )
  def test_a_version_has_the_name(self, clean, stylized):
    ours, theirs = self.folder("in", clean), self.folder("out", stylized)
    pairs = picture_pairs.find_pairs(ours, theirs)
    pair = picture_pairs.Pair(clean, ours / clean, theirs / stylized)
    self.assertEqual(pairs, picture_pairs.Pairs([pair], 1))

  def test_those_without_a_version_are_counted(self):
    ours = self.folder("in", "a.jpg", "b.jpg", "c.jpg", "notes.txt")
    theirs = self.folder("out", "c.jpg", "a-stylized-1.jpg", "a-stylized-0.jpg")
    pairs = picture_pairs.find_pairs(ours, theirs)
    self.assertEqual(
      [(p.name, p.stylized.name) for p in pairs.listed],
      [("a.jpg", "a-stylized-0.jpg"), ("c.jpg", "c.jpg")],
    )
    self.assertEqual(pairs.clean, 3)

  def test_refusals(self):
    ours = self.folder("in", "a.jpg")
    for theirs, words in (
      (self.folder("out", "b.jpg", "x/a.jpg"), "None of the 1 pictures"),
      (self.root / "out" / ".." / "in", "name one folder"),
    ):
      with self.assertRaisesRegex(errors.UserError, words):
        picture_pairs.find_pairs(ours, epath.Path(theirs))

  def test_large_pictures_are_drawn_small(self):
    file = epath.Path(self.root / "a.png")
    Image.fromarray(np.zeros((600, 1200, 3), np.uint8)).save(file)
    drawn, size = picture_pairs.pixels(file)
    self.assertEqual((drawn.shape, size), ((240, 480, 3), (600, 1200)))


_COLUMNS = ("model", sheet.Column("error"), "source")


class SheetTest(absltest.TestCase):
  def write(self, *lines, columns=_COLUMNS):
    folder = pathlib.Path(self.create_tempdir().full_path)
    table = sheet.Sheet(columns, lines, "From a|b.")
    text = table.write_markdown(folder, "x", "Title_1")
    numbers = table.write_csv(folder, "x")
    return text.read_text("utf-8"), numbers.read_text("utf-8")

  def test_the_csv_has_fractions_and_the_table_percent(self):
    text, numbers = self.write(["a_b", 0.12345, "printed"])
    self.assertEqual(numbers, "model,error,source\na_b,0.12345,printed\n")
    self.assertIn("| a\\_b | 12.3 | printed |", text)
    self.assertIn("# Title\\_1\n", text)
    self.assertIn("From a\\|b.", text)

  def test_absent_numbers(self):
    text, numbers = self.write(["a", None, "x"], ["b", math.nan, "x"])
    self.assertEqual(numbers, "model,error,source\na,,x\nb,,x\n")
    self.assertIn("| a | - | x |", text)

  def test_text_is_no_formula_and_no_html(self):
    text, numbers = self.write(["=1+1<b>", 0.5, "x"])
    self.assertIn("\n'=1+1<b>,", numbers)
    self.assertNotIn("<b>", text)


class TrainingsTest(parameterized.TestCase):
  @parameterized.parameters(
    ("pascal_c", "stylized"),
    ("coco_c", "combined"),
    ("cityscapes_c", "combined"),
  )
  def test_one_is_absent(self, dataset, training):
    models = trainings.curve_models(dataset)
    self.assertLen(models, 3)
    for model in models:
      public = bool(raw_results.cells(dataset, model.file))
      self.assertEqual(public, bool(model.file))
    (absent,) = ap_curves.absent_curves(dataset, models)
    self.assertEqual(absent.label, f"trained on {training} data")
    self.assertIn("Table 2", absent.source)
