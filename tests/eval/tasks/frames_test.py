"""Sets of frames: from configs to tables and reports, on small data."""

import pathlib
import shutil
import tempfile

import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from configs import vid_robust
from eval.cells import table
from eval.cells.cell import Cell
from eval.cells.files import predictions
from eval.metrics import intervals, pm_k
from eval.report import reports
from eval.tasks import base, frames
from eval.tasks.parts import label_space
from robust_tfds.building import geometry
from robust_tfds.conditions import Condition
from tests.datasets import natural_videos
from tests.eval import read_counts, tiny_runs
from tests.eval.coverage.cases import frames as frames_cases
from tests.eval.report.reports import without_pictures
from tests.eval.tasks import level_model

_MODEL = "tests.eval.tasks.level_model:build"


def _run(config, workdir: pathlib.Path) -> dict:
  return _by_metric(tiny_runs.start(config, workdir))


def _by_metric(rows) -> dict:
  return {(r.model, r.metric): r for r in rows}


class DigitsTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = tiny_runs.folder("frames")
    cls.rows = _by_metric(table.read(cls.folder / "table.csv"))

  def test_rows_follow_from_the_predictions(self):
    columns = tiny_runs.cell(
      self.folder, "digits_cnn", "digits_vid_robust", "clean"
    )
    self.assertLen(columns["frame"], 2520)
    reads = read_counts.of(self.folder)
    self.assertEqual(list(reads.values()), [1.0])  # for all models
    kept = columns["reviewed"]
    correct = columns["top5"][:, 0] == columns["label"]
    sets = columns["group_id"], columns["frame"]
    got = pm_k.accuracy(correct[kept], sets[0][kept], sets[1][kept])
    for metric in ("acc_orig", "acc_pmk", "drop"):
      row = self.rows["digits_cnn", metric]
      np.testing.assert_allclose((row.value, row.lo, row.hi), got[metric])
      self.assertEqual((row.n, row.config, row.severity), (120, "", None))
    before = pm_k.accuracy(correct, *sets)["acc_pmk"]
    row = self.rows["digits_cnn", "acc_pmk/unreviewed"]
    self.assertEqual((row.value, row.lo, row.hi), before)
    self.assertLess(row.value, got["acc_pmk"][0])
    for k in (0, 4, 10):
      at = pm_k.accuracy(correct[kept], sets[0][kept], sets[1][kept], k=k)
      self.assertEqual(
        self.rows["digits_cnn", f"acc_pmk/k={k}"].value, at["acc_pmk"][0]
      )

  def test_breakdowns(self):
    classes = [m for model, m in self.rows if m.startswith("acc_orig/class=")]
    self.assertLen(classes, 20)
    n = sum(self.rows["digits_cnn", f"acc_orig/class={c}"].n for c in range(10))
    self.assertEqual(n, 120)
    offsets = [m for _, m in self.rows if m.startswith("error/offset=")]
    self.assertLen(offsets, 42)
    self.assertIn(("digits_cnn", "error/offset=-10"), self.rows)
    self.assertIn(("digits_cnn", "conditional/distance=10"), self.rows)
    cdf = [
      self.rows["digits_cnn", f"linf_cdf/pairs={t / 20:.2f}"].value
      for t in range(21)
    ]
    self.assertEqual(cdf, sorted(cdf))
    self.assertEqual((cdf[0], cdf[-1]), (0, 1))
    unknown = [m for _, m in self.rows if "frame_type" in m or "fps" in m]
    self.assertEmpty(unknown)  # digits have no codec

  def test_static_worst_frames(self):
    for model in ("digits_cnn", "digits_linear"):
      static = self.rows[model, "acc_static_worst"].value
      self.assertGreaterEqual(static, self.rows[model, "acc_pmk"].value - 0.05)
      self.assertLess(static, self.rows[model, "acc_orig"].value)

  def test_reports(self):
    folder = self.folder / "reports"
    for name in (
      "scatter",
      "k_curve",
      "offsets",
      "classes",
      "gallery",
      "distances",
    ):
      picture = folder / f"natural_{name}.png"
      self.assertGreater(picture.stat().st_size, 5000)
    page = (folder / "report.html").read_text()
    for title in ("Error by offset", "Sets with failing frames"):
      self.assertIn(title, page)
    text = (folder / "natural_perturbations.md").read_text()
    self.assertIn("What the review changed", text)
    self.assertIn("not corrupted", text)

  @pytest.mark.slow
  def test_the_table_is_made_again_from_the_cells(self):
    first = (self.folder / "table.csv").read_bytes()
    again = pathlib.Path(self.create_tempdir().full_path) / "again"
    tiny_runs.copy("frames", again)
    (again / "table.csv").unlink()
    shutil.rmtree(again / "cells/digits_cnn")
    config = tiny_runs.config("frames")
    config.batch_size = 64
    with without_pictures.written():
      _run(config, again)
    self.assertEqual((again / "table.csv").read_bytes(), first)


