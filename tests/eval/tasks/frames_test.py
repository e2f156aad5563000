"""Tasks of frames and videos."""

import pathlib
import shutil
import tempfile

import jax
import jax.numpy as jnp
import ml_collections
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from configs import vid_robust
from eval.cells import cell_facts, table
from eval.cells.cell import Cell
from eval.cells.files import predictions
from eval.metrics import intervals, pm_k, stability
from eval.pipeline import inputs
from eval.report import reports
from eval.tasks import base, frames, sequences, video
from eval.tasks.parts import label_space
from robust_tfds import conditions
from robust_tfds.building import geometry
from robust_tfds.conditions import Condition
from tests import accelerators, in_folder
from tests.datasets import natural_videos
from tests.eval import read_counts, same_tables, tiny_runs
from tests.eval.coverage.cases import frames as frames_cases
from tests.eval.report.reports import without_pictures
from tests.eval.tasks import level_model

_MODEL = "tests.eval.tasks.level_model:build"


def _run(config, workdir: pathlib.Path) -> dict:
  return _by_metric(tiny_runs.start(config, workdir))


def _by_metric(rows) -> dict:
  return {(r.model, r.metric): r for r in rows}


class DigitsTest(parameterized.TestCase):
  """Sets of frames: from configs to tables and reports, on small data."""

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

  def test_static_worst_frames(self):
    for model in ("digits_cnn", "digits_linear"):
      static = self.rows[model, "acc_static_worst"].value
      self.assertGreaterEqual(static, self.rows[model, "acc_pmk"].value - 0.05)
      self.assertLess(static, self.rows[model, "acc_orig"].value)

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


def _task(dataset="ucf101_p", **setting):
  data = ml_collections.ConfigDict(setting.pop("data", {}))
  return video.Video(base.Setting(dataset, data=data, **setting))


class ConditionsTest(absltest.TestCase):
  """Video: conditions, views averaged, gamma in the table."""

  def test_a_codec_on_the_fly(self):
    with self.assertRaisesRegex(ValueError, "'h264' is for prepared videos"):
      _task(codec="h264")

  def test_sampling(self):
    with self.assertRaisesRegex(ValueError, "Did you mean 'uniform'"):
      _task(data={"sampling": "unifrm"})
    with self.assertRaisesRegex(ValueError, "1 with uniform sampling"):
      _task(data={"sampling": "uniform", "views": 2})


class ReduceTest(absltest.TestCase):
  def test_softmax_scores_are_averaged_over_views(self):
    logits = np.random.default_rng(0).normal(0, 3, (4, 3, 9))
    labels = jnp.zeros(4, jnp.int32)
    got = jax.jit(video.reduce)(jnp.asarray(logits, jnp.float32), labels)
    chance = np.exp(logits)
    chance = (chance / chance.sum(-1, keepdims=True)).mean(1)
    order = np.argsort(-chance, axis=-1)[:, :5]
    np.testing.assert_array_equal(got["top5"], order)
    np.testing.assert_allclose(
      got["score"], np.take_along_axis(chance, order, 1), rtol=1e-5
    )


