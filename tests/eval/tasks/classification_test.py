"""Top-1 error of cells; CE, mCE and plain means over them."""

import ml_collections
import numpy as np
from absl.testing import absltest, parameterized
from scipy import stats

from eval.cells import table
from eval.cells.cell import Cell
from eval.metrics import corruption_error, intervals, resampling
from eval.tasks import base, classification
from eval.tasks.parts import top_k
from robust_tfds import conditions

_N = 20


def _task(baseline="", **data) -> classification.Classification:
  data = {"corruptions": "all", "severities": (1, 2, 3, 4, 5), **data}
  setting = base.Setting(
    "imagenet_c", baseline=baseline, data=ml_collections.ConfigDict(data)
  )
  return classification.Classification(setting)


def _columns(wrong: int, ranks: int = 5) -> dict[str, np.ndarray]:
  """`wrong` of `_N` examples predicted wrong, their label second."""
  label = np.zeros(_N, np.int64)
  top5 = np.tile([0, 1, 2, 3, 4], (_N, 1))
  top5[:wrong] = [1, 0, 2, 3, 4]
  top5[:, ranks:] = -1
  ids = np.array([f"{i:02d}" for i in range(_N)])
  return {"label": label, "top5": top5, "group_id": ids}


def _score(task, errors_of, *models) -> list[table.Row]:
  """Scores every condition; errors_of(model, condition) -> wrong examples."""
  return task.score(
    (Cell(m, "imagenet_c", c), _columns(errors_of(m, c)))
    for m in models or ("m",)
    for c in task.conditions()
  ).rows


def _shuffled(wrong, groups, seed) -> dict[str, np.ndarray]:
  """Columns of some mistakes, rows in another order."""
  order = np.random.default_rng(seed).permutation(_N)
  top5 = np.where(wrong[:, None], [1, 0, 2, 3, 4], [0, 1, 2, 3, 4])
  label = np.zeros(_N, np.int64)
  return {"label": label, "top5": top5[order], "group_id": groups[order]}


def _value(rows, **which) -> float:
  (row,) = table.select(rows, **which)
  return row.value


class CellTest(absltest.TestCase):
  def test_errors_with_their_intervals(self):
    cell = Cell("m", "imagenet_c", conditions.Condition("fog", 2))
    error, top5 = _task().cell_rows(cell, _columns(5))
    self.assertEqual((error.metric, error.value, error.n), ("error", 0.25, _N))
    self.assertEqual((error.lo, error.hi), intervals.clopper_pearson(5, _N))
    self.assertEqual((top5.metric, top5.value), ("top5_error", 0.0))

  def test_fewer_classes_have_no_top5_error(self):
    cell = Cell("m", "digits_c", conditions.Condition())
    rows = _task().cell_rows(cell, _columns(5, ranks=3))
    self.assertEqual([r.metric for r in rows], ["error"])

  def test_reduced_alike_in_every_condition(self):
    reducers = {_task().reducer(c) for c in _task().conditions()}
    self.assertEqual(reducers, {top_k.reduce})


