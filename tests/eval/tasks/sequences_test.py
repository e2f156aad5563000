"""Sequences: what is kept on the device, tables, whole runs on tiny data."""

import pathlib

import jax
import ml_collections
import numpy as np
import pytest
from absl.testing import absltest, parameterized

from eval.cells import table
from eval.cells.cell import Cell
from eval.metrics import stability
from eval.pipeline import inputs
from eval.tasks import base, sequences
from robust_tfds import conditions
from tests import accelerators
from tests.eval import tiny_runs

_COMMON = conditions.SEQUENCES.names("common")
_TASK = sequences.Sequences(base.Setting("digits_p"))
_condition = conditions.SEQUENCES.condition
_ROOT = pathlib.Path(__file__).resolve().parents[3]


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


class ReduceTest(parameterized.TestCase):
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


class ConditionsTest(parameterized.TestCase):
  def _conditions(self, perturbations="all", difficulties=(1,)):
    data = ml_collections.ConfigDict(
      {"perturbations": perturbations, "difficulties": difficulties}
    )
    task = sequences.Sequences(base.Setting("digits_p", data=data))
    return [c.config for c in task.conditions()]

  def test_names(self):
    self.assertLen(self._conditions(), 15)
    self.assertEqual(
      self._conditions("translate,shot_noise", (1, 3)),
      ["clean", "shot_noise", "shot_noise_3", "translate"],
    )
    self.assertEqual(self._conditions("none"), ["clean"])


class SummaryTest(absltest.TestCase):
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


class RunTest(parameterized.TestCase):
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

  def test_all_reports(self):
    config = tiny_runs.config(
      "sequences", perturbations="common", limit=8, difficulties=(1,)
    )
    with config.unlocked():
      config.reports, config.baseline = True, "model:digits_cnn"
    workdir = pathlib.Path(self.create_tempdir().full_path) / "reports"
    tiny_runs.copy("sequences", workdir, cells=False, config=False)
    tiny_runs.start(config, workdir)
    names = {p.name for p in (workdir / "reports").iterdir()}
    self.assertContainsSubset(
      {
        "summary.txt",
        "leaderboard.md",
        "leaderboard.tex",
        "cells.md",
        "stability_bars.png",
        "stability_scatter.png",
        "strips.png",
        "report.html",
      },
      names,
    )
    page = (workdir / "reports" / "report.html").read_text()
    self.assertRegex(
      page, r"digits_cnn: [^<]* wrong clean, [^<]* flips under 10"
    )
    self.assertEqual(page.count('<img class="chart"'), 1)  # the scatter
    self.assertEqual(page.count('class="line"'), 10)  # a perturbation each
    self.assertIn("mFR", page)
