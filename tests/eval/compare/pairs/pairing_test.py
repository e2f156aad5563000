"""Cells paired, and the numbers of their differences."""

import numpy as np
import pytest
from absl.testing import absltest, parameterized
from scipy import stats

from eval.cells.facts import TaskFacts
from eval.cells.workdir import Workdir
from eval.compare.pairs import (
  baseline,
  cell_tests,
  lines,
  numbers,
  over_cells,
  pairing,
)
from eval.compare.pairs.numbers import Numbers
from eval.compare.sides import Side
from eval.metrics import answers as answer_metrics
from eval.metrics import calibration, corruption_error, significance
from eval.metrics.answers.base import Answers
from eval.metrics.replicates import Replicates
from eval.metrics.resampling import Draws, Totals
from robust_tfds import errors
from robust_tfds.conditions import Condition
from tests.eval.compare import small_runs, task_runs
from tests.eval.compare.pairs import sides_case


class ModelsTest(parameterized.TestCase):
  """Which models and conditions are compared, and what is refused."""

  @parameterized.parameters(
    (["a", "b"], ["b", "a"], "", [("a", "a"), ("b", "b")]),
    (["a"], ["a", "c"], "", [("a", "a")]),
    (["a", "b"], ["b", "c"], "a,c", [("a", "c")]),
    (["a", "b"], ["a", "b"], "b,a", [("b", "a")]),
    (["a"], ["c"], " a , c", [("a", "c")]),
    (["a,x"], ["c"], "a,x,c", [("a,x", "c")]),
  )
  def test_pairs(self, first, second, named, want):
    self.assertEqual(pairing.models(first, second, named), want)

  @parameterized.parameters(
    ("", r"the first has net, vit, the second cnn\. .*--models=net,cnn"),
    ("net", r"expected A,B, a label of the first run \(net, vit\)"),
    ("nett,cnn", "model of the first run 'nett'.*Did you mean 'net'"),
    ("net,cn", "model of the second run 'cn'.*Did you mean 'cnn'"),
    ("a,b,c", "expected A,B"),
  )
  def test_refusals(self, named, message):
    with self.assertRaisesRegex(errors.UserError, message):
      pairing.models(["net", "vit"], ["cnn"], named)


class RunsTest(sides_case.TestCase):
  def test_common_conditions(self):
    one = self.side("one", chosen=lambda _, c: c.level != 2)
    other = self.side("other", chosen=lambda _, c: c.level != 5)
    common, notes = pairing.conditions(one, other)
    self.assertEqual(
      [c.config for c in common], ["clean", "fog_1", "fog_3", "fog_4"]
    )
    self.assertEqual(
      notes,
      [
        "Only in the first run, and not compared: fog_5.",
        "Only in the second run, and not compared: fog_2.",
      ],
    )

  def test_no_common_condition(self):
    one = self.side("one", chosen=lambda _, c: c.level == 2)
    other = self.side("other", chosen=lambda _, c: c.level == 3)
    with self.assertRaisesRegex(
      errors.UserError, "in common: the first has fog_2, the second fog_3"
    ):
      pairing.conditions(one, other)

  @parameterized.parameters(
    ({"codec": "jpeg85"}, "codec: raw .first., jpeg85 .second."),
    ({"geometry": "resize"}, "geometry: none .first., resize"),
    ({"px": [64, 64]}, "px: 32 x 32 .first., 64 x 64 .second."),
    ({"settings": {"views": 5}}, "views: unknown .first., 5"),
    ({"codec": None}, "codec: raw .first., unknown .second."),
    (
      {"codec": "h264", "pixels": 2},
      "codec: raw .*h264 .second.; pixels: 4 .first., 2 ",
    ),
  )
  def test_other_data(self, facts, message):
    one, other = self.side("one"), self.side("other", facts=facts)
    with self.assertRaisesRegex(
      errors.UserError, f"different data, .*{message}"
    ):
      pairing.check_facts(one, other, [Condition()])

  def test_facts_that_nobody_noted(self):
    one, other = (self.side(n, noted=False) for n in ("one", "other"))
    (note,) = pairing.check_facts(one, other, list(one.cells))
    self.assertIn("Neither run records these facts", note)
    self.assertIn("version", note)
    self.assertEmpty(
      pairing.check_facts(*[self.side("noted")] * 2, [Condition()])
    )

  def test_other_decoders_are_said(self):
    one = self.side("one")
    other = self.side("other", facts={"decoders": "read with PyAV 18"})
    (note,) = pairing.check_facts(one, other, list(one.cells))
    self.assertIn("none (first); read with PyAV 18 (second)", note)