class SummaryTest(parameterized.TestCase):
  def test_a_model_of_the_run_as_the_baseline(self):
    rows = _score(
      _task("model:base"),
      lambda m, c: (8 if m == "base" else 4) if c.name else 1,
      "ours",
      "base",
    )
    self.assertAlmostEqual(_value(rows, metric="mce", model="ours"), 0.5)
    self.assertAlmostEqual(_value(rows, metric="mce", model="base"), 1.0)

  def test_a_baseline_that_errs_less_under_corruption(self):
    """Of the baseline fog takes errors away: nothing is relative to that."""

    def wrong(model, condition):
      if model == "ours":
        return 4 if condition.name else 0
      return 2 if condition.name == "fog" else 6 + bool(condition.name)

    task = _task("model:base", corruptions="common")
    rows = _score(task, wrong, "ours", "base")
    for model in ("ours", "base"):
      of = table.select(rows, model=model)
      (fog,) = table.select(of, metric="relative_ce", corruption="fog")
      (mean,) = table.select(of, metric="relative_mce")
      self.assertEqual(
        fog.note, "undefined: corruption does not raise the baseline's error"
      )
      self.assertEqual(
        mean.note,
        "undefined: some corruptions do not raise the baseline's error",
      )
      for row in (fog, mean):
        self.assertFalse(row.has_value)
        self.assertEqual((row.lo, row.hi), (None, None))
      (snow,) = table.select(of, metric="relative_ce", corruption="snow")
      self.assertAlmostEqual(snow.value, 4 if model == "ours" else 1)
      self.assertTrue(table.select(of, metric="mce")[0].has_value)

  def test_the_note_names_the_cells(self):
    task = _task("alexnet", corruptions="common")
    cells = [
      (Cell("m", "imagenet_c", c), _columns(4))
      for c in task.conditions()
      if c.config not in ("clean", "fog_3", "fog_4")
    ]
    rows = task.score(cells).rows
    (mce,) = table.select(rows, metric="mce")
    self.assertEqual(mce.note, "missing: fog 3, fog 4 (2 of 75)")
    self.assertFalse(mce.has_value)
    (ce,) = table.select(rows, metric="ce", corruption="fog")
    self.assertEqual(ce.note, "missing: fog 3, fog 4 (2 of 5)")
    (relative,) = table.select(rows, metric="relative_mce")
    self.assertStartsWith(relative.note, "missing: clean, fog 3, fog 4 (3")
    (ce,) = table.select(rows, metric="ce", corruption="frost")
    self.assertTrue(ce.has_value)

  def test_a_baseline_that_lacks_cells(self):
    task = _task("model:base", corruptions="fog")
    cells = [
      (Cell(m, "imagenet_c", c), _columns(4))
      for m in ("ours", "base")
      for c in task.conditions()
      if (m, c.config) != ("base", "fog_3")
    ]
    rows = task.score(cells).rows
    (ce,) = table.select(rows, metric="ce", model="ours")
    self.assertEqual(ce.note, "of the baseline missing: fog 3 (1 of 5)")
    (mean,) = table.select(rows, metric="mean_error", model="ours")
    self.assertTrue(mean.has_value)

  def test_nothing_corrupted_has_no_means(self):
    rows = _score(_task("alexnet", corruptions="none"), lambda *_: 4)
    self.assertEqual(
      {r.metric for r in rows}, {"error", "top5_error", "clean_error"}
    )

  def test_what_had_to_be_left_out_makes_no_part(self):
    metrics = {
      kind: {
        r.metric
        for r in _score(_task("alexnet", **data), lambda *_: 4)
        if r.has_value
      }
      for kind, data in (
        ("asked", {"corruptions": "fog,snow"}),
        ("absent", {"corruptions": "common", "left_out": "frost"}),
      )
    }
    self.assertContainsSubset({"part_mce"}, metrics["asked"])
    self.assertNoCommonElements({"part_mce", "mce"}, metrics["absent"])
    self.assertNotIn("part_mean_corruption_error", metrics["absent"])

  def test_without_a_baseline_nothing_is_normalised(self):
    metrics = {r.metric for r in _score(_task(), lambda *_: 4)}
    self.assertNotIn("mce", metrics)
    self.assertIn("mean_corruption_error", metrics)

  def test_conditions_share_their_draws(self):
    """The same picture fails everywhere: 75 cells say no more than one."""
    rows = _score(_task(corruptions="common"), lambda *_: 6)
    ids = _columns(6)["group_id"]
    lo, hi = (
      resampling.Draws.from_groups(ids).means(np.arange(_N) < 6, ids).interval()
    )
    (mean,) = table.select(rows, metric="mean_corruption_error")
    self.assertEqual(mean.n, _N)
    np.testing.assert_allclose((mean.lo, mean.hi), (lo, hi), rtol=1e-12)
    self.assertGreater(mean.hi - mean.lo, 0.3)
    (clean,) = table.select(rows, metric="clean_error")
    self.assertEqual((clean.lo, clean.hi), intervals.clopper_pearson(6, _N))

  def test_a_baseline_of_the_run_is_drawn_together(self):
    rows = _score(
      _task("model:base", corruptions="common"),
      lambda m, c: 3 + 2 * c.level + (m == "ours"),
      "ours",
      "base",
    )
    for metric in ("ce", "mce", "relative_mce"):
      row = table.select(rows, metric=metric, model="base")[0]
      self.assertAlmostEqual(row.lo, 1, places=12)
      self.assertAlmostEqual(row.hi, 1, places=12)
      ours = table.select(rows, metric=metric, model="ours")[0]
      self.assertLess(ours.lo, ours.hi)

  def test_every_number_over_cells_has_its_interval(self):
    rows = _score(_task("alexnet"), lambda _, c: 4 + c.level)
    over = [r for r in rows if not r.config]
    self.assertLen(over, 19 * 3 + 5)
    for row in over:
      self.assertBetween(row.value, row.lo, row.hi)
      self.assertLess(row.lo, row.hi, row.metric)
      self.assertEqual(row.n, _N)

  def test_an_interval_of_ce_by_a_loop(self):
    """Draws, sums, blocks and ends of a toy, written out."""
    task = _task("alexnet", corruptions="fog")
    rng = np.random.default_rng(3)
    groups = np.array([f"g{i // 3}" for i in range(_N)])
    wrong = {c: rng.random(_N) < 0.2 + 0.1 * c.level for c in task.conditions()}
    rows = task.score(
      (Cell("m", "imagenet_c", c), _shuffled(wrong[c], groups, c.level))
      for c in task.conditions()
    ).rows
    (row,) = table.select(rows, metric="ce")
    by = sum(corruption_error.load_baseline("alexnet")["errors"]["fog"])
    names = sorted(set(groups.tolist()))
    identity = (np.array(names)[:, None] == names).astype(float)
    draws = resampling.Draws.from_groups(np.array(names))
    times = draws.means(identity, np.array(names)).draws.T * len(names)
    drawn = []
    left_out = 1 - np.eye(len(names), dtype=int)
    for weights in [*times.round().astype(int), *left_out]:
      error = 0.0
      for condition in task.conditions()[1:]:
        misses = count = 0
        for name, weight in zip(names, weights):
          for i in range(_N):
            if groups[i] == name:
              misses += weight * int(wrong[condition][i])
              count += weight
        error += misses / count
      drawn.append(error / by)
    drawn, without = drawn[:-7], np.array(drawn[-7:])
    sizes = [3] * 6 + [2]
    effective = sum(sizes) ** 2 / sum(s * s for s in sizes)
    t = stats.t.ppf(0.975, effective - 1)
    value = sum(wrong[c].mean() for c in task.conditions()[1:]) / by
    below = sum(d < value - 1e-12 for d in drawn)
    below += sum(abs(d - value) <= 1e-12 for d in drawn) / 2
    bias = stats.norm.ppf(below / len(drawn))
    off = without.mean() - without
    error = (6 / 7 * sum(off**2)) ** 0.5
    a = sum(off**3) / (6 * sum(off**2) ** 1.5) + bias
    a += np.mean(np.array(drawn) - value) / np.std(np.array(drawn) - value)
    far, near = (((1 + 3 * a * (y - bias)) ** (1 / 3) - 1) / a for y in (t, -t))
    want = value - max(t, far) * error, value - min(-t, near) * error
    np.testing.assert_allclose((row.lo, row.hi), want, rtol=1e-3)
