"""Headlines of every task."""

import dataclasses
import math

import numpy as np
from absl.testing import absltest, parameterized

from eval import tasks
from eval.cells import cell_facts, table
from eval.cells.cell import Cell, Summary
from eval.metrics import (
  definitions,
  resampling,
  stability,
)
from eval.metrics.replicates import Replicates
from eval.tasks.headlines import (
  baselines,
  departures,
  error_headlines,
  flip_headlines,
  gamma_headlines,
  headlines,
  precision_headlines,
  spread,
)
from eval.tasks.headlines.headlines import Headline
from robust_tfds import conditions, errors
from robust_tfds.conditions import Condition
from tests.eval import tiny_config, tiny_runs

_IDS = np.array([f"{i:02d}" for i in range(30)])
_CLEAN, _FOG = Condition(), Condition("fog", 1)
_CELLS = (_CLEAN, _FOG)


def _excess(ours, theirs):
  excess = ours[_FOG]["error"] - ours[_CLEAN]["error"]
  return excess / theirs[_FOG]["error"] if theirs else excess


_EXCESS = Headline("excess", ("error",), _CELLS, _excess)
_RATIO = Headline(
  "ratio",
  ("error",),
  (_FOG,),
  lambda ours, theirs: ours[_FOG]["error"] / theirs[_FOG]["error"],
  normalised=True,
  undefined="undefined: nothing to divide by",
)


def _drawn(seed=0):
  rng = np.random.default_rng(seed)
  totals = {
    c: {"error": resampling.Totals.from_values(rng.random(30) < 0.4, _IDS)}
    for c in _CELLS
  }
  return spread.cell_replicates(totals, spread.draws_of(totals.values()))


def _blocks(value=0.5, blocks=5, groups=7.0):
  left_out = value * np.linspace(0.98, 1.02, blocks)
  return Replicates(np.array(value), None, left_out, groups)


def _model(numbers, groups=None, **facts):
  rows = {
    c: [
      Cell("m", "d", c).row(
        metric, float(number.value), (0.1, 0.9), 30 + c.level
      )
      for metric, number in of.items()
    ]
    for c, of in numbers.items()
  }
  groups = groups or {c: _IDS for c in numbers}
  return headlines.ModelCells(rows, numbers, groups, {}, **facts)


def _row(headline, numbers, **facts):
  (row,) = _model(numbers, **facts).over([headline])
  return row


class NumberTest(parameterized.TestCase):
  """Headlines: value, interval, n and note of a number over cells."""

  def test_every_draw_and_block_is_the_formulas(self):
    cells = _drawn()
    got = headlines.numbers([_EXCESS], cells, {})["excess", "", None]
    fog, clean = (cells[c]["error"] for c in (_FOG, _CLEAN))
    for part in ("value", "draws", "jackknife"):
      want = getattr(fog, part) - getattr(clean, part)
      np.testing.assert_array_equal(getattr(got, part), want)

  def test_a_reference_is_drawn_together_or_constant(self):
    cells = _drawn()
    self.assertEqual(_RATIO.number(cells, cells).interval(), (1.0, 1.0))
    got = _RATIO.number(cells, {_FOG: {"error": 0.5}})
    np.testing.assert_array_equal(got.draws, 2 * cells[_FOG]["error"].draws)

  def test_numbers_that_lack_cells_are_left_out(self):
    cells = _drawn()
    both = headlines.numbers([_EXCESS, _RATIO], cells, {})
    self.assertEqual(list(both), [_EXCESS.key])
    self.assertEqual(
      _RATIO.missing(cells, {}), "of the baseline missing: fog 1 (1 of 1)"
    )
    del cells[_CLEAN]
    self.assertEqual(_EXCESS.missing(cells, {}), "missing: clean (1 of 2)")


def _under(*names):
  return [c for c in conditions.PICTURES.conditions() if c.name in names]