def _scored(wrong, levels, *, twice: bool) -> base.RunScores:
  """YTBB-Robust's numbers of sets `[A, 21]`, an anchor a video or two alike."""
  n, times = len(wrong), 1 + twice
  names = [f"a/v{v}_{i}/frame-1.jpg" for i in range(times) for v in range(n)]
  of_sets = np.zeros(n * times, int), np.ones(n * times, bool)
  wrong, levels = np.tile(wrong, (times, 1)), np.tile(levels, (times, 1))
  columns = frames_cases.columns(
    np.array(names), of_sets[0], wrong, levels, of_sets[1]
  )
  task = frames.Frames(base.Setting("ytbb_robust"))
  return task.score([(Cell("m", "ytbb_robust", Condition()), columns)])


class VideosTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    rng = np.random.default_rng(0)
    hard = rng.normal(size=(60, 1))
    self.wrong = hard + rng.normal(0, 0.4, (60, 21)) < -0.6
    self.levels = np.repeat(rng.integers(0, 256, (60, 1)), 21, axis=1)

  def test_copies_of_a_videos_anchors_say_nothing_more(self):
    alone, twice = (
      {r.metric: r for r in _scored(self.wrong, self.levels, twice=t).rows}
      for t in (False, True)
    )
    self.assertEqual(alone.keys(), twice.keys())
    widths = []
    for metric, row in alone.items():
      if row.lo is None or "trend" in metric:
        continue
      again = twice[metric]
      self.assertAlmostEqual(row.value, again.value, delta=1e-12)
      widths.append((again.hi - again.lo) / (row.hi - row.lo))
      self.assertGreater(widths[-1], 0.78, metric)  # sqrt(1 / 2) is 0.71
    self.assertGreater(np.mean(widths), 0.9)

  def test_the_table_has_the_intervals_of_the_boards_draws(self):
    scores = _scored(self.wrong, self.levels, twice=True)
    for metric in ("acc_orig", "acc_pmk", "drop"):
      drawn = scores.headlines["m"][metric, "", None].interval()
      for row in table.select(scores.rows, metric=metric):
        np.testing.assert_allclose((row.lo, row.hi), drawn, err_msg=metric)

  def test_pairs_of_one_set_are_drawn_together(self):
    """All pairs of a set have one distance: 60 trials, not 1,200."""
    rows = _scored(self.wrong, self.levels, twice=False).rows
    for half in (0.25, 0.5, 0.75):
      (row,) = table.select(rows, metric=f"linf_cdf/pairs={half:.2f}")
      near = int((self.levels[:, 0] <= 255 * half).sum())
      exact = intervals.clopper_pearson(near, 60)
      self.assertEqual((row.value, row.n), (near / 60, 1200))
      np.testing.assert_allclose((row.lo, row.hi), exact, atol=0.03)


class VidTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.base = pathlib.Path(tempfile.mkdtemp(prefix="frames_vid"))
    cls.addClassCleanup(shutil.rmtree, cls.base)
    natural_videos.vid(cls.base / "manual")
    cls.rows = _run(cls.config(), cls.base / "first")

  @classmethod
  def config(cls, **data):
    config = vid_robust.get_config(_MODEL)
    with config.unlocked():
      config.batch_size = 4
      config.model.label = "level"
      config.data.manual_dir = str(cls.base / "manual")
      config.data.geometry = "short32_crop32"
      config.data.update(data)
    return config

  def test_projection(self):
    """By hand: crop, mean level, best member of each class."""
    columns, _ = predictions.read(
      self.base / "first/cells/level/imagenet_vid_robust/clean/seed0",
      self.base / "first/examples",
    )
    space = label_space.get("imagenet_vid_robust")
    root = self.base / "manual" / natural_videos.PUBLISHED
    model = level_model.build()
    for name, top, labels in zip(
      columns["example_id"], columns["top5"], columns["labels"]
    ):
      data = (root / "imagenet-vid-robust" / str(name)).read_bytes()
      pixels = geometry.decode(data, "short32_crop32", str(name))
      logits = space.project(model.apply(None, jnp.asarray(pixels)[None]))
      self.assertEqual(top[0], int(logits[0].argmax()))
      self.assertIn(top[0], (4, 8))
      known = [4, 8] if name.endswith("a/000003.JPEG") else labels[:1].tolist()
      self.assertEqual(labels[labels >= 0].tolist(), known)
    correct = [
      top[0] in labels
      for top, labels in zip(columns["top5"], columns["labels"])
    ]
    want = pm_k.accuracy(correct, columns["group_id"], columns["frame"])
    self.assertEqual(want["n"], 2)
    self.assertEqual(self.rows["level", "acc_pmk"].value, want["acc_pmk"][0])

  def test_published_line(self):
    slope = self.rows["", "published_trend_slope"]
    self.assertEqual(slope.n, 78)
    self.assertAlmostEqual(slope.value, 1.20714, delta=1e-5)
    # Two anchors are not the testbed's 1,109.
    self.assertNotIn(("level", "effective_robustness"), self.rows)
    self.assertNotIn(("level", "acc_static_worst"), self.rows)
    text = self.base / "first/reports/natural_perturbations.md"
    # Nor are the printed networks of these anchors.
    self.assertNotIn("printed |", text.read_text())

  def test_frames_missing_and_truncated(self):
    for spoil, error, message in (
      (lambda p: p.unlink(), FileNotFoundError, "a/000011.JPEG"),
      (lambda p: p.write_bytes(b"x"), ValueError, "a/000011.JPEG cannot be"),
    ):
      manual = pathlib.Path(tempfile.mkdtemp(dir=self.base))
      natural_videos.vid(manual)
      folder = manual / natural_videos.PUBLISHED / "imagenet-vid-robust"
      spoil(folder / natural_videos.path("a", 11))
      with self.assertRaisesRegex(error, message):
        _run(self.config(manual_dir=str(manual)), manual / "run")

  def test_wrong_label_spaces(self):
    with self.assertRaisesRegex(ValueError, "has 24 classes, imagenet_vid"):
      _run(self.config(label_space="ytbb_robust"), self.base / "other")
    config = self.config()
    with config.unlocked():
      config.model.name = "digits_cnn"
      config.model.train = {
        "dataset": "digits",
        "split": "train",
        "steps": 1,
        "batch_size": 8,
        "learning_rate": 1e-3,
        "seed": 0,
      }
    with self.assertRaisesRegex(ValueError, "Wrong label space: level has 10"):
      _run(config, self.base / "wrong")

  @parameterized.named_parameters(
    ("limit", {"limit": 10}, "would cut anchor sets apart"),
    ("subset", {"subset": "ids.txt"}, "'ids.txt' would cut anchor sets apart"),
    ("source", {"source": "prepared"}, "choose frames by data.config"),
    ("merge", {"merge": "maximum"}, "Unknown merge 'maximum'"),
    ("space", {"label_space": "ytbb_robus"}, "Did you mean 'ytbb_robust'"),
    ("config", {"config": "rewiewed"}, "Did you mean 'reviewed'"),
  )
  def test_refuses(self, data, message):
    with self.assertRaisesRegex(ValueError, message):
      _run(self.config(**data), self.base / "refused")


