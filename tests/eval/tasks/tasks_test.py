"""Tasks in general, and those of pictures."""

import dataclasses
import pathlib

import ml_collections
import numpy as np
from absl.testing import absltest, parameterized
from scipy import stats

from eval import tasks
from eval.cells import table
from eval.cells.cell import Cell
from eval.metrics import (
  corruption_error,
  definitions,
  intervals,
  rates,
  resampling,
)
from eval.tasks import base, classification, subtypes
from eval.tasks.headlines import headlines as headlines_lib
from robust_tfds import conditions, datasets, errors
from robust_tfds.conditions import Condition
from tests.eval import same_tables

_OF_CELLS = (
  "error",
  "accuracy",
  "flip_probability",
  "unnormalised_t5d",
  "bbox/AP",
  "segm/AP",
  "acc_orig",
  "acc_pmk",
  "drop",
  "map_orig",
  "map_pmk",
  "seen_subtype_accuracy",
  "unseen_subtype_accuracy",
  "value",
  "miou",
)
_ONE_CONDITION = ("frames", "frame_detection", "subtypes")
# What is the mean over corruptions of means over levels.
_PLAIN = {
  **dict.fromkeys(("mean_error", "mean_corruption_error"), "error"),
  "extra_mean_corruption_error": "error",
  "mean_accuracy": "accuracy",
  "mean_value": "value",
  **dict.fromkeys(("mean_miou", "extra_mean_miou"), "miou"),
  "mean_flip_probability": "flip_probability",
  "mean_unnormalised_t5d": "unnormalised_t5d",
  **dict.fromkeys(("mean_ap", "mpc", "mpc_validation"), "bbox/AP"),
}


def _random(listed, seed):
  """Numbers of cells; corruption raises all errors."""
  rng = np.random.default_rng(seed)
  return {
    c: {
      m: headlines_lib.value_alone(
        rng.uniform(0.2, 0.4, 3) + 0.4 * (not c.clean)
      )
      if m in ("flip_probability", "unnormalised_t5d")
      else headlines_lib.value_alone(
        rng.uniform(0.2, 0.4) + 0.4 * (not c.clean)
      )
      for m in _OF_CELLS
    }
    for c in listed
  }


def _by_definition(key, cells, ours, theirs):
  """A headline over some of the cells, number by number."""
  metric, corruption, level = key
  kind, _, last = metric.rpartition("/")
  metric = metric if metric in _PLAIN else last

  def at(numbers, condition, name):
    name = name.replace("bbox", kind or "bbox")
    value = numbers[condition][name].value
    noise = value.ndim and len(
      {c.level for c in ours if c.name == condition.name}
    )
    row = 0 if noise and noise > 1 else (level or 1) - 1
    return float(value[row] if value.ndim else value)

  family = next(
    f
    for f in conditions.FAMILIES.values()
    if all(c in f.conditions() for c in ours)
  )
  extra = "extra" in metric or "validation" in metric
  names = (
    [corruption] if corruption else family.names("extra" if extra else "common")
  )
  of_names = {
    n: [
      c
      for c in cells
      if c.name == n
      and (level is None or c.level == level or len(family.levels(n)) == 1)
    ]
    for n in names
  }
  of_names = {n: of for n, of in of_names.items() if of}
  clean = Condition()

  def mean(each):
    return {n: np.mean([each(c) for c in of]) for n, of in of_names.items()}

  if metric in _PLAIN:
    return np.mean([*mean(lambda c: at(ours, c, _PLAIN[metric])).values()])
  if metric in ("fr", "mfr", "t5d", "mt5d"):
    plain = "flip_probability" if "fr" in metric else "unnormalised_t5d"
    each = mean(lambda c: at(ours, c, plain) / at(theirs, c, plain))
    return np.mean([*each.values()])
  if metric in ("gam", "retention"):
    each = [*mean(lambda c: at(ours, c, "miou")).values()]
    return (
      min(each) if metric == "gam" else np.mean(each) / at(ours, clean, "miou")
    )
  if metric in ("cd", "mcd", "rcd", "mrcd"):
    one, other = (
      at(of, clean, "miou") if "r" in metric else 1 for of in (ours, theirs)
    )
    lost = mean(lambda c: one - at(ours, c, "miou"))
    of_other = mean(lambda c: other - at(theirs, c, "miou"))
    return np.mean([lost[n] / of_other[n] for n in lost])
  if metric == "value_retained":
    each = mean(lambda c: at(ours, c, "value"))
    return np.mean([*each.values()]) / at(ours, clean, "value")
  if metric == "accuracy_retained":
    right = 1 - at(ours, clean, "error")
    each = mean(lambda c: (1 - at(ours, c, "error")) / right)
    return np.mean([*each.values()])
  if "ce" in metric:
    less = [0.0, 0.0]
    if "relative" in metric:
      less = [at(numbers, clean, "error") for numbers in (ours, theirs)]
    sums = [
      [
        sum(at(numbers, c, "error") - x for c in of)
        for numbers, x in zip((ours, theirs), less)
      ]
      for of in of_names.values()
    ]
    return np.mean([a / b for a, b in sums])
  whole = at(ours, clean, "accuracy")
  each = mean(
    lambda c: (
      at(ours, c, "accuracy") / whole
      if metric == "gamma_r"
      else 1 - (whole - at(ours, c, "accuracy"))
    )
  )
  groups = {}
  for name, value in each.items():
    groups.setdefault(family.row(name).group, []).append(value)
  return np.mean([np.mean(values) for values in groups.values()])