class HeldOutTest(parameterized.TestCase):
  def test_it_is_the_number_over_what_was_not_trained_on(self):
    """Of mCE the baseline's cells are the same ones, and its draws go along."""
    every = conditions.PICTURES.conditions()
    drawn, theirs = _drawn(), _drawn(1)
    cells = {c: drawn[_FOG if c.level % 2 else _CLEAN] for c in every}
    reference = {c: theirs[_FOG] for c in every}
    whole = {h.metric: h for h in error_headlines.headlines(cells, reference)}
    seen = _under("fog", "gaussian_blur")
    got = whole["mce"].held_out(cells, seen)
    ratios = [
      sum(cells[c]["error"].joined for c in of)
      / sum(reference[c]["error"].joined for c in of)
      for name in conditions.PICTURES.names("common")
      if name != "fog"
      for of in [[c for c in every if c.name == name]]
    ]
    number = got.number(cells, reference)
    np.testing.assert_allclose(number.joined, np.mean(ratios, axis=0))
    row = _row(got, cells, reference=reference)
    self.assertEqual(row.metric, "held_out_mce")
    self.assertEqual(row.note, "mean over 70 of 75 cells: all but fog 1-5")
    self.assertEqual((row.lo, row.hi), number.interval())
    for name, note in (
      ("mean_corruption_error", "70 of 75 cells"),
      ("extra_mean_corruption_error", "15 of 20 cells"),
    ):
      self.assertIn(note, whole[name].held_out(cells, seen).note)

  def test_where_there_is_none(self):
    every = {c: {"error"} for c in conditions.PICTURES.conditions()}
    listed = error_headlines.headlines(every, every)
    tilt = [conditions.SEQUENCES.condition("tilt", 1)]
    everything = conditions.PICTURES.conditions()[1:]
    for trained_on in ((), tilt, everything):
      got = [h.held_out(every, trained_on) for h in listed]
      self.assertEqual(got, [None] * len(listed))

  def test_of_a_run_of_some_conditions(self):
    there = {Condition("fog", 3): {"error"}, Condition("frost", 3): {"error"}}
    whole = error_headlines.headlines(there, {})
    mean = next(h for h in whole if h.metric == "mean_corruption_error")
    got = mean.held_out(there, _under("fog"))
    self.assertEqual(list(got.cells), [Condition("frost", 3)])
    self.assertIsNone(mean.held_out(there, _under("fog", "frost")))

  def test_severities_of_videos_that_were_not_trained_on(self):
    """Train at 1-3, test at 4 and 5: those of the same perturbations count."""
    family = conditions.VIDEOS
    there = {c: {"accuracy"} for c in family.conditions()}
    facts = cell_facts.ModelFacts(
      corruptions_seen=["freezing"], severities_seen=[1, 2, 3]
    )
    cell = Cell("a", "x", family.condition("jpeg", 1))
    whole = {h.metric: h for h in gamma_headlines.headlines(there)}
    for said, note in (
      (facts, "87 of 90 cells: all but freezing 1, freezing 2, freezing 3"),
      (
        facts.model_copy(update={"severities_seen": None}),
        "85 of 90 cells: all but freezing 1-5",
      ),
    ):
      seen = dataclasses.replace(cell, model_facts=said).conditions_seen
      got = whole["gamma_r"].held_out(there, seen)
      self.assertEqual(got.note, f"mean over {note}")