class SummaryTest(absltest.TestCase):
  def _predicted(self, n=4, seed=0):
    rng = np.random.default_rng(seed)
    frame = np.tile(np.arange(-2, 3), n).astype(np.int32)
    top = np.zeros((5 * n, 5), np.int32)
    top[:, 0] = rng.random(5 * n) < 0.1
    return {
      "example_id": np.array([f"f{i:03d}" for i in range(5 * n)]),
      "group_id": np.repeat([f"g{i}" for i in range(n)], 5),
      "frame": frame,
      "label": np.zeros(5 * n, np.int32),
      "labels": np.tile(np.array([0] + [-1] * 7, np.int32), (5 * n, 1)),
      "top5": top,
      "score": np.full((5 * n, 5), 0.2, np.float32),
      "reviewed": np.ones(5 * n, bool),
      "frame_type": np.repeat(["I", "P"], 5 * n // 2),
      "fps": np.full(5 * n, 29.97, np.float32),
      "linf": np.full(5 * n, np.nan, np.float32),
    }

  def _rows(self, models, dataset="ytbb_robust"):
    task = frames.Frames(base.Setting(dataset))
    cells = [
      (Cell(f"m{i}", dataset, Condition()), self._predicted(20, i))
      for i in range(models)
    ]
    return task.score(cells).rows

  def test_effective_robustness(self):
    columns = self._predicted(1109)
    columns["frame_type"] = np.full(5 * 1109, "")
    task = frames.Frames(base.Setting("imagenet_vid_robust"))
    cell = Cell("m", "imagenet_vid_robust", Condition())
    rows = task.score([(cell, columns)]).rows
    by_metric = {r.metric: r.value for r in rows}
    # Below the line, where an interval must not end at 0.
    (above,) = table.select(rows, metric="effective_robustness")
    self.assertLess(above.value, 0)
    self.assertLess(above.lo, above.value)
    self.assertLess(above.value, above.hi)
    x, y = by_metric["acc_orig"], by_metric["acc_pmk"]
    line = by_metric["published_trend_slope"] * x
    line += by_metric["published_trend_intercept"]
    self.assertAlmostEqual(by_metric["effective_robustness"], y - line)

  def test_frame_types_and_rates(self):
    rows = {r.metric: r for r in self._rows(1)}
    self.assertEqual(rows["acc_orig/frame_type=I"].n, 10)
    without = rows["acc_pmk/without_frame_type=P"]
    self.assertEqual(without.value, rows["acc_pmk/frame_type=I"].value)
    self.assertEqual(rows["acc_pmk/fps=29"].n, 20)

  def test_lines_and_reports_of_many_models(self):
    rows = self._rows(4)
    over = {r.metric: r for r in rows if not r.model}
    self.assertEqual(over["trend_slope"].n, 4)
    self.assertAlmostEqual(
      over["published_trend_slope"].value, 1.26615, delta=1e-5
    )
    context = reports.Context(
      facts=frames.Frames.facts,
      family=frames.Frames.family,
      dataset="ytbb_robust",
      rows=rows,
      corruptions=(),
      networks=frames.Frames(base.Setting("ytbb_robust")).published_networks(),
      provenance=("a test",),
    )
    self.assertEqual(context.models, ["m0", "m1", "m2", "m3"])
    folder = pathlib.Path(self.create_tempdir().full_path)
    written = {p.name for p in reports.write_all(context, folder)}
    self.assertContainsSubset(
      {"natural_scatter.png", "natural_perturbations.md", "report.html"},
      written,
    )
    text = (folder / "natural_perturbations.md").read_text()
    self.assertIn(
      "| testbed's standard models | 78 | 1.266 [1.175, 1.358]", text
    )
    self.assertIn("By frame type of the anchor: m0", text)
    table.write(rows, folder / "table.csv")
    self.assertEqual(table.read(folder / "table.csv"), rows)

  def test_gallery_picks_right_anchors_and_their_nearest_errors(self):
    columns = self._predicted(2)
    columns["top5"][:, 0] = 0
    columns["top5"][[0, 1, 7], 0] = 3
    columns["score"][1, 0] = 0.9
    rows = frames._failures(columns)
    # Of the first set the nearer error; the second fails on its anchor.
    self.assertEqual(rows, [2, 1])
    columns["reviewed"][1] = False
    self.assertEqual(frames._failures(columns), [2, 0])