def _columns(**changes):
  ids = np.array(["a", "b", "c"])
  return {
    "example_id": ids,
    "group_id": ids,
    "frame": np.zeros(3, np.int32),
    "label": np.array([0, 1, 2]),
    **changes,
  }


class ColumnsTest(parameterized.TestCase):
  @parameterized.parameters(
    (
      {"example_id": np.array(["a", "b", "d"])},
      "fog_3: the runs have different examples: 2 are in only one, e.g. c",
    ),
    (
      {"label": np.array([0, 5, 2])},
      "fog_3: 1 of 3 examples differ in their true class.* b: 1 in the first run, 5",
    ),
    (
      {"group_id": np.array(["a", "a", "c"])},
      "differ in their group, e.g. b: b in the first run, a in",
    ),
  )
  def test_refusals(self, change, message):
    with self.assertRaisesRegex(errors.UserError, message):
      pairing.check_columns(Condition("fog", 3), _columns(), _columns(**change))

  def test_several_labels(self):
    one = _columns(labels=np.array([[0, -1], [1, 2], [2, -1]]))
    other = _columns(labels=np.array([[0, -1], [1, 3], [2, -1]]))
    with self.assertRaisesRegex(errors.UserError, r"b: \[1, 2\] in .*\[1, 3\]"):
      pairing.check_columns(Condition(), one, other)
    with self.assertRaisesRegex(
      errors.UserError, "differ in their true classes"
    ):
      pairing.check_columns(
        Condition(), one, _columns(labels=np.zeros((3, 3), int))
      )

  def test_other_frames(self):
    frames = {"example_id": np.array(["a", "a", "b"]), "frame": np.arange(3)}
    other = frames | {"frame": np.array([0, 4, 2])}
    with self.assertRaisesRegex(
      errors.UserError, "2 are in only one.* a frame 1"
    ):
      pairing.check_columns(Condition(), _columns(**frames), _columns(**other))


class NumbersTest(sides_case.TestCase):
  """Numbers of several sides, drawn together."""

  def test_values_alone(self):
    one = sides_case.of(task_runs.numbers(self.root / "one", 0.4))
    other = sides_case.of(task_runs.detection(self.root / "other", 0.9))
    common = list(one.cells)[:3]
    same = numbers.read([one, one], common)
    self.assertFalse(same.drawn)
    value = same.cells[0][common[1]]["bbox/AP"].value
    self.assertAlmostEqual(float(value), 0.4 * 0.9)
    self.assertEqual(list(same.cells[0][common[0]]), ["bbox/AP"])
    with self.assertRaisesRegex(errors.UserError, "different ground truth"):
      numbers.read([one, other], common)


_N = 90


class CalibrationTest(absltest.TestCase):
  """Scores without each block of groups, against the metrics themselves."""

  def _of(self, groups=_N, **scores) -> tuple[Answers, dict]:
    """A cell of examples in groups, and its numbers in 12 blocks."""
    rng = np.random.default_rng(0)
    score = rng.random(_N).astype(np.float32)
    names = np.array([f"g{i % groups:03d}" for i in range(_N)])
    right = rng.random(_N) < score
    ids = np.zeros(_N, np.int32)
    answers = Answers(ids, ids, right, names, ids, score, **scores)
    self.draws = Draws.from_groups(names, blocks=12, resamples=1)
    measured = {
      metric.name: metric.compute(answers)
      for metric in answer_metrics.metrics()
      if answers.knows(*metric.needs)
    }
    answered = numbers._Answered(measured, names)
    return answers, answered.replicates(self.draws)

  def test_equals_the_metrics_of_what_is_left(self):
    nll = np.random.default_rng(1).random(_N).astype(np.float32)
    of, got = self._of(30, nll=nll, brier=2 * nll)
    self.assertContainsSubset(["ece", "nll", "brier"], got)
    self.assertEqual(got["ece"].value, calibration.ece(of.score, of.correct))
    block = self.draws.blocks_of(of.groups)
    for j in range(12):
      want = nll[block != j].astype(np.float64).mean()
      self.assertAlmostEqual(got["nll"].jackknife[j], want, delta=1e-12)
    self.assertIsNone(got["brier"].draws)
    self.assertEqual(got["brier"].effective_groups, 30)

  def test_no_chance_for_a_true_class(self):
    nll = np.full(_N, np.float32(1))
    nll[3] = np.inf
    _, got = self._of(nll=nll, brier=np.ones(_N, np.float32))
    self.assertContainsSubset(["ece", "brier"], got)
    self.assertNotIn("nll", got)

  def test_one_group_has_no_interval(self):
    _, got = self._of(1, nll=np.ones(_N, np.float32))
    self.assertTrue(np.isnan(got["nll"].interval()).all())
    self.assertTrue(np.isfinite(got["nll"].value))