class RowTest(parameterized.TestCase):
  def test_value_interval_and_n_follow(self):
    cells = _drawn()
    row, number = _row(_EXCESS, cells), _EXCESS.number(cells, {})
    self.assertEqual(row.value, float(number.value))
    self.assertEqual((row.lo, row.hi), number.interval())
    self.assertEqual((row.n, row.config, row.severity), (30, "", None))

  def test_what_was_not_asked_for_has_no_row(self):
    clean = {_CLEAN: _drawn()[_CLEAN]}
    self.assertEqual(_model(clean).over([_EXCESS, _RATIO]), [])
    asked = Headline("x", ("error",), _CELLS, _excess, trigger_cells=(_CLEAN,))
    self.assertLen(_model(clean).over([asked]), 1)

  def test_undefined(self):
    row = _row(_RATIO, _drawn(), reference={_FOG: {"error": np.nan}})
    self.assertFalse(row.has_value)
    self.assertEqual(row.note, "undefined: nothing to divide by")
    cells = {c: {"error": _blocks(0.5 * (not c.clean))} for c in _CELLS}
    positive = Headline("x", ("error",), _CELLS, _excess, positive=_CLEAN)
    self.assertEqual(_row(positive, cells).note, "undefined")

  def test_a_restated_number_keeps_its_interval(self):
    restated = Headline.restating("clean_error", "error", _CLEAN)
    row = _row(restated, _drawn(), baseline="alexnet")
    self.assertEqual((row.lo, row.hi, row.n), (0.1, 0.9, 30))
    alone = Headline.restating(
      "clean_error", "error", _CLEAN, own_fingerprint=True
    )
    mark = _row(alone, _drawn(), baseline="alexnet").fingerprint
    own = Summary.from_rows([Cell("m", "d", _CLEAN).row("error", 0.5)])
    self.assertEqual(mark, own.fingerprint)
    self.assertNotEqual(mark, row.fingerprint)

  def test_blocks_of_other_groups_have_no_interval(self):
    cells = {c: {"error": _blocks(0.5 + 0.1 * c.level)} for c in _CELLS}
    self.assertIsNotNone(_row(_EXCESS, cells).hi)
    other = {_CLEAN: _IDS, _FOG: _IDS[1:]}
    row = _row(_EXCESS, cells, groups=other)
    self.assertEqual((row.lo, row.note, row.n), (None, spread.ALONE, 30))

  def test_no_interval_of_no_width_but_of_the_baseline(self):
    cells = _drawn()
    row = _row(_RATIO, cells, reference=cells)
    self.assertEqual((row.value, row.lo, row.hi, row.n), (1, None, None, 31))
    self.assertEqual(row.note, "no interval: every draw gives this value")
    own = _row(_RATIO, cells, reference=cells, is_baseline=True)
    self.assertEqual((own.lo, own.hi, own.note), (1, 1, ""))


_FAMILY = conditions.PICTURES
_NAMES = _FAMILY.names()


def _errors(seed, names=_NAMES):
  rng = np.random.default_rng(seed)
  cells = [Condition(n, s) for n in names for s in conditions.SEVERITIES]
  errors = {c: rng.uniform(0.2, 0.9) for c in cells}
  return {
    c: {"error": headlines.value_alone(e)}
    for c, e in {Condition(): 0.1, **errors}.items()
  }


def _numbers(ours, theirs):
  listed = error_headlines.headlines(ours, theirs)
  return {
    key: float(number.value)
    for key, number in headlines.numbers(listed, ours, theirs).items()
  }


class ErrorHeadlinesTest(absltest.TestCase):
  """CE, mCE and means of arrays of errors against the metric of numbers."""

  def test_what_is_retained_of_sets_that_are_no_benchmark(self):
    ours = _errors(0)
    listed = error_headlines.headlines(ours, {}, benchmark=False)
    key = "accuracy_retained", "", None
    got = headlines.numbers(listed, ours, {})[key]
    right = [
      1 - float(ours[Condition(n, s)]["error"].value)
      for n in _FAMILY.names("common")
      for s in conditions.SEVERITIES
    ]
    self.assertAlmostEqual(float(got.value), np.mean(right) / 0.9)
    self.assertNotIn(key, _numbers(ours, _errors(1)))
    ours[Condition()] = {"error": headlines.value_alone(1.0)}
    self.assertTrue(np.isnan(headlines.numbers(listed, ours, {})[key].value))

  def test_a_baseline_without_errors_divides_nothing(self):
    none = {c: {"error": 0.0} for c in _errors(1)}
    got = _numbers(_errors(0), none)
    self.assertTrue(np.isnan(got["mce", "", None]))


