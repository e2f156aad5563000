"""Single figures: their numbers, panels and refusals."""

import csv
import dataclasses
import json
import pathlib
from typing import Any

import numpy as np
import pytest
from absl.testing import absltest, parameterized
from etils import epath
from PIL import Image

from eval import papers
from eval.cells.number import Number
from eval.metrics import intervals, trend
from eval.metrics.replicates import Replicates
from eval.papers import raw_results
from eval.report import figures
from eval.report.figures import base, drawing
from eval.report.figures.parts import (
  own,
)
from eval.report.figures.shankar import f3
from robust_tfds import conditions, errors
from robust_tfds.conditions import Condition
from tests import in_folder, shared_data
from tests.eval.compare import task_runs
from tests.eval.report.figures import boards, lines

_f9_SET = "imagenet22k_subtypes"
_METRICS = ("seen_subtype_accuracy", "unseen_subtype_accuracy")


def _runs(*models, dataset=_f9_SET):
  return boards.beside(boards.board("subtypes", models=models), dataset)


def _clean(model, error):
  """A run over ImageNet-C that says a network's clean error."""
  board = boards.beside(boards.normalised("classification"), "imagenet_c")
  numbers = {
    ("clean_error", "", None): Number(error, error - 0.01, error + 0.01)
  }
  first = dataclasses.replace(
    board.entries[0], label=model, model=model, numbers=numbers
  )
  return dataclasses.replace(board, entries=[first])


def _f9_own(*of):
  listed = lines.of("hendrycks_f9", base.Request(boards=of))
  return [x for x in listed if x["source"].startswith("own run")]


class Figure9Test(absltest.TestCase):
  def test_a_run_stands_where_its_network_is_printed(self):
    listed = _f9_own(_runs("resnet50"))
    self.assertEqual([x["metric"] for x in listed][:2], sorted(_METRICS)[::-1])
    printed = lines.of("hendrycks_f9")
    (at,) = {x["accuracy"] for x in printed if x["network"] == "ResNet-50"}
    for line in listed:
      self.assertEqual(line["accuracy"], at)
      self.assertBetween(line["value"], line["lo"], line["hi"])

  def test_a_run_over_imagenet_c_says_its_accuracy(self):
    listed = _f9_own(_runs("resnet50"), _clean("resnet50", 0.2))
    self.assertEqual({x["accuracy"] for x in listed}, {0.8})

  def test_a_network_of_no_known_accuracy_is_named(self):
    (figure,) = figures.select("hendrycks_f9")
    board = _runs("resnet50", "my_net")
    drawn = figure.drawn(base.Request(boards=[board]))
    words = " ".join(drawn.foot)
    self.assertIn("no accuracy on ImageNet-1K is known of it", words)
    self.assertIn("my_net", words)
    self.assertNotIn("resnet50,", words)


def pictures(folder: pathlib.Path, names: list[str], height: int = 12) -> None:
  """Small pictures of names, each of one level."""
  folder.mkdir()
  for i, name in enumerate(names):
    levels = np.full((height, 16, 3), 30 * i, np.uint8)
    Image.fromarray(levels).save(folder / name)


