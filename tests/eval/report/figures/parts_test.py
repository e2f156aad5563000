"""The parts of figures: curves, networks, runs, printed rows, sheets."""

import dataclasses
import math
import pathlib

import numpy as np
from absl.testing import absltest, parameterized
from etils import epath
from PIL import Image

from eval.cells.number import Number
from eval.papers import raw_results
from eval.report import figures
from eval.report.figures import base, drawing
from eval.report.figures.parts import (
  ap_curves,
  benchmark_scatter,
  gammas,
  networks,
  own,
  own_clip,
  picture_pairs,
  printed,
  redrawn,
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


_FIGURE = _Figure("taori_f7", "Something", "somewhere", tasks=("video",))
_base_PICTURES = dataclasses.replace(_FIGURE, needs_runs=True)
_FOLDERS = _Figure("taori_f8", "", needs_folders=("clean", "stylized"))


class PaperFigureTest(in_folder.TestCase):
  def test_a_name_is_the_paper_and_the_number(self):
    self.assertEqual(_FIGURE.stem, "f7")

  def test_status_in_words(self):
    self.assertEqual(_FIGURE.status, "printed; RUNs of video added")
    self.assertEqual(_base_PICTURES.status, "needs a RUN of video")
    self.assertEqual(_FOLDERS.status, "needs --clean and --stylized")

  def test_boards_of_its_tasks_are_taken_and_others_named(self):
    video, other = boards.board("video"), boards.board("frames")
    request = base.Request(boards=[other, video])
    self.assertEqual(_FIGURE.boards(request), [video])
    self.assertEqual(_FIGURE.unused(request), [other])

  def test_a_figure_of_runs_alone_asks_for_one(self):
    self.assertEmpty(_FIGURE.boards(base.Request()))
    request = base.Request(boards=[boards.board("frames")])
    with self.assertRaisesRegex(errors.UserError, "task video, and none was"):
      _base_PICTURES.boards(request)

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

  def test_files_are_named(self):
    files = self.draw(figures.select("shankar_t5"))
    self.assertTrue(all(f.exists() for f in files))
    self.assertEqual(self.said, ["shankar_t5: shankar_t5.md, shankar_t5.csv"])

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

  def test_a_request_without_runs(self):
    asked = base.Request(condition="jpeg_5")
    self.assertEqual(drawing.add_runs(asked, []), asked)


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

  def test_an_absent_curve_has_what_is_printed(self):
    (absent,) = ap_curves.absent_curves(
      "coco_c", trainings.curve_models("coco_c")
    )
    self.assertAlmostEqual(absent.numbers[0].value, 0.346)
    self.assertAlmostEqual(absent.mpc, 0.204)
    self.assertIn("combined", ap_curves.remark([absent]))
    self.assertEqual(ap_curves.remark([]), "")
    clean, mean = absent.lines("coco_c", ap_curves.MEAN)
    self.assertEqual((clean[2], mean[2]), (0, "1-5"))

  def test_a_run_has_the_severities_that_it_has(self):
    board = boards.board("detection")
    cells = board.entries[0].cells
    cells.clear()
    number = Number(0.25, 0.2, 0.3)
    cells[Condition()] = {"bbox/AP": number, "bbox/AP50": number}
    cells[Condition("fog", 2)] = {"bbox/AP": number}
    model = own.from_boards([board])[0]
    self.assertEqual(ap_curves.main_metric(model), "bbox/AP")
    curve = ap_curves.run_curve(model, 3, "fog")
    self.assertEqual(list(curve.numbers), [0, 2])
    self.assertEqual(curve.numbers[2], number)
    self.assertEqual(list(ap_curves.run_curve(model, 3).numbers), [0])
    (line, _) = curve.lines("coco_c", "fog")
    self.assertEqual(
      line[:7], ["coco_c", "fog", 0, model.label, 0.25, 0.2, 0.3]
    )


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


class GammasTest(parameterized.TestCase):
  @parameterized.parameters(
    ("kinetics400_p", "R3D I3D SF X3D TF MViT"),
    ("ssv2_p", "I3D SF X3D TF"),
    (
      "ucf101_p",
      "R3D-S R3D-P I3D-S I3D-P SF-S SF-P X3D-S X3D-P MViT-S MViT-P TF-P",
    ),
  )
  def test_labels_are_the_papers(self, dataset, labels):
    listed = gammas.printed_networks(dataset)
    self.assertEqual([n.label for n in listed], labels.split())

  def test_a_printed_number(self):
    network = gammas.printed_networks("kinetics400_p")[0]
    self.assertEqual(network.value(*gammas.metric_key("gamma_r", "jpeg")), 0.91)
    self.assertEqual(
      network.value(*gammas.metric_key("gamma_a", "noise")), 0.71
    )
    # Table 2's Mean.
    self.assertAlmostEqual(
      gammas.group_mean(network, "gamma_a"), 0.85, delta=0.01
    )

  def test_of_runs(self):
    added = own.from_boards([boards.board("video"), boards.board("frames")])
    listed = gammas.run_networks(added)
    self.assertLen(listed, 2)
    number = added[0].number("gamma_r", "jumbling")
    self.assertEqual(listed[0].numbers["gamma_r", "jumbling"], number)
    self.assertIn(gammas.metric_key("gamma_a", "noise"), listed[0].numbers)

  def test_all_perturbations_in_order(self):
    names = gammas.names()
    self.assertLen(names, 18)
    self.assertEqual(names[0], ("noise", "gaussian_noise"))


_CE = ("ce", "shot_noise")


class NetworksTest(absltest.TestCase):
  def test_printed(self):
    rows = printed.table("hendrycks2019", "figure5")
    resnet, *_ = networks.printed(rows)
    self.assertEqual((resnet.label, resnet.value(*_CE)), ("ResNet-50", 0.816))
    self.assertEqual(resnet.source, rows[0].source)
    self.assertTrue(math.isnan(resnet.value("mce", "")))
    line = ["ResNet-50", *_CE, 0.816, None, None, "printed"]
    self.assertIn(line, networks.printed(rows, "printed")[0].lines())

  def test_of_runs_those_that_have_a_number(self):
    models = own.from_boards([boards.normalised("classification")])
    ours, base = networks.from_runs(models, [_CE, ("fr", "tilt")])
    self.assertEqual(ours.numbers, {_CE: models[0].number(*_CE)})
    self.assertEqual(base.source, models[1].source)
    self.assertEmpty(networks.from_runs(models, [("fr", "tilt")]))


class OwnClipTest(absltest.TestCase):
  def test_it_moves_and_is_the_same_every_time(self):
    clip = own_clip.frames(5, 32)
    self.assertEqual((clip.shape, clip.dtype), ((5, 32, 32, 3), np.uint8))
    np.testing.assert_array_equal(clip, own_clip.frames(5, 32))
    for one, next_one in zip(clip, clip[1:]):
      self.assertGreater(np.abs(one.astype(int) - next_one).mean(), 1)

  def test_one_frame(self):
    self.assertLen(own_clip.frames(1), 1)


class OwnTest(absltest.TestCase):
  def test_labels(self):
    models = own.from_boards([boards.board("video")])
    self.assertEqual([m.label for m in models], ["ours", "base"])
    self.assertEqual(models[0].source, "own run made_up, digits_c")

  def test_equal_labels_stay_apart(self):
    pair = [boards.board("video", run=r) for r in ("one", "two")]
    self.assertEqual(
      [m.label for m in own.from_boards(pair)],
      ["ours (one)", "base (one)", "ours (two)", "base (two)"],
    )
    same = [boards.board("video", run="one")] * 2
    self.assertLen({m.label for m in own.from_boards(same)}, 4)

  def test_numbers(self):
    model = own.from_boards([boards.board("video")])[0]
    whole = model.number("gamma_r")
    self.assertEqual(model.value("gamma_r"), whole.value)
    self.assertNotEqual(model.value("gamma_r", "jumbling"), whole.value)
    self.assertIsNone(model.number("mce"))
    self.assertIsNone(model.value("mce"))
    self.assertIsNotNone(model.cell_number("accuracy", Condition()))
    jumbled = Condition("jumbling", 3, "videos")
    self.assertIsNotNone(model.cell_number("accuracy", jumbled))
    self.assertIsNone(model.cell_number("error", Condition()))
    self.assertIsNone(model.cell_number("accuracy", Condition("fog", 3)))


class ComparableTest(parameterized.TestCase):
  def models(self, **facts):
    data = {
      "split": "validation",
      "examples": 50_000,
      "edition": "imagenet",
      "px": [224, 224],
    }
    data |= {"codec": "jpeg85", "subset": "", **facts}
    board = boards.board("classification", dataset="imagenet_c")
    entries = [dataclasses.replace(e, data=data) for e in board.entries]
    return own.from_boards([dataclasses.replace(board, entries=entries)])

  def test_of_the_printed_protocol(self):
    models = self.models()
    self.assertEmpty(models[0].differences)
    self.assertEmpty(own.comparability(models, "imagenet_c"))

  def test_of_another_protocol(self):
    models = self.models(codec="raw")
    self.assertEqual(dict(models[0].differences), {"codec": ("jpeg85", "raw")})
    self.assertEqual(
      own.comparability(models, "imagenet_c"),
      "Own run made_up is of another protocol: codec raw (printed: jpeg85).",
    )

  def test_of_other_data(self):
    models = own.from_boards([boards.board("classification")])
    self.assertTrue(models[0].differences)
    remark = own.comparability(models, "imagenet_c")
    self.assertStartsWith(
      remark, "Not comparable with the printed numbers: own"
    )

  def test_baselines(self):
    board = boards.board("classification", dataset="mine")
    board = dataclasses.replace(board, baseline="net, of the run")
    self.assertEqual(
      own.baselines(own.from_boards([board]), "imagenet_c"),
      "Printed numbers: divided by AlexNet. mine: divided by net, of the run.",
    )

  def test_without_numbers(self):
    models = self.models()
    self.assertIn("known of ours, base", own.missing_numbers(models, []))
    self.assertEmpty(own.missing_numbers(models, ["ours", "base"]))


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


class PrintedTest(absltest.TestCase):
  def test_a_table(self):
    rows = printed.table("shankar2021", "table9")
    values = {(r.label, r.metric): r.value for r in rows}
    self.assertAlmostEqual(values["ILSVRC-30", "acc_orig"], 0.61)
    self.assertAlmostEqual(values["ILSVRC-30, fine-tuned", "drop"], 0.179)
    self.assertEmpty(printed.table("shankar2021", "table99"))

  def test_sources_are_named_once(self):
    rows = printed.table("shankar2021", "table9")
    self.assertEqual(
      printed.source_of(rows), "Shankar et al. 2021 (arXiv 1906.02168), Table 9"
    )

  def test_doubtful_numbers_and_ends_are_marked(self):
    rows = printed.table("shankar2021", "table9")
    marked = [r.metric for r in rows if _marked(printed.number(r).value)]
    self.assertEqual(marked, ["drop"])
    for row in printed.table("shankar2021", "table6"):
      if row.lo is not None:
        self.assertTrue(_marked(printed.number(row).lo), row)
        self.assertFalse(_marked(printed.number(row.used).lo), row)


def _marked(value):
  return isinstance(value, sheet.Marked)


class RedrawnTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.request = boards.request("video")
    self.models = own.from_boards(self.request.boards)

  def test_context(self):
    told = redrawn.context(self.request, self.models, baseline="x")
    self.assertEqual(told.models, ["ours", "base"])
    self.assertEqual(told.corruptions, ["shot_noise", "jumbling"])
    self.assertEqual(told.class_names, ["cat_0", "dog", "newt"])
    self.assertEqual(told.provenance, ["own runs: made_up (digits_c)"])
    self.assertEqual(told.baseline, "x")

  def test_rows_are_the_entrys_numbers(self):
    model = self.models[0]
    rows = redrawn.rows(model)
    count = len(model.entry.numbers)
    count += sum(map(len, model.entry.cells.values()))
    self.assertLen(rows, count)
    (row,) = [
      r for r in rows if r.config == "jumbling_3" and r.metric == "accuracy"
    ]
    self.assertEqual((row.corruption, row.severity), ("jumbling", 3))

  def test_numbers_of_a_figure(self):
    lines = redrawn.numbers(self.models, lambda r: r.metric == "clean_accuracy")
    self.assertEqual([x[0] for x in lines], ["ours", "base"])
    self.assertEqual({x[-1] for x in lines}, {"own run made_up, digits_c"})


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

  def test_numbers_that_are_no_rates(self):
    columns = ("model", sheet.Column("frames", 0, percent=False))
    text, _ = self.write(["a", 20665.0], columns=columns)
    self.assertIn("| a | 20665 |", text)

  def test_absent_numbers(self):
    text, numbers = self.write(["a", None, "x"], ["b", math.nan, "x"])
    self.assertEqual(numbers, "model,error,source\na,,x\nb,,x\n")
    self.assertIn("| a | - | x |", text)

  def test_text_is_no_formula_and_no_html(self):
    text, numbers = self.write(["=1+1<b>", 0.5, "x"])
    self.assertIn("\n'=1+1<b>,", numbers)
    self.assertNotIn("<b>", text)

  def test_whole_numbers_stay_whole(self):
    columns = ("model", "frames", "source")
    text, numbers = self.write(["a", 1109, "x"], columns=columns)
    self.assertIn("a,1109,x", numbers)
    self.assertIn("| a | 1109 | x |", text)


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