_SEQUENCES = conditions.SEQUENCES
_COMMON = _SEQUENCES.names("common")
_METRICS = tuple(flip_headlines.NORMALISERS.values())


def _cells(seed):
  rng = np.random.default_rng(seed)
  out = {Condition(): {"error": headlines.value_alone(rng.random())}}
  for condition in _SEQUENCES.select(["all"], (1, 2)):
    if not condition.clean:
      rows = 1 if _SEQUENCES.is_noise(condition.name) else 3
      out[condition] = {
        metric: headlines.value_alone(rng.uniform(0.01, 0.2, rows))
        for metric in _METRICS
      }
  return out


def _at(cells, name, metric, difficulty):
  """Noise has a cell a difficulty, the others a row."""
  noise = _SEQUENCES.is_noise(name)
  of_cell = cells[_SEQUENCES.condition(name, difficulty if noise else 1)]
  return float(of_cell[metric].value[0 if noise else difficulty - 1])


def _flip_numbers(ours, theirs, **options):
  listed = flip_headlines.headlines(ours, theirs, **options)
  return {
    key: float(number.value)
    for key, number in headlines.numbers(listed, ours, theirs).items()
  }


class FlipHeadlinesTest(absltest.TestCase):
  """FR, T5D and means of arrays against the metric of numbers."""

  def test_what_the_metric_says(self):
    cells = _cells(0)
    known = {
      "flip_probability": {n: 0.1 for n in _COMMON},
      "unnormalised_t5d": {n: 2.0 for n in _COMMON},
    }
    got = _flip_numbers(
      cells, flip_headlines.published_cells(known), published=True
    )
    fp, t5d = (
      {n: _at(cells, n, metric, 1) for n in _COMMON} for metric in _METRICS
    )
    want = stability.summarize(fp, t5d, known)
    for metric in ("mfr", "mt5d"):
      self.assertAlmostEqual(got[metric, "", 1], want[metric])
    for name in _COMMON:
      self.assertAlmostEqual(got["fr", name, 1], want["fr"][name])
    for difficulty in (1, 2):
      plain = [_at(cells, n, "flip_probability", difficulty) for n in _COMMON]
      key = "mean_flip_probability", "", difficulty
      self.assertAlmostEqual(got[key], np.mean(plain))
    self.assertNotIn(("fr", "tilt", 2), got)  # published at 1 alone
    self.assertNotIn(("mean_flip_probability", "", 3), got)  # noise lacks it

  def test_a_model_against_itself(self):
    cells = _cells(0)
    got = _flip_numbers(cells, cells)
    for difficulty in (1, 2):
      self.assertAlmostEqual(got["mt5d", "", difficulty], 1)
    tilt = cells[_SEQUENCES.condition("tilt", 1)]
    tilt["flip_probability"] = headlines.value_alone(np.zeros(3))
    self.assertTrue(np.isnan(_flip_numbers(cells, cells)["fr", "tilt", 1]))


def _accuracies():
  rng = np.random.default_rng(0)
  return {
    c: {"accuracy": headlines.value_alone(rng.uniform(0.2, 0.9))}
    for c in conditions.VIDEOS.conditions()
  }


def _gamma_numbers(cells):
  return headlines.numbers(gamma_headlines.headlines(cells), cells, {})