_NAMES = small_runs.conditions.PICTURES.names("common")


class OverCellsTest(sides_case.TestCase):
  """Numbers over cells: differences, relative decreases, their intervals."""

  def _lines(self, one, other):
    by = baseline.choose(one, other)
    listed = [s for s in (by.first, by.second) if s is not None]
    got = numbers.read([one, other, *listed], list(one.cells))
    lines = over_cells.lines(one, other, by, got)
    return {(x.metric, x.corruption): x for x in lines}

  def _errors(self, side):
    out = {}
    for condition in side.cells:
      columns = side.columns(condition)
      wrong = columns["top5"][:, 0] != columns["label"]
      out[condition] = wrong.mean()
    return out

  def _mce(self, side, by):
    mine, theirs = self._errors(side), self._errors(by)
    levels = small_runs.conditions.SEVERITIES
    return corruption_error.summarize(
      {n: [mine[Condition(n, s)] for s in levels] for n in _NAMES},
      mine[Condition()],
      {
        "errors": {
          n: [theirs[Condition(n, s)] for s in levels] for n in _NAMES
        },
        "clean_error": theirs[Condition()],
      },
    )

  def test_mce_by_a_model_of_each_run(self):
    options = {"baseline": "model:x"}
    one = self.side("one", {"a": 0.2, "x": 0.5}, names=None, **options)
    other = self.side(
      "other", {"a": 0.3, "x": 0.5}, names=None, seed=1, **options
    )
    got = self._lines(one, other)
    for side, end in ((one, "first"), (other, "second")):
      want = self._mce(side, Side.from_run(side.run, small_runs.DATASET, "x"))
      for metric in ("mce", "relative_mce"):
        self.assertAlmostEqual(
          getattr(got[metric, ""], end), want[metric], delta=1e-12
        )
      self.assertAlmostEqual(
        getattr(got["ce", "fog"], end), want["ce"]["fog"], delta=1e-12
      )
    mce = got["mce", ""]
    self.assertAlmostEqual(mce.difference.value, mce.first - mce.second)
    self.assertAlmostEqual(mce.decrease.value, 1 - mce.first / mce.second)
    self.assertLess(mce.difference.hi, 0)
    self.assertGreater(mce.decrease.lo, 0)
    self.assertBetween(
      mce.difference.value, mce.difference.lo, mce.difference.hi
    )

  def test_a_model_that_corruption_helps(self):
    """Relative CE below 0 is a decrease of more than all."""
    options = {"baseline": "model:x", "examples": 200}
    one = self.side("one", {"a": 0.3, "x": 0.2}, **options)
    for cell in one.run.cells_of(small_runs.DATASET, "a"):
      if not cell.condition.clean:
        columns = {**one.run.columns(cell)}
        columns["top5"] = (columns["label"][:, None] + np.arange(5)) % 10
        Workdir(self.root / "one").write_cell(cell, columns)
    other = self.side("other", {"b": 0.1, "x": 0.2}, **options)
    line = self._lines(sides_case.of(self.root / "one"), other)[
      "relative_ce", "fog"
    ]
    self.assertLess(line.first, 0)
    self.assertGreater(line.decrease.value, 1)

  def test_nothing_to_divide_by(self):
    one = self.side("one", {"a": 0.2}, names=None)
    other = self.side("other", {"a": -9.0}, names=None)
    clean = self._lines(one, other)["clean_error", ""]
    self.assertIsNone(clean.decrease.value)
    self.assertIsNotNone(clean.difference.interval)


_FACTS = TaskFacts("classification", "corruption", ())


def _numbers(first, second, groups=None, metric="error") -> Numbers:
  """Of condition -> values of each example, of both sides."""
  n = len(next(iter(first.values())))
  ids = np.array([f"g{i:04d}" for i in range(n)]) if groups is None else groups
  totals = [
    {c: {metric: Totals.from_values(v, ids)} for c, v in side.items()}
    for side in (first, second)
  ]
  draws = Draws.from_groups(ids)
  cells = [
    {
      c: {m: draws.total_means([t])[0] for m, t in of.items()}
      for c, of in s.items()
    }
    for s in totals
  ]
  return Numbers(cells, totals, dict.fromkeys(first, n), drawn=True)


