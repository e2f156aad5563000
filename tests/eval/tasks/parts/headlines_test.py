"""Headlines: value, interval, n and note of a number over cells."""

import dataclasses

import numpy as np
from absl.testing import parameterized

from eval.cells import cell_facts
from eval.cells.cell import Cell, Summary
from eval.metrics import resampling
from eval.metrics.replicates import Replicates
from eval.tasks.headlines import (
  error_headlines,
  gamma_headlines,
  headlines,
  spread,
)
from eval.tasks.headlines.headlines import Headline
from robust_tfds import conditions
from robust_tfds.conditions import Condition

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
  return spread.of_cells(totals, spread.draws_of(totals.values()))


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

  def test_cells_of_other_draws_give_the_value_alone(self):
    cells = {_FOG: {"error": _blocks(0.75)}, _CLEAN: {"error": _blocks(0.5, 4)}}
    got = _EXCESS.number(cells, {})
    self.assertEqual((float(got.value), got.blocks, got.draws), (0.25, 0, None))

  def test_of_blocks_the_fewest_groups_count(self):
    cells = {_FOG: {"error": _blocks()}, _CLEAN: {"error": _blocks(groups=4.0)}}
    self.assertEqual(_EXCESS.number(cells, {}).effective_groups, 4)

  def test_numbers_that_lack_cells_are_left_out(self):
    cells = _drawn()
    both = headlines.numbers([_EXCESS, _RATIO], cells, {})
    self.assertEqual(list(both), [_EXCESS.key])
    self.assertEqual(
      _RATIO.lacks(cells, {}), "of the baseline missing: fog 1 (1 of 1)"
    )
    del cells[_CLEAN]
    self.assertEqual(_EXCESS.lacks(cells, {}), "missing: clean (1 of 2)")


class PartTest(parameterized.TestCase):
  def test_it_is_the_mean_over_the_cells_that_are_there(self):
    whole = error_headlines.headlines({}, {})[1]
    self.assertEqual(whole.metric, "mean_corruption_error")
    drawn = _drawn()
    cells = {c: drawn[_FOG if c.level % 2 else _CLEAN] for c in whole.cells[:3]}
    of = {c: n["error"] for c, n in cells.items()}
    part = whole.part(cells)
    got = part.number(cells, {})
    for attribute in ("value", "draws", "jackknife"):
      listed = [getattr(number, attribute) for number in of.values()]
      np.testing.assert_allclose(
        getattr(got, attribute), np.mean(listed, axis=0)
      )
    row = _row(part, cells)
    self.assertEqual(row.metric, "part_mean_corruption_error")
    self.assertIn("mean over 3 of 75 cells: gaussian_noise 1,", row.note)
    self.assertEqual((row.lo, row.hi), got.interval())
    self.assertEqual(row.n, 31)

  def test_of_all_cells_or_none_there_is_no_part(self):
    for index in (0, 1, 2):  # clean, common, extra
      whole = error_headlines.headlines({}, {})[index]
      every = {c: {"error"} for c in whole.cells}
      self.assertIsNone(whole.part(every))
      self.assertIsNone(whole.part({}))
      self.assertEqual(headlines.with_parts([whole], every), [whole])


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
    self.assertEqual(headlines.with_held_out(listed, every, ()), listed)
    tilt = [conditions.SEQUENCES.condition("tilt", 1)]
    self.assertEqual(headlines.with_held_out(listed, every, tilt), listed)
    everything = conditions.PICTURES.conditions()[1:]
    self.assertEqual(headlines.with_held_out(listed, every, everything), listed)

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
    asked = Headline("x", ("error",), _CELLS, _excess, asked=(_CLEAN,))
    self.assertLen(_model(clean).over([asked]), 1)

  def test_one_missing_cell_empties_the_number(self):
    fog = {_FOG: _drawn()[_FOG]}
    row = _row(_EXCESS, fog)
    self.assertFalse(row.has_value)
    self.assertEqual((row.lo, row.hi, row.n), (None, None, None))
    self.assertEqual(row.note, "missing: clean (1 of 2)")

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
    own = Summary.of([Cell("m", "d", _CLEAN).row("error", 0.5)])
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