class GammaHeadlinesTest(absltest.TestCase):
  """gamma of arrays of accuracies against the metric of numbers."""

  def test_what_lacks_cells_is_not_there(self):
    cells = _accuracies()
    del cells[conditions.VIDEOS.condition("jpeg", 3)]
    got = _gamma_numbers(cells)
    for key in (
      ("gamma_r", "jpeg", None),
      ("gamma_r/digital", "", None),
      ("gamma_a", "", None),
    ):
      self.assertNotIn(key, got)
    self.assertIn(("gamma_a/camera", "", None), got)
    del cells[Condition()]
    names = {metric for metric, _, _ in _gamma_numbers(cells)}
    self.assertEqual(names, {"part_mean_accuracy"})  # which needs no clean cell

  def test_a_draw_without_clean_success_has_no_gamma_r(self):
    cells = {
      c: {
        "accuracy": Replicates(np.array(0.5), np.array([0.5, 0.2]), np.zeros(1))
      }
      for c in _accuracies()
    }
    clean = np.array([0.5, 0.0])
    cells[Condition()]["accuracy"] = Replicates(
      np.array(0.5), clean, np.ones(1)
    )
    got = _gamma_numbers(cells)
    self.assertEqual(
      np.isnan(got["gamma_r", "", None].draws).tolist(), [False, True]
    )
    self.assertFalse(np.isnan(got["gamma_a", "", None].draws).any())


def _precision_cells(metrics=("bbox/AP",), names=_NAMES):
  rng = np.random.default_rng(0)
  shown = [Condition(n, s) for n in names for s in conditions.SEVERITIES]
  return {
    c: {m: headlines.value_alone(rng.uniform(0.1, 0.5)) for m in metrics}
    for c in [Condition(), *shown]
  }


def _precision_numbers(cells):
  listed = precision_headlines.headlines(cells)
  return {
    key: float(number.value)
    for key, number in headlines.numbers(listed, cells, {}).items()
  }


class PrecisionHeadlinesTest(absltest.TestCase):
  """P, mPC and rPC of arrays of AP against the metric of numbers."""

  def test_masks_beside_boxes_and_ap50_where_there_is_no_ap(self):
    got = _precision_numbers(
      _precision_cells(("bbox/AP50", "bbox/AR1", "segm/AP50", "segm/AP"))
    )
    self.assertIn(("segm/mpc", "", None), got)
    self.assertEqual(
      got["p", "", None],
      float(_precision_cells(("bbox/AP50",))[Condition()]["bbox/AP50"].value),
    )

  def test_the_15_alone_do_not_ask_for_19(self):
    cells = _precision_cells(names=_FAMILY.names("common"))
    asked = [
      h.metric
      for h in precision_headlines.headlines(cells)
      if h.is_triggered(cells)
    ]
    self.assertIn("mpc", asked)
    self.assertNotIn("mpc_all", asked)
    self.assertNotIn("segm/p", asked)


class BaselinesTest(parameterized.TestCase):
  """Baselines: which data sets a published one holds for, and what is said."""

  @parameterized.parameters(
    ("imagenet_c", True),
    ("imagenet_p", True),
    ("somebodys_c", True),  # not known here: if it is asked for
    ("cifar10_c", False),
    ("tiny_imagenet_p", False),
    ("digits_c", False),
  )
  def test_alexnet_holds_for_imagenet_alone(self, dataset, holds):
    self.assertEqual(baselines.holds("alexnet", dataset), holds)
    ours = dataset.startswith("imagenet_")
    self.assertEqual(baselines.default(dataset), "alexnet" if ours else "")
    if holds:
      baselines.check("alexnet", [], dataset)
    else:
      with self.assertRaisesRegex(errors.UserError, f"not of {dataset}. Leave"):
        baselines.check("alexnet", [], dataset)
    baselines.check("", [], dataset)
    baselines.check("model:mine", ["mine"], dataset)

  @parameterized.parameters("imagenet_c", "imagenet_p")
  def test_alexnet_is_of_one_edition(self, dataset):
    baselines.check("alexnet", [], dataset, "imagenet")
    with self.assertRaisesRegex(
      errors.UserError, "of the edition imagenet, not of inception"
    ):
      baselines.check("alexnet", [], dataset, "inception")
    self.assertIn(
      "not of inception", baselines.describe("", dataset, "inception")
    )

  def test_words(self):
    self.assertEqual(
      baselines.describe("", "imagenet_c"), "none: plain means only"
    )
    self.assertStartsWith(
      baselines.describe("", "cifar10_c"),
      "none: plain means only; AlexNet's published numbers are of imagenet_c",
    )
    self.assertIn("AlexNet (", baselines.describe("alexnet", "imagenet_c"))
    self.assertEndsWith(
      baselines.describe("alexnet", "imagenet_c", "imagenet", "raw"),
      "; its numbers are of codec jpeg85 or published, these of raw",
    )
    self.assertNotIn(
      "codec", baselines.describe("alexnet", "imagenet_c", "", "jpeg85")
    )
    self.assertIn("mine,", baselines.describe("model:mine", "cifar10_c"))