class TableTest(in_folder.TestCase):
  def _columns(self, right, groups=None):
    ids = np.array([f"{i:03d}" for i in range(len(right))])
    label = np.arange(len(right)) % 7
    top5 = np.tile(label[:, None], (1, 5)) + np.arange(5) + 1
    top5[right, 0] = label[right]
    videos = ids if groups is None else groups
    frame = np.zeros(len(ids), np.int32)
    columns = {"label": label, "top5": top5 % 9, "group_id": videos}
    return {**columns, "frame": frame}

  def _rows(self, hits_by_rank, groups=None, lacking=()):
    """The table of all conditions but some; f(condition) -> right videos."""
    return (
      _task()
      .score(
        (Cell("m", "ucf101_p", c), self._columns(hits_by_rank(c), groups))
        for c in conditions.VIDEOS.conditions()
        if c.config not in lacking
      )
      .rows
    )

  def test_held_out_gammas_are_means_of_groups_too(self):
    """What was trained on leaves its group, which weighs as much as before."""
    family, facts = (
      conditions.VIDEOS,
      cell_facts.ModelFacts(corruptions_seen=["jpeg"]),
    )
    right = {c: 8 - 3 * (not c.clean) for c in family.conditions()}
    right |= {
      c: 1 for c in right if family.row(c.name or "jpeg").group == "camera"
    }
    right[Condition()] = 8
    cells = [
      Cell("m", "ucf101_p", c, model_facts=facts) for c in family.conditions()
    ]
    rows = (
      _task()
      .score(
        (c, self._columns(np.arange(10) < right[c.condition])) for c in cells
      )
      .rows
    )
    got = {r.metric: r.value for r in rows if not r.config and not r.corruption}
    # Four groups of .5 and a camera of .1: .42, as without jpeg.
    self.assertAlmostEqual(got["gamma_r"], 0.42 / 0.8)
    self.assertAlmostEqual(got["held_out_gamma_r"], 0.42 / 0.8)
    self.assertAlmostEqual(got["held_out_gamma_a"], 1 - (0.8 - 0.42))

  def test_natural_shifts(self):
    right = np.array([True, True, False, True, False, False])
    columns = self._columns(right) | {
      "shift": np.array(["kids", "kids", "old", "crowd", "crowd", "crowd"]),
      "category": np.array(["Age"] * 3 + ["Crowd"] * 3),
    }
    cell = Cell("m", "ucf101_ds", Condition())
    rows = _task("ucf101_ds").cell_rows(cell, columns)
    got = {r.metric: (r.value, r.n) for r in rows}
    self.assertEqual(got["accuracy/category/Age"], (2 / 3, 3))
    self.assertEqual(got["accuracy/shift/old"], (0.0, 1))
    scored = _task("ucf101_ds").score([(cell, columns)]).rows
    out = {r.metric: r.value for r in scored if not r.config}
    self.assertEqual(
      out, {"natural_accuracy": 0.5, "natural_category_accuracy": 0.5}
    )
    context = reports.Context(
      facts=video.Video.facts,
      family=video.Video.family,
      dataset="ucf101_ds",
      rows=scored,
      corruptions=(),
    )
    written = {p.name for p in reports.write_all(context, self.root)}
    self.assertContainsSubset({"action_shifts.md", "report.html"}, written)
    (mean,) = table.select(scored, metric="natural_category_accuracy")
    self.assertLess(mean.lo, mean.hi)
    self.assertEqual(mean.n, 6)
    text = (self.root / "action_shifts.md").read_text()
    self.assertIn("| Age | 3 | 66.7 (", text)

  def test_categories_of_few_sources_that_draws_miss(self):
    category = np.repeat(["a", "b", "c"], [6, 6, 200])
    source = np.array([f"v{i // 2:03d}" for i in range(212)])
    right = np.random.default_rng(0).random(212) < 0.7
    columns = self._columns(right) | {
      "shift": category,
      "category": category,
      "group_id": source,
    }
    cell = Cell("m", "ucf101_ds", Condition())
    rows = _task("ucf101_ds").score([(cell, columns)]).rows
    (mean,) = table.select(rows, metric="natural_category_accuracy")
    self.assertEqual(mean.note, "")
    self.assertBetween(mean.value, mean.lo, mean.hi)
    self.assertBetween(mean.lo, 0, mean.value)
    self.assertBetween(mean.hi, mean.value, 1)

  def test_every_number_over_cells_has_its_interval(self):
    rng = np.random.default_rng(0)
    rows = self._rows(lambda c: rng.random(200) < 0.9 - 0.1 * c.level)
    over = [r for r in same_tables.task_rows(rows) if not r.config]
    self.assertLen(over, 2 * (18 + 5 + 1) + 1)
    for row in over:
      self.assertLess(row.lo, row.value, row.metric)
      self.assertLess(row.value, row.hi, row.metric)
      self.assertEqual(row.n, 200)

  def test_gamma_is_paired_with_the_clean_videos(self):
    # Right exactly where clean is right: the ratio is 1 in every draw.
    right = np.random.default_rng(0).random(200) < 0.5
    rows = self._rows(lambda _: right)
    (mean,) = table.select(rows, metric="gamma_r", corruption="")
    self.assertEqual((mean.value, mean.lo, mean.hi), (1.0, None, None))
    self.assertIn("every draw gives this value", mean.note)

  def test_clips_of_a_video_are_drawn_together(self):
    right = np.repeat(np.random.default_rng(0).random(40) < 0.5, 5)
    videos = np.array([f"v{i // 5:02d}" for i in range(200)])
    width = {}
    for name, groups in (("alone", None), ("together", videos)):
      rows = self._rows(lambda c: right ^ (not c.clean and c.level > 3), groups)
      for row in rows:
        if row.metric in ("accuracy", "gamma_a", "gamma_a/noise"):
          width.setdefault((row.metric, row.corruption), {})[name] = (
            row.hi - row.lo
          )
    for key, of in width.items():
      self.assertGreater(of["together"], 1.8 * of["alone"], key)

  @parameterized.parameters(
    (1, ("jpeg_3",), "", "missing: jpeg 3 (1 of 91)"),
    (1, ("jpeg_3",), "jpeg", "missing: jpeg 3 (1 of 6)"),
    (1, ("clean",), "", "missing: clean (1 of 91)"),
    (0, (), "", "undefined: the clean accuracy is 0"),
  )
  def test_a_number_that_is_none_says_why(self, right, lacking, name, note):
    rows = self._rows(lambda _: np.full(10, right, bool), lacking=lacking)
    (row,) = table.select(rows, metric="gamma_r", corruption=name)
    self.assertFalse(row.has_value)
    self.assertEqual(row.note, note)