class TasksTest(parameterized.TestCase):
  """Every file of the folder is one task; bound to its setting."""

  def test_the_folder_is_the_registry(self):
    files = {p.stem for p in pathlib.Path(tasks.__file__).parent.glob("*.py")}
    self.assertCountEqual(tasks.names(), files - {"__init__", "base"})

  @parameterized.parameters(*tasks.names())
  def test_a_file_holds_one_task_with_its_facts(self, name):
    task = tasks.get(name)
    self.assertTrue(issubclass(task, base.Task))
    self.assertEqual(task.facts.task, name)
    self.assertIn(task.family, conditions.FAMILIES.values())
    self.assertEqual(task(base.Setting("digits_c")).setting.dataset, "digits_c")

  def test_every_headline_has_its_cells_and_its_words(self):
    for name in tasks.names():
      task = tasks.get(name)(base.Setting("imagenet_vid_robust"))
      one = name in _ONE_CONDITION
      conditions_ = task.family.conditions()[: 1 if one else None]
      cells = {condition: _OF_CELLS for condition in conditions_}
      listed = task.headlines(cells, cells)
      self.assertNotEmpty(listed)
      self.assertLen({headline.key for headline in listed}, len(listed))
      for headline in listed:
        self.assertEqual(headline.missing(cells, cells), "")
        self.assertTrue(headline.is_triggered(cells))
        found = definitions.find(name, headline.metric)
        self.assertIsNotNone(found, headline.metric)

  def test_a_part_of_the_conditions_has_means_under_their_own_names(self):
    for name in set(tasks.names()) - set(_ONE_CONDITION):
      task = tasks.get(name)(base.Setting("digits_c"))
      asked = [c for c in task.family.conditions() if c.level in (0, 1)][:3]
      numbers = {m: headlines_lib.value_alone([0.5] * 3) for m in _OF_CELLS}
      cells = {condition: numbers for condition in asked}
      over = {key[0] for key in task.over_cells(cells, cells)}
      parts = {m for m in over if definitions.metric(name, m).part_of}
      shown = {m.name for m in task.facts.headlines + task.facts.details}
      self.assertNotEmpty(parts, name)
      wholes = {m: definitions.metric(name, m).part_of for m in parts}
      self.assertContainsSubset({m for m in parts if wholes[m] in shown}, shown)
      self.assertNoCommonElements(parts, task.facts.ranked)
      for metric in parts:
        _, defined = definitions.find(name, metric)
        self.assertStartsWith(defined.name, definitions.PART)

  @parameterized.parameters(*sorted(set(tasks.names()) - set(_ONE_CONDITION)))
  def test_a_part_is_the_headline_over_its_cells(self, name):
    """Of all cells it is the headline, of some what its definition says."""
    task = tasks.get(name)(base.Setting("digits_c"))
    every = task.family.conditions()
    ours, theirs = (_random(every, seed) for seed in (0, 1))
    for headline in task.headlines(ours, theirs):
      if headline.over is not None:
        corrupted = [c for c in headline.cells if not c.clean]
        again = dataclasses.replace(headline, formula=headline.over(corrupted))
        whole, value = (h.number(ours, theirs) for h in (headline, again))
        np.testing.assert_array_equal(whole.value, value.value)
        expected = _by_definition(headline.key, corrupted, ours, theirs)
        self.assertAlmostEqual(float(whole.value), expected)
    some = [c for i, c in enumerate(every) if c.clean or i % 7 in (0, 1, 4)]
    there = {c: ours[c] for c in some}
    held_out = [c for c in every if c not in some]
    for prefix, numbers in (
      ("part_", task.over_cells(there, theirs)),
      ("held_out_", task.over_cells(ours, theirs, trained_on=held_out)),
    ):
      parts = {key: n for key, n in numbers.items() if prefix in key[0]}
      self.assertGreaterEqual(len(parts), 2)
      for (metric, *rest), number in parts.items():
        key = metric.replace(prefix, ""), *rest
        expected = _by_definition(key, some, ours, theirs)
        self.assertAlmostEqual(float(number.value), expected, msg=metric)

  @parameterized.parameters(
    ("detection", "Detection has no baseline model, got 'alexnet': rPC is rel"),
    ("video", "Video has no baseline model, got 'alexnet': gamma is relative"),
    ("frames", "pm-k is not normalised: set config.baseline='', got 'alexnet'"),
    (
      "subtypes",
      "Subtype robustness is not normalised: set config.baseline=''",
    ),
  )
  def test_baselines_of_what_is_not_normalised(self, name, words):
    task = tasks.get(name)(base.Setting("digits_c", baseline="alexnet"))
    with self.assertRaisesRegex(errors.UserError, words):
      task.check_baseline([])

  def test_unknown(self):
    with self.assertRaisesRegex(errors.UserError, "mean 'sequences'.* Known"):
      tasks.get("sequence")
    for name in ("base", "parts"):
      with self.assertRaisesRegex(errors.UserError, "Unknown task"):
        tasks.get(name)


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
  frame = np.zeros(_N, np.int32)
  return {"label": label, "top5": top5, "group_id": ids, "frame": frame}


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
  frame = np.zeros(_N, np.int32)
  rows = {"top5": top5[order], "group_id": groups[order], "frame": frame}
  return {"label": label, **rows}