class NoteTest(parameterized.TestCase):
  """Codecs and crops that are not the published ones, in the notes of rows."""

  @parameterized.parameters(
    ("imagenet_c", "raw", "", "codec raw (lossless; published: jpeg85)"),
    ("imagenet_c", "jpeg85", "imagenet", ""),
    ("imagenet_c", "published", "", ""),
    ("imagenet_c", "", "", ""),  # predictions from elsewhere
    ("tiny_imagenet_c", "raw", "", "codec raw (lossless; published: jpeg85)"),
    ("imagenet_p", "png", "", "codec png (lossless; published: h264)"),
    ("imagenet_p", "h264", "inception", ""),
    ("cifar10_c", "raw", "", ""),  # published as arrays
    ("digits_c", "raw", "", ""),  # never published
    ("somebodys_c", "raw", "imagenet", ""),
    ("imagenet_c", "jpeg85", "short342_crop299", ""),
    (
      "imagenet_c",
      "jpeg85",
      "squash256_crop227",
      "crop squash256_crop227, corrupted by edition imagenet (224 px)",
    ),
    (
      "imagenet_c",
      "raw",
      "short378_crop331",
      "codec raw (lossless; published: jpeg85); crop short378_crop331, corrupted"
      " by edition inception (299 px)",
    ),
  )
  def test_note(self, dataset, codec, geometry, expected):
    self.assertEqual(departures.note(dataset, codec, geometry), expected)

  def test_every_row_of_a_task_has_it(self):
    config = tiny_config.get_config().unlock()
    config.data.name, config.data.codec = "imagenet_c", "raw"
    config.data.left_out = "none"  # as a plan says it
    task = tasks.bind(config, "imagenet")
    cell = Cell("m", "imagenet_c", conditions.Condition())
    ids = np.array([f"{i:02d}" for i in range(len(_LABELS))])
    columns = {"label": _LABELS, "top5": _TOP5, "group_id": ids}
    columns["frame"] = np.zeros(len(ids), np.int32)
    rows = task.score([(cell, columns)]).rows
    self.assertIn("clean_error", [r.metric for r in rows])
    for row in rows:
      self.assertStartsWith(row.note, "codec raw")


_LABELS = np.zeros(3, int)
_TOP5 = np.zeros((3, 5), int)


def _totals(n=30):
  rng = np.random.default_rng(0)
  return {
    c: {"error": resampling.Totals.from_values(rng.random(n) < 0.4, _IDS[:n])}
    for c in (_CLEAN, _FOG)
  }


def _replicates(draws, blocks=(0.2,) * 9, value=0.2):
  drawn = None if draws is None else np.asarray(draws)
  return resampling.Replicates(np.array(value), drawn, np.array(blocks), 30)


class RowsTest(parameterized.TestCase):
  """Draws of all cells at once, and intervals as rows have them."""

  @parameterized.parameters(*tiny_runs.NAMES)
  def test_every_interval_holds_its_value_or_the_row_says_why(self, name):
    rows = table.read(tiny_runs.folder(name) / "table.csv")
    for row in (r for r in rows if r.has_value):
      what = f"{row.metric} of {row.config or row.corruption}"
      metric = definitions.any_task_metric(row.metric)
      (least, most), interval = metric.bounds, row.number.interval
      if interval:
        lo, hi = interval
        self.assertTrue(metric.has_interval, what)
        self.assertBetween(row.value, lo - 1e-9, hi + 1e-9, what)
        self.assertTrue(least <= lo <= hi <= most, f"{what}: {interval}")
      elif metric.has_interval:
        self.assertIn("no interval: ", row.note, what)


