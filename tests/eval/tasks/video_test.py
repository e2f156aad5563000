"""Video: conditions, views averaged, gamma in the table."""

import types

import jax
import jax.numpy as jnp
import ml_collections
import numpy as np
from absl.testing import absltest, parameterized

from eval.cells import cell_facts, table
from eval.cells.cell import Cell
from eval.report import reports
from eval.tasks import base, video
from robust_tfds import conditions
from robust_tfds.conditions import Condition
from tests import in_folder
from tests.eval import tiny_runs


def _task(dataset="ucf101_p", **setting):
  data = ml_collections.ConfigDict(setting.pop("data", {}))
  return video.Video(base.Setting(dataset, data=data, **setting))


class ConditionsTest(absltest.TestCase):
  def _configs(self, perturbations, severities=(1, 5)):
    data = {"perturbations": perturbations, "severities": severities}
    return [c.config for c in _task(data=data).conditions()]

  def test_names(self):
    self.assertLen(self._configs("all", (1, 2, 3, 4, 5)), 91)
    self.assertEqual(
      self._configs("camera,jpeg", 2),
      [
        "clean",
        "jpeg_2",
        "static_rotation_2",
        "random_rotation_2",
        "translation_2",
      ],
    )
    with self.assertRaisesRegex(ValueError, "Did you mean 'jumbling'"):
      self._configs("jumblin")
    with self.assertRaisesRegex(ValueError, "must be 1-5"):
      self._configs("jpeg", (7,))

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
    return {"label": label, "top5": top5 % 9, "group_id": videos}

  def _rows(self, right_of, groups=None, lacking=()):
    """The table of all conditions but some; f(condition) -> right videos."""
    return (
      _task()
      .score(
        (Cell("m", "ucf101_p", c), self._columns(right_of(c), groups))
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
    over = [r for r in rows if not r.config]
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

  def test_columns_of_natural_shifts(self):
    batch = types.SimpleNamespace(
      mask=np.array([True, False]),
      example_id=["a", ""],
      group_id=["a", ""],
      frame=np.zeros(2, np.int32),
      label=np.array([3, -1], np.int32),
      examples=[{"shift": b"old_person", "category": b"Age"}],
    )
    got = _task().example_columns(batch)
    self.assertEqual(got["label"].tolist(), [3])
    self.assertEqual(got["shift"].tolist(), ["old_person"])
    self.assertEqual(got["category"].tolist(), ["Age"])

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


class RunTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = tiny_runs.folder("video")
    cls.rows = table.read(cls.folder / "table.csv")

  def test_rows_and_reports(self):
    clean = table.select(self.rows, config="clean", metric="accuracy")[0]
    self.assertEqual(clean.n, 20)
    self.assertBetween(clean.value, clean.lo, clean.hi)
    (temporal,) = table.select(self.rows, metric="gamma_r/temporal")
    self.assertIn("missing: all but clean, freezing", temporal.note)
    names = {p.name for p in (self.folder / "reports").iterdir()}
    self.assertContainsSubset(
      {
        "action_confusion.md",
        "action_confusion.png",
        "action_curves.png",
        "action_strips.png",
        "report.html",
        "summary.txt",
      },
      names,
    )
    # One severity is no mean over five, which these bars are of.
    self.assertNotIn("action_drops.png", names)