def _value(rows, **which) -> float:
  (row,) = table.select(rows, **which)
  return row.value


class CellTest(absltest.TestCase):
  """Top-1 error of cells; CE, mCE and plain means over them."""

  def test_errors_with_their_intervals(self):
    cell = Cell("m", "imagenet_c", conditions.Condition("fog", 2))
    rows = _task().cell_rows(cell, _columns(5))
    error, top5 = same_tables.task_rows(rows)
    self.assertEqual((error.metric, error.value, error.n), ("error", 0.25, _N))
    self.assertEqual((error.lo, error.hi), intervals.clopper_pearson(5, _N))
    self.assertEqual((top5.metric, top5.value), ("top5_error", 0.0))

  def test_fewer_classes_have_no_top5_error(self):
    cell = Cell("m", "digits_c", conditions.Condition())
    rows = _task().cell_rows(cell, _columns(5, ranks=3))
    self.assertEqual([r.metric for r in same_tables.task_rows(rows)], ["error"])


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
      {r.metric for r in same_tables.task_rows(rows)},
      {"error", "top5_error", "clean_error"},
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
    over = [r for r in same_tables.task_rows(rows) if not r.config]
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


def _subtypes_task(dataset="digits_subtypes", **data):
  setting = base.Setting(dataset=dataset, data=ml_collections.ConfigDict(data))
  return subtypes.Subtypes(setting)