class SpreadTest(absltest.TestCase):
  def test_draws_are_of_the_groups_of_all_cells(self):
    few, all_of = _totals(20), _totals()
    draws = spread.draws_of([*few.values(), *all_of.values()])
    self.assertEqual(draws.ids.tolist(), _IDS.tolist())
    self.assertIsNone(spread.draws_of([{}]))

  def test_cells_are_those_drawn_alone(self):
    totals = _totals()
    draws = spread.draws_of(totals.values())
    cells = spread.cell_replicates(totals, draws)
    (alone,) = draws.total_means([totals[_FOG]["error"]])
    np.testing.assert_allclose(cells[_FOG]["error"].draws, alone.draws)

  def test_intervals(self):
    drawn = np.linspace(0.1, 0.3, 2000)
    number = _replicates(drawn, blocks=[0.1, 0.2, 0.3])
    got = spread.number(number, (-math.inf, math.inf))
    self.assertEqual((got.lo, got.hi), number.interval())
    self.assertEqual(got.jackknife, number.jackknife_interval())
    self.assertEmpty(got.note)
    cut = spread.number(number, (0.19, 0.21))
    self.assertEqual((cut.interval, cut.jackknife), ((0.19, 0.21),) * 2)
    with self.assertRaisesRegex(
      ValueError, r"0\.2, expected one in \[0, 0\.1\]"
    ):
      spread.number(number, (0, 0.1))

  def test_why_a_number_has_none(self):
    drawn, gaps = np.linspace(0.1, 0.3, 2000), np.arange(2000) % 9
    for number, words in (
      (_replicates(np.where(gaps, drawn, np.nan)), "1 of 20 draws"),
      (_replicates(drawn, blocks=[0.1, np.nan]), "without some of the groups"),
      (_replicates(drawn, blocks=[np.nan]), "all examples are one group"),
      (_replicates(None, blocks=[np.nan]), "all examples are one group"),
      (_replicates(None, blocks=[]), "values alone"),
      (_replicates(np.full(9, 0.2)), "every draw gives this value"),
    ):
      got = spread.number(number, (0, 1))
      self.assertEqual((got.value, got.interval), (0.2, None))
      self.assertRegex(got.note, f"^no interval: .*{words}$")
    point = _replicates(np.full(9, 0.2))
    got = spread.number(point, (0, 1), keeps_points=True)
    np.testing.assert_allclose((got.lo, got.hi), 0.2)
    self.assertIsNone(
      spread.number(_replicates(drawn, value=np.nan), (0, 1)).value
    )

  def test_two_unequal_groups_are_not_one(self):
    groups = np.repeat(["a", "b"], [60, 40])
    wrong = np.arange(100) % 7 < np.repeat([1, 3], [60, 40])
    mean = resampling.Draws.from_groups(groups).means(wrong, groups)
    self.assertLess(mean.effective_groups, 2)
    got = spread.number(mean, (0, 1))
    self.assertEmpty(got.note)
    self.assertBetween(got.value, got.lo, got.hi)

  def test_points(self):
    def row(**facts):
      return table.Row("m", "d", "", "", None, "excess", 0.3, **facts)

    point = row(lo=0.3, hi=0.3 + 1e-16, n=4)
    got = spread.without_point(point)
    self.assertEqual((got.value, got.lo, got.hi, got.n), (0.3, None, None, 4))
    self.assertEqual(got.note, "no interval: every draw gives this value")
    for other in (row(), row(lo=0.3, hi=0.31, n=4)):
      self.assertIs(spread.without_point(other), other)