def _wrong(n, count, start=0):
  return (np.arange(n) >= start) & (np.arange(n) < start + count)


class McNemarTest(parameterized.TestCase):
  """Tests of cells: by hand, of clusters, of what decides nothing."""

  def test_by_hand(self):
    fog = [Condition("fog", level) for level in (1, 2, 3)]
    # Only the first wrong: 1, 0, 0; only the second wrong: 9, 30, 0.
    first = dict(zip(fog, [_wrong(100, 1), _wrong(100, 0), _wrong(100, 5)]))
    second = dict(
      zip(fog, [_wrong(100, 9, 50), _wrong(100, 30), _wrong(100, 5)])
    )
    got = cell_tests.cell_lines(_numbers(first, second), _FACTS)
    self.assertEqual([x.test.kind for x in got], [cell_tests.MCNEMAR] * 3)
    p = [stats.binomtest(1, 10).pvalue, 2 * 0.5**30, 1.0]
    np.testing.assert_allclose([x.test.p for x in got], p, rtol=1e-9)
    adjusted = [2 * p[0], 3 * p[1], 1.0]
    np.testing.assert_allclose(
      [x.test.adjusted for x in got], adjusted, rtol=1e-9
    )
    self.assertEqual(
      [x.test.verdict for x in got],
      [lines.BETTER, lines.BETTER, lines.UNDECIDED],
    )
    self.assertAlmostEqual(got[1].difference.value, -0.3, delta=1e-12)
    self.assertBetween(got[1].difference.lo, -0.42, -0.3)
    last = got[2].difference
    # Of 100 examples that two models answer alike; others may differ.
    self.assertEqual((last.value, last.interval), (0, None))
    self.assertEqual(got[0].n, 100)

  def test_more_can_be_better(self):
    fog = Condition("fog", 1)
    few, many = {fog: _wrong(50, 2)}, {fog: _wrong(50, 40)}
    for task, metric, verdict in (
      ("classification", "error", "worse"),
      ("video", "accuracy", "better"),
      ("video", "oddness", "unknown sense"),
    ):
      facts = TaskFacts(task, "corruption", ())
      (got,) = cell_tests.cell_lines(_numbers(many, few, metric=metric), facts)
      self.assertEqual(got.test.verdict, verdict)

  def test_families(self):
    conditions = [Condition(), Condition("fog", 1), Condition("snow", 1)]
    first = {c: _wrong(60, 3) for c in conditions}
    second = {c: _wrong(60, 10) for c in conditions}
    got = cell_tests.cell_lines(_numbers(first, second), _FACTS)
    p = stats.binomtest(0, 7).pvalue
    self.assertEqual(
      [(x.test.family, x.test.adjusted) for x in got],
      [("error, clean", p), ("error", 2 * p), ("error", 2 * p)],
    )