class Figure4Test(absltest.TestCase):
  def test_the_first_pairs_are_drawn_and_told(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    stems = [f"{i:06}" for i in range(6)]
    pictures(root / "clean", [f"{s}.jpg" for s in [*stems, "alone"]])
    pictures(root / "art", [f"{s}-stylized-{s[-1]}.png" for s in stems], 10)
    (figure,) = figures.select("michaelis_f4")
    request = base.Request(
      clean=epath.Path(root / "clean"), stylized=epath.Path(root / "art")
    )
    out = epath.Path(root)
    files = figure.draw(request, out)
    self.assertCountEqual(
      [f.name for f in files], [f"michaelis_f4{e}" for e in _ENDS]
    )
    with open(out / "michaelis_f4.csv", encoding="utf-8") as file:
      head, *lines = csv.reader(file)
    self.assertEqual(head[:3], ["picture", "kind", "file"])
    self.assertLen(lines, 10)
    self.assertEqual(
      lines[1],
      [
        *("000000.jpg", "stylized", "000000-stylized-0.png", "10", "16"),
        "own pictures, --stylized",
      ],
    )
    self.assertIn("6 of 7", (out / "michaelis_f4.svg").read_text("utf-8"))


_ENDS = (".png", ".svg", ".csv")


class SourceVideosTest(in_folder.TestCase, parameterized.TestCase):
  def _lines(self, run):
    (figure,) = figures.select("schiappa_app_d")
    request = drawing.add_runs(base.Request(), [str(run)], lambda _: None)
    (out := self.root / "out").mkdir()
    self.files = figure.draw(request, out)
    return shared_data.lines(out / "schiappa_app_d.csv")

  def test_every_video_with_its_clips(self):
    """59 groups of 60 clips: one video has two, the others have one."""
    listed = self._lines(task_runs.video(self.root / "run", 0.9, groups=59))
    self.assertLen(listed, 59)
    first, *others = listed
    self.assertEqual((first["source video"], first["clips"]), ("g500", "2"))
    right = task_runs.hardness()[[0, 59]] < 0.9
    self.assertAlmostEqual(float(first["clean accuracy"]), right.mean())
    ends = intervals.clopper_pearson(int(right.sum()), 2)
    np.testing.assert_allclose([float(first[k]) for k in ("lo", "hi")], ends)
    for line in others:
      self.assertEqual((line["lo"], line["hi"]), ("", ""))
      self.assertEqual(line["note"], "one clip, no interval")

  def test_perturbed_is_the_mean_of_the_other_cells(self):
    listed = self._lines(task_runs.video(self.root / "run", 0.9, groups=3))
    hardness = task_runs.hardness()
    # jpeg and freezing, both at 1 and 3.
    expected = {
      f"g{500 + g}": np.mean([hardness[g::3] < 0.9 - s / 10 for s in (1, 3)])
      for g in range(3)
    }
    for line in listed:
      name, value = line["source video"], float(line["perturbed accuracy"])
      self.assertAlmostEqual(value, expected[name])
      lost = float(line["clean accuracy"]) - value
      self.assertAlmostEqual(float(line["lost"]), lost)
    self.assertIn("it says nothing of others", self.files[0].read_text())

  def test_clips_without_sources_are_refused(self):
    with self.assertRaisesRegex(errors.UserError, "no two clips have names"):
      self._lines(task_runs.video(self.root / "run", 0.9))


_NAMES = conditions.VIDEOS.names("common")


def _request(words, dataset="ucf101_p", shared=True, **named):
  """A run's only model, of `trained_on`, each gamma 0.8 with draws."""
  asked = boards.request("video", models=("net",), names=_NAMES)
  board = boards.beside(asked.boards[0], dataset)
  facts = {"name": "x3d_m", "trained_on": words}
  entries = [dataclasses.replace(e, model_facts=facts) for e in board.entries]
  board = dataclasses.replace(board, entries=entries)
  rng, (one,) = np.random.default_rng(0), asked.scored
  noise = rng.normal(0, 0.01, 2100)
  one.side.dataset = dataset
  for name in _NAMES:
    if not shared:
      noise = rng.normal(0, 0.01, 2100)
    joined = np.array(0.8), 0.8 + noise[:2000], 0.8 + noise[2000:] / 10
    for measure in ("gamma_a", "gamma_r"):
      one.draws[measure, name, None] = Replicates(*joined, 100.0)
  return dataclasses.replace(asked, boards=[board], **named)


def _f6_own(asked):
  listed = [x for x in lines.of("schiappa_f6", asked) if "own" in x["source"]]
  return {(x["kind"], x["measure"]): x for x in listed}


class Figure6Test(parameterized.TestCase):
  @parameterized.parameters(
    ("UCF101 train, split 1", "scratch"),
    ("from scratch on its clips", "scratch"),
    ("Kinetics-400, then UCF101", "kinetics400"),
    ("IG-65M, then UCF101", "kinetics400"),
    ("UCF101, fine-tuned from SSv2", "kinetics400"),
  )
  def test_facts_say_which_it_is(self, words, training):
    listed = _f6_own(_request(words))
    self.assertLen(listed, 3 * 2)
    self.assertEqual({x["training"] for x in listed.values()}, {training})
    self.assertEqual({x["network"] for x in listed.values()}, {"x3d_m"})

  @parameterized.parameters("", "SSv2")
  def test_what_nobody_says_is_asked_for(self, words):
    asked = _request(words, dataset="digits_video_p")
    with self.assertRaisesRegex(
      errors.UserError, "set config.model.trained_on"
    ):
      _f6_own(asked)

  def test_a_mean_is_of_the_same_draws(self):
    together = _f6_own(_request("UCF101"))["temporal", "gamma_r"]
    apart = _f6_own(_request("UCF101", shared=False))["temporal", "gamma_r"]
    widths = [x["hi"] - x["lo"] for x in (together, apart)]
    self.assertAlmostEqual(together["mean"], 0.8)
    self.assertAlmostEqual(widths[0] / widths[1], 5**0.5, delta=0.4)

  def test_part_of_a_kind_is_no_mean_of_it(self):
    asked = _request("UCF101")
    asked.scored[0].draws.clear()
    (entry,) = asked.boards[0].entries
    del entry.numbers["gamma_r", "jumbling", None]
    listed = _f6_own(asked)
    self.assertNotIn(("temporal", "gamma_r"), listed)
    self.assertIn(("temporal", "gamma_a"), listed)


_f3_SET = "imagenet_vid_robust"


class Figure3Test(absltest.TestCase):
  def test_the_published_slopes(self):
    """docs/VIDEO.md, recomputed with scipy."""
    rows = {r.metric: r for r in f3.line_rows(_f3_SET, {})}
    slope = rows["published_trend_slope"]
    self.assertEqual(slope.n, 78)
    self.assertAlmostEqual(slope.value, 1.207, delta=5e-4)
    self.assertAlmostEqual(slope.lo, 1.153, delta=1e-3)
    self.assertAlmostEqual(rows["paper_trend_slope"].value, 1.024, delta=5e-4)
    self.assertNotIn("trend_slope", rows)

  def test_own_line_from_three_models(self):
    points = {"a": (0.2, 0.1), "b": (0.4, 0.3), "c": (0.6, 0.5)}
    rows = {r.metric: r for r in f3.line_rows(_f3_SET, points)}
    self.assertAlmostEqual(rows["trend_slope"].value, 1)
    self.assertAlmostEqual(rows["trend_intercept"].value, -0.1)

  def test_a_run_without_one_of_the_numbers_is_no_point(self):
    whole = boards.beside(boards.board("frames"), _f3_SET)
    first, *others = whole.entries
    numbers = {k: n for k, n in first.numbers.items() if "acc_pmk" not in k}
    part = dataclasses.replace(first, numbers=numbers)
    board = dataclasses.replace(whole, entries=[part, *others])
    listed = lines.of("shankar_f3", base.Request(boards=[board]))
    sources = [line["model"] for line in listed if "own" in line["source"]]
    self.assertEqual(sources, [other.label for other in others])


_NAME = "effective_robustness"


class EffectiveRobustnessTest(parameterized.TestCase):
  def test_residuals_of_the_testbed(self):
    got = lines.of(_NAME)
    mine = [x for x in got if x["dataset"] == "imagenet_vid_robust"]
    testbed = papers.testbed("imagenet_vid_robust")
    mine.sort(key=lambda x: list(testbed).index(x["model"]))
    self.assertEqual([x["model"] for x in mine], list(testbed))
    fitted = {x["model"] for x in mine if x["fitted"] == "yes"}
    self.assertLen(fitted, 78)
    self.assertEqual(
      {x["kind"] for x in mine if x["model"] in fitted}, {"standard"}
    )
    x, y = zip(*testbed.values())
    standard = papers.testbed("imagenet_vid_robust", "standard").values()
    above = trend.fit(*zip(*standard), logits=True).above(x, y)
    values = [line["effective robustness"] for line in mine]
    self.assertSequenceAlmostEqual(values, above.tolist(), delta=1e-12)

  def test_a_few_models_have_no_band(self):
    of = {x["dataset"]: x for x in lines.of(_NAME)}
    for dataset, known in (("pascal_c", False), ("coco_c", True)):
      self.assertEqual(isinstance(of[dataset]["line lo"], float), known)

  @parameterized.parameters(
    ("printed", 45), ("testbed", 335), ("standard", 335)
  )
  def test_the_reference_can_be_chosen(self, name, count):
    got = lines.of(_NAME, base.Request(reference=name))
    mine = [x for x in got if x["dataset"] == "imagenet_vid_robust"]
    self.assertLen(mine, count)
    self.assertEqual({x["reference"] for x in mine}, {name})

  def test_runs_stand_above_the_testbed(self):
    board = boards.beside(boards.board("frames"), "imagenet_vid_robust")
    printed = {x["dataset"] for x in lines.of(_NAME)}
    got = lines.of(_NAME, base.Request(boards=[board]))
    order = list(dict.fromkeys(x["dataset"] for x in got))
    self.assertEqual(order[-1], "imagenet_vid_robust")
    self.assertEqual(set(order), printed)
    mine = [x for x in got if x["dataset"] == "imagenet_vid_robust"]
    self.assertLen(mine, 335 + 2)
    (line,) = [x for x in mine if x["model"] == "ours"]
    value = line["y"] - line["line at x"]
    self.assertAlmostEqual(line["effective robustness"], value)

  def test_runs_of_other_data_stand_above_no_printed_line(self):
    board = boards.beside(boards.board("frames"), "imagenet_vid_robust")
    entries = [
      dataclasses.replace(e, data={**e.data, "examples": 100})
      for e in board.entries
    ]
    asked = base.Request(boards=[dataclasses.replace(board, entries=entries)])
    with self.assertRaisesRegex(
      errors.UserError, "other data than these runs: examples 22179, here 100"
    ):
      lines.of(_NAME, asked)

  def test_too_few_models(self):
    request = base.Request(boards=[boards.board("video")])
    with self.assertRaisesRegex(errors.UserError, "2 of at least 3 models"):
      lines.of(_NAME, request)


class ConfusionsTest(parameterized.TestCase):
  def lines(self, name, condition=""):
    request = boards.request("video")
    return lines.of(name, dataclasses.replace(request, condition=condition))

  @parameterized.parameters("schiappa_f8", "schiappa_f21")
  @pytest.mark.slow
  def test_a_condition_can_be_chosen(self, name):
    shown = self.lines(name, "jumbling_2")
    cells = {(x["perturbation"], x["severity"]) for x in shown}
    self.assertEqual(cells, {("clean", 0), ("jumbling", 2)})

  def test_the_worst_one_by_default(self):
    shown = self.lines("schiappa_f21")
    self.assertEqual({x["severity"] for x in shown}, {0, 5})

  def test_counts(self):
    shown = self.lines("schiappa_f21", "jumbling_1")
    ours = [x for x in shown if x["model"] == "ours" and x["severity"] == 1]
    of_first = {x["predicted"]: x for x in ours if x["true"] == "cat_0"}
    self.assertEqual(of_first["dog"]["videos"], 1)
    self.assertEqual(of_first["dog"]["share of the true class"], 0.5)
    self.assertEqual(sum(x["videos"] for x in ours), 6)

  def test_an_unknown_condition_is_refused(self):
    with self.assertRaisesRegex(errors.UserError, "Did you mean 'jumbling_5'"):
      self.lines("schiappa_f8", "jumblin_5")


class CorruptionCurvesTest(absltest.TestCase):
  def test_numbers_are_those_of_the_files(self):
    listed = lines.of("michaelis_f7")
    cells = raw_results.cells("pascal_c", "faster_rcnn_r50_fpn_1x_voc0712")
    names = conditions.PICTURES.names("common")
    got = {
      Condition(x["corruption"] if x["severity"] else "", x["severity"]): x["P"]
      for x in listed
      if x["curve"] == "trained on standard data" and x["corruption"] in names
    }
    self.assertLen(got, 1 + 15 * 5)
    self.assertEqual(got, {c: cells[c] for c in got})
    absent = [n for n in listed if n["curve"].endswith("(no raw results)")]
    self.assertEqual([n["P"] for n in absent], [0.68, 0.5])

  def test_points_of_figure_6(self):
    path = shared_data.path("data", "detection_raw_results", "figure6.json")
    points = json.loads(path.read_text())["figure6"]
    keys = {
      "standard": "rpc_standard",
      "combined": "rpc_combined_over_standard_clean",
    }
    listed = lines.of("michaelis_f6")
    self.assertLen(listed, 30)
    for line in listed:
      point = points[line["corruption"]]
      rmse = line["RMSE (as the authors' file)"]
      self.assertAlmostEqual(rmse, point["mean_rmse"], delta=1e-5)
      relative = 100 * line["relative P"]
      self.assertAlmostEqual(
        relative, point[keys[line["model"]]], delta=1e-3, msg=line
      )


class StoredPicturesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.run_folder = pathlib.Path(self.create_tempdir().full_path)
    (self.run_folder / "reports").mkdir()
    (self.figure,) = figures.select("shankar_f1")

  def draw(self):
    request = boards.request("frames", self.run_folder)
    return self.figure.draw(request, self.folder)

  def test_pixels_are_those_of_the_report(self):
    pixels = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    place = self.run_folder / "reports" / "natural_gallery.png"
    Image.fromarray(pixels).save(place)
    picture, _ = self.draw()
    np.testing.assert_array_equal(np.asarray(Image.open(picture)), pixels)

  def test_pictures_beside_bars(self):
    """Figure 4: a run's numbers after the printed ones, its gallery beside."""
    pixels = np.full((4, 5, 3), 7, np.uint8)
    place = self.run_folder / "reports" / "worst_frames.png"
    Image.fromarray(pixels).save(place)
    (figure,) = figures.select("shankar_f4")
    asked = boards.request("frame_detection", self.run_folder)
    _, (apart, request) = figure.parts(asked)
    picture, *_, table = apart.draw(request, self.folder)
    np.testing.assert_array_equal(np.asarray(Image.open(picture)), pixels)
    self.assertIn("_frames.png", picture.name)
    listed = shared_data.lines(pathlib.Path(table))
    metrics = {line["metric"] for line in listed}
    self.assertContainsSubset({"map_orig", "localization/map_pmk"}, metrics)
    self.assertTrue(all(line["lo"] for line in listed))

  def test_without_reports(self):
    with self.assertRaisesRegex(errors.UserError, "config.reports=true"):
      self.draw()
    self.assertEmpty(list(self.folder.iterdir()))

  def test_what_is_no_picture_is_refused(self):
    place = self.run_folder / "reports" / "natural_gallery.png"
    place.write_bytes(b"no picture")
    with self.assertRaisesRegex(errors.UserError, "natural_gallery.png"):
      self.draw()


class PrintedTableTest(absltest.TestCase):
  def lines(self, name, *boards_of) -> list[dict[str, Any]]:
    return lines.of(name, base.Request(boards=boards_of))

  def test_own_rows_of_the_same_data_by_their_accuracy(self):
    board = boards.board("frames", dataset="imagenet_vid_robust")
    data = {"examples": 22_179, "merge": "max", "subset": ""}
    entries = [dataclasses.replace(e, data=data) for e in board.entries]
    board = dataclasses.replace(board, entries=entries)
    shown = self.lines("shankar_t5", board)
    self.assertLen(shown, 47)
    values = [line["pm-0"] for line in shown]
    self.assertEqual(values, sorted(values, reverse=True))

  def test_own_rows_of_other_data_stand_below(self):
    shown = self.lines("shankar_t5", boards.board("frames"))
    self.assertLen(shown, 47)
    values = [x["pm-0"] for x in shown[:45]]
    self.assertEqual(values, sorted(values, reverse=True))
    self.assertEqual(
      {x["source"] for x in shown[45:]}, {"own run made_up, digits_c"}
    )

  def test_the_smallest_first(self):
    shown = self.lines("hendrycks_readme_c")
    values = [x["mCE"] for x in shown]
    self.assertEqual(values, sorted(values))
    self.assertEqual(shown[0]["model"], "DeepAugment+AugMix")

  def test_own_lines_by_condition(self):
    board = boards.board("frames")
    model = own.from_boards([board])[0]
    shown = [
      (x["condition"], x["pm-10"])
      for x in self.lines("shankar_t4", board)
      if x["model"] == model.label
    ]
    unreviewed = model.cell_number("acc_pmk/unreviewed").value
    self.assertEqual(
      shown, [("all", unreviewed), ("reviewed", model.value("acc_pmk"))]
    )


class SeverityCurvesTest(absltest.TestCase):
  def test_figures_take_theirs(self):
    digits = boards.board("video")
    ucf = boards.board("video", dataset="ucf101_p")
    request = base.Request(boards=[digits, ucf])
    (sixteen,) = figures.select("schiappa_f16")
    (seventeen,) = figures.select("schiappa_f17")
    self.assertEqual(sixteen.boards(request), [ucf])
    self.assertEqual(seventeen.boards(request), [digits, ucf])