_COMMON = conditions.SEQUENCES.names("common")
_TASK = sequences.Sequences(base.Setting("digits_p"))
_condition = conditions.SEQUENCES.condition


def _logits(n=3, frames=16, classes=50, seed=0):
  rng = np.random.default_rng(seed)
  steps = rng.normal(size=(n, frames, classes))
  walk = np.cumsum(0.3 * steps, 1) + 2 * steps[:, :1]
  return np.round(walk, 1).astype(np.float32)  # with ties


def _batch(n, padding=1):
  rows = n + padding
  return inputs.Batch(
    image=np.zeros((rows, 1)),
    size=np.zeros((rows, 2), np.int32),
    mask=np.arange(rows) < n,
    example_id=[f"e{i}" for i in range(n)] + [""] * padding,
    group_id=[f"e{i}" for i in range(n)] + [""] * padding,
    frame=np.zeros(rows, np.int32),
    label=np.zeros(rows, np.int32),
  )


def _columns(logits, condition):
  """Predictions' columns as the runner makes them; one padding row."""
  padded = np.concatenate([logits, logits[:1]])
  labels = np.zeros(len(padded), np.int32)
  reduced = jax.jit(_TASK.reducer(condition))(padded, labels)
  outputs = {k: np.asarray(v) for k, v in reduced.items()}
  batch = _batch(len(logits))
  return {
    **_TASK.example_columns(batch),
    **_TASK.columns(batch, outputs, condition),
  }


class SequencesReduceTest(parameterized.TestCase):
  """Sequences: what is kept on the device, tables, whole runs on tiny data."""

  @parameterized.parameters("translate", "shot_noise")
  def test_equals_the_metrics_on_whole_rankings(self, name):
    logits = _logits()
    got = _columns(logits, _condition(name, 1))
    ranked = stability.rank(logits)
    noise = name == "shot_noise"
    np.testing.assert_array_equal(got["top5"], ranked[..., :5])
    self.assertLen(got["flips"], 3)
    for d in (1,) if noise else (1, 2, 3):
      for column, expected in (
        ("flips", stability.flips(ranked[..., 0], noise, d)),
        ("t5d", stability.top5_distances(ranked, noise, d)),
        ("zipf", stability.zipf_distances(ranked, noise, d)),
      ):
        np.testing.assert_allclose(
          got[column][:, d - 1], expected.mean(1), rtol=2e-6
        )

  @pytest.mark.slow
  def test_on_accelerators_sequences_are_ranked_together(self):
    logits, condition = _logits(), _condition("translate", 1)
    in_turn = _columns(logits, condition)
    with accelerators.branches():
      together = _columns(logits, condition)
    for name, values in in_turn.items():
      np.testing.assert_array_equal(together[name], values, err_msg=name)

  def test_fewer_than_five_classes_have_no_top5_distance(self):
    got = _columns(_logits(classes=4), _condition("tilt", 1))
    self.assertNotIn("t5d", got)
    self.assertContainsSubset({"flips", "zipf"}, got)
    cell = Cell("m", "digits_p", _condition("tilt", 1))
    metrics = {r.metric for r in _TASK.cell_rows(cell, got)}
    self.assertEqual(metrics, {"flip_probability", "zipf_distance"})
    self.assertEqual((got["top5"][..., 4] == -1).all(), True)