class GroupsTest(parameterized.TestCase):
  def test_clusters_are_drawn_whole(self):
    # 12 groups of 20 equal examples, of which 4 differ: McNemar would see 80.
    groups = np.repeat([f"g{i:02d}" for i in range(12)], 20)
    place = np.repeat(np.arange(12), 20)
    fog = Condition("fog", 1)
    numbers = _numbers({fog: place < 2}, {fog: place < 6}, groups)
    (got,) = cell_tests.cell_lines(numbers, _FACTS)
    self.assertEqual(got.test.kind, cell_tests.EXCHANGE)
    self.assertGreaterEqual(got.test.p, 1 / 8)
    self.assertEqual(got.test.verdict, lines.UNDECIDED)
    self.assertAlmostEqual(got.difference.value, -1 / 3, delta=1e-12)

  def test_a_giant_group_that_wins_what_it_loses_is_no_certain_0(self):
    groups = np.array(["giant"] * 900 + [f"s{i:02d}" for i in range(99)])
    fog, place = Condition("fog", 1), np.arange(999)
    numbers = _numbers({fog: place < 5}, {fog: (place - 5) // 5 == 0}, groups)
    (got,) = cell_tests.cell_lines(numbers, _FACTS)
    self.assertEqual((got.difference.value, got.difference.interval), (0, None))
    self.assertIn("every draw gives this value", got.note)

  @pytest.mark.slow
  def test_what_the_interval_leaves_open_is_not_decided(self):
    """Both err in 10 %, one in whole groups: 15 % of 100 heavy-tailed ones."""
    rng, fog = np.random.default_rng(3), Condition("fog", 1)
    decided = open_ = alone = 0
    for _ in range(60):
      sizes = np.maximum(1, np.round(rng.lognormal(1.0, 1.3, 100))).astype(int)
      of = np.repeat(np.arange(100), sizes)
      whole, single = (rng.random(100) < 0.1)[of], rng.random(len(of)) < 0.1
      ids = np.char.add("g", of.astype(str))
      (got,) = cell_tests.cell_lines(
        _numbers({fog: whole}, {fog: single}, ids), _FACTS
      )
      sums = np.bincount(of, whole.astype(float) - single)
      alone += significance.exchange_p(sums, 2000) <= 0.05
      decided += got.test.p <= 0.05
      lo, hi = got.difference.interval
      open_ += got.test.p <= 0.05 and lo <= 0 <= hi
    self.assertEqual(open_, 0)
    self.assertLess(decided, alone)

  @parameterized.parameters((300, 300), (25, 100))  # and of UCF101's kind
  def test_a_family_of_many_can_still_be_decided(self, groups, examples):
    rng = np.random.default_rng(0)
    ids = np.repeat([f"g{i:03d}" for i in range(groups)], examples // groups)
    cells = [
      Condition(n, s) for n in ("fog", "snow", "frost") for s in range(1, 6)
    ]
    first = {c: rng.random(examples) for c in cells}
    second = {c: v + 0.5 for c, v in first.items()}
    got = cell_tests.cell_lines(_numbers(first, second, ids), _FACTS)
    self.assertEqual({x.test.verdict for x in got}, {lines.BETTER})

  def test_cells_that_lack_groups_of_others(self):
    fog, snow = Condition("fog", 1), Condition("snow", 1)
    ids = np.repeat([f"g{i:02d}" for i in range(12)], 2)
    draws, cells, totals = Draws.from_groups(ids), [{}, {}], [{}, {}]
    for side, more in enumerate((0.0, 0.5)):
      for condition, first in ((fog, 0), (snow, 4)):
        of = Totals.from_values(np.arange(24.0)[first:] + more, ids[first:])
        totals[side][condition] = {"error": of}
        cells[side][condition] = {"error": draws.total_means([of])[0]}
    numbers = Numbers(cells, totals, {fog: 24, snow: 20}, drawn=True)
    got = cell_tests.cell_lines(numbers, _FACTS)
    np.testing.assert_allclose(
      [x.test.p for x in got], [2**-11, 2**-9], rtol=0.2
    )

  def test_several_levels_of_a_cell(self):
    tilt = Condition("tilt", 1, "sequences")
    values = np.random.default_rng(0).random((50, 3))
    numbers = _numbers({tilt: values}, {tilt: values + [0, 0.2, -0.3]})
    got = cell_tests.cell_lines(numbers, _FACTS)
    self.assertEqual([x.level for x in got], [1, 2, 3])
    np.testing.assert_allclose(
      [x.difference.value for x in got], [0, -0.2, 0.3], atol=1e-12
    )
    self.assertEqual(
      [x.test.verdict for x in got], ["undecided", "better", "worse"]
    )


class JackknifeTest(absltest.TestCase):
  def test_average_precision(self):
    x = np.random.default_rng(1).normal(0.1, 0.05, 40)
    without = (x.sum() - x) / 39
    zero = Replicates(np.array(0.0), None, np.zeros(40))
    one = Replicates(np.array(x.mean()), None, without)
    fog = Condition("fog", 1)
    numbers = Numbers(
      [{fog: {"bbox/AP": one}}, {fog: {"bbox/AP": zero}}],
      [{}, {}],
      {fog: 40},
      drawn=True,
    )
    facts = TaskFacts("detection", "corruption", ())
    (got,) = cell_tests.cell_lines(numbers, facts)
    want = stats.ttest_1samp(x, 0)
    self.assertEqual(got.test.kind, cell_tests.JACKKNIFE)
    self.assertAlmostEqual(got.test.p, want.pvalue, delta=1e-9)
    ends = want.confidence_interval()
    self.assertBetween(got.difference.lo, ends.low - 0.001, ends.low + 1e-9)
    self.assertEqual(got.test.verdict, lines.BETTER)