def _subtypes_columns(right: dict[str, list[int]]) -> dict[str, np.ndarray]:
  """Columns of digit -> whether each of its pictures is right."""
  loops = "0689"
  groups = [digit for digit, of in right.items() for _ in of]
  hits = np.array([hit for of in right.values() for hit in of])
  label = np.array([int(g not in loops) for g in groups])
  answer = np.where(hits, label, 1 - label)
  top5 = np.full((len(groups), 5), -1)
  top5[:, 0], top5[:, 1] = answer, 1 - answer
  return {
    "example_id": np.array([f"{g}/{i}" for i, g in enumerate(groups)]),
    "group_id": np.array(groups),
    "frame": np.zeros(len(groups), np.int32),
    "label": label,
    "top5": top5,
  }


_BEVERAGES = {
  name: home
  for name, home in datasets.class_or_unknown(
    "imagenet22k_subtypes"
  ).SUBTYPES.items()
  if home[0] == 5
}
_RIGHT = {
  "0": [1, 1, 1, 0],
  "6": [1, 1],
  "1": [1, 1, 0],
  "2": [1],
  "9": [1, 0],
  "3": [0, 0, 0, 1],
  "4": [1, 1],
}


class SubtypesTest(parameterized.TestCase):
  """Subtype robustness: numbers by hand, whose draws, notes, refusals."""

  def setUp(self):
    super().setUp()
    self.cell = Cell("m", "digits_subtypes", Condition())
    self.columns = _subtypes_columns(_RIGHT)

  def _rows(self, columns=None):
    rows = _subtypes_task().score([(self.cell, columns or self.columns)]).rows
    return {(row.config, row.metric): row for row in rows}

  def test_numbers_by_hand(self):
    rows = self._rows()
    for metric, value, n in (
      ("seen_subtype_accuracy", 8 / 10, 10),
      ("unseen_subtype_accuracy", 4 / 8, 8),
      ("seen_subtype_accuracy/class=0", 5 / 6, 6),
      ("unseen_subtype_accuracy/class=1", 3 / 6, 6),
    ):
      row = rows["clean", metric]
      self.assertAlmostEqual(row.value, value)
      self.assertEqual(row.n, n)
    self.assertAlmostEqual(rows["", "subtype_gap"].value, 0.3)
    self.assertAlmostEqual(rows["", "subtype_gap/class=1"].value, 3 / 4 - 3 / 6)
    self.assertAlmostEqual(rows["", "seen_subtype_accuracy"].value, 0.8)

  def test_intervals_are_of_draws_of_subtypes(self):
    rng = np.random.default_rng(0)
    right = {d: rng.integers(0, 2, 30).tolist() for d in "0681257934"}
    columns = _subtypes_columns(right)
    rows = self._rows(columns)
    row = rows["clean", "seen_subtype_accuracy"]
    seen = np.isin(columns["group_id"], list("0681257"))
    hits = (columns["top5"][:, 0] == columns["label"])[seen]
    draws = resampling.Draws.from_groups(columns["group_id"])
    totals = resampling.Totals.from_values(hits, columns["group_id"][seen])
    (number,) = draws.total_means([totals])
    lo, hi = number.interval()
    self.assertAlmostEqual(row.lo, lo)
    self.assertAlmostEqual(row.hi, hi)
    alone = rates.interval(hits, np.arange(hits.size).astype(str))
    self.assertNotAlmostEqual(row.lo, alone[0])
    gap = rows["", "subtype_gap"]
    self.assertTrue(gap.lo < gap.value < gap.hi)

  def test_a_gap_is_held_against_its_terms(self):
    """7 seen digits and 3 others: no end beyond what the two accuracies allow."""
    rng = np.random.default_rng(1)
    few = {d: rng.random(40) < 0.97 for d in "0681257"}
    few |= {
      d: rng.random(40) < p for d, p in (("9", 0.3), ("3", 0.9), ("4", 0.5))
    }
    rows = self._rows(
      _subtypes_columns({d: of.tolist() for d, of in few.items()})
    )
    for kind in ("", "/class=0", "/class=1"):
      where = "" if not kind else "clean"
      seen = rows[where, f"seen_subtype_accuracy{kind}"]
      unseen = rows[where, f"unseen_subtype_accuracy{kind}"]
      gap = rows["", f"subtype_gap{kind}"]
      if unseen.lo is None:
        note = f"no interval: {unseen.metric} has none"
        self.assertEqual((gap.lo, gap.hi, gap.note), (None, None, note))
        continue
      for low, gap_end, ends in (
        (True, gap.lo, (seen.value - seen.lo, unseen.hi - unseen.value)),
        (False, gap.hi, (seen.hi - seen.value, unseen.value - unseen.lo)),
      ):
        reach = gap.value - gap_end if low else gap_end - gap.value
        self.assertGreaterEqual(reach, max(ends) - 1e-12)
        self.assertLessEqual(reach, sum(ends) + 1e-12)
    self.assertIsNotNone(rows["", "subtype_gap"].lo)

  def test_the_degrees_of_freedom_of_a_gap_are_of_the_side_that_decides(self):
    """4 seen beverages and 327 others: t of about 3 degrees, not of 99."""
    task = _subtypes_task("imagenet22k_subtypes")
    kind = {d: (k, part) for d, (k, part) in _BEVERAGES.items()}
    rng = np.random.default_rng(0)
    right = {
      d: rng.random(10) < (rng.uniform(0.6, 1) if part == "seen" else 0.6)
      for d, (_, part) in kind.items()
    }
    groups = np.repeat(list(right), 10)
    hits = np.concatenate(list(right.values()))
    label = np.full(len(groups), kind[groups[0]][0])
    top5 = np.full((len(groups), 5), -1)
    top5[:, 0] = np.where(hits, label, label + 1)
    ids = np.arange(len(groups)).astype(str)
    columns = {
      "example_id": ids,
      "group_id": groups,
      "label": label,
      "top5": top5,
    }
    scores = task.score([(self.cell, columns)])
    number = scores.headlines["m"]["subtype_gap", "", None]
    self.assertBetween(number.freedom, 3, 4)
    rows = {(r.config, r.metric): r for r in scores.rows}
    gap, seen = (
      rows[key] for key in (("", "subtype_gap"), ("", "seen_subtype_accuracy"))
    )
    self.assertGreaterEqual(gap.hi - gap.lo, seen.hi - seen.lo)

  def test_absent_subtypes_are_in_the_notes(self):
    rows = self._rows()
    note = rows["clean", "seen_subtype_accuracy"].note
    self.assertIn("3 of 7 subtypes of seen have no picture: 8, 5, 7", note)
    whole = self._rows(_subtypes_columns({d: [1, 0] for d in "0681257934"}))
    self.assertNotIn("subtypes", whole["clean", "seen_subtype_accuracy"].note)
    rows = self._rows(_subtypes_columns({"0": [1, 1, 0], "1": [1]}))
    self.assertNotIn(("clean", "unseen_subtype_accuracy"), rows)
    self.assertNotIn(("", "subtype_gap"), rows)

  def test_refuses(self):
    with self.assertRaisesRegex(errors.UserError, "digits_c has no subtypes"):
      _subtypes_task("digits_c").conditions()
    with self.assertRaisesRegex(errors.UserError, "limit=5 would leave"):
      _subtypes_task(limit=5)
    setting = base.Setting("digits_subtypes", baseline="alexnet")
    with self.assertRaisesRegex(errors.UserError, "not normalised"):
      subtypes.Subtypes(setting).check_baseline(["m"])