class SequencesSummaryTest(absltest.TestCase):
  def _rows(self, baseline, names=_COMMON, models=("a", "b"), n=3):
    task = sequences.Sequences(base.Setting("digits_p", baseline=baseline))
    cells = [
      (
        Cell(model, "digits_p", _condition(name, 1)),
        _columns(_logits(n, seed=10 * i + m), _condition(name, 1)),
      )
      for m, model in enumerate(models)
      for i, name in enumerate(names)
    ]
    return task.score(cells).rows

  def test_where_nothing_flips_there_are_no_intervals(self):
    task = sequences.Sequences(base.Setting("digits_p", baseline="alexnet"))
    condition = _condition("tilt", 1)
    still = np.repeat(_logits(6)[:, :1], _logits(6).shape[1], axis=1)
    columns = _columns(still, condition)
    rows = task.score([(Cell("a", "digits_p", condition), columns)]).rows
    want = {"flip_probability", "unnormalised_t5d", "zipf_distance"}
    zero = [r for r in rows if r.value == 0]
    of_part = {r.metric for r in zero if r.metric.startswith("part_")}
    self.assertLen(of_part, 4)
    self.assertEqual({r.metric for r in zero} - of_part, {*want, "fr", "t5d"})
    for row in zero:
      self.assertEqual((row.lo, row.hi, row.n), (None, None, 6))
      why = "no interval: every draw gives this value"
      self.assertEqual(row.note.rpartition("; ")[2], why)

  def test_a_model_as_baseline_is_100_percent_at_every_difficulty(self):
    rows = self._rows("model:a", n=12)
    for row in table.select(rows, model="a", metric="fr"):
      self.assertEqual(row.value, 1.0)
    self.assertNotEmpty(table.select(rows, metric="fr", severity=3))
    (mean,) = table.select(rows, model="a", metric="mfr", severity=1)
    self.assertAlmostEqual(mean.value, 1.0)
    (mean,) = table.select(rows, model="a", metric="mt5d", severity=1)
    np.testing.assert_allclose((mean.value, mean.lo, mean.hi), 1.0)
    for row in table.select(rows, model="a", metric="fr"):
      self.assertEqual((row.lo, row.hi, row.note), (1, 1, ""))
    (other,) = table.select(rows, model="b", metric="mt5d", severity=1)
    self.assertTrue(other.lo < other.value < other.hi)
    over = {r.n for r in rows if not r.config and r.has_value}
    self.assertEqual(over, {12})

  def test_an_incomplete_benchmark_has_no_mean(self):
    rows = self._rows("alexnet", _COMMON[1:])
    (mean, _) = table.select(rows, metric="mfr")
    self.assertFalse(mean.has_value)
    self.assertEqual(mean.note, "missing: gaussian_noise (1 of 10)")
    self.assertTrue(all(r.has_value for r in table.select(rows, metric="fr")))

  def test_a_baseline_that_never_flips_divides_nothing(self):
    task = sequences.Sequences(base.Setting("digits_p", baseline="model:a"))
    cells = []
    for model in "ab":
      columns = _columns(_logits(), _condition("tilt", 1))
      if model == "a":
        columns["flips"] = np.zeros_like(columns["flips"])
      cells.append((Cell(model, "digits_p", _condition("tilt", 1)), columns))
    rows = task.score(cells).rows
    for row in table.select(rows, model="b", metric="fr"):
      self.assertFalse(row.has_value)
      self.assertEqual(row.note, "undefined: the baseline's value is 0")


class SequencesRunTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = tiny_runs.folder("sequences")
    cls.rows = table.read(cls.folder / "table.csv")

  def test_rows(self):
    values = {(r.config, r.severity, r.metric): r.value for r in self.rows}
    self.assertContainsSubset(
      {
        ("clean", 0, "error"),
        ("shot_noise_2", 2, "flip_probability"),
        ("motion_blur", 1, "unnormalised_t5d"),
        ("motion_blur", 3, "zipf_distance"),
        ("", None, "clean_error"),
      },
      values,
    )
    for d in (1, 2):  # frames further apart differ more
      self.assertLessEqual(
        values["motion_blur", d, "unnormalised_t5d"],
        values["motion_blur", d + 1, "unnormalised_t5d"],
      )
    cell = tiny_runs.cell(self.folder, "digits_cnn", "digits_p", "motion_blur")
    self.assertEqual(cell["top5"].shape, (40, 21, 5))
    self.assertAlmostEqual(  # a run sums in another order: the last bit differs
      values["motion_blur", 2, "flip_probability"],
      stability.flip_probability(cell["top5"][..., 0], False, 2),
      places=15,
    )
