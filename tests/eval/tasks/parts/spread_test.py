"""Intervals of rows over cells."""

import numpy as np
from absl.testing import absltest

from robust_tfds.conditions import Condition
from robust_tfds.eval.cells import table
from robust_tfds.eval.metrics import resampling
from robust_tfds.eval.tasks.parts import spread

_IDS = np.array([f"{i:02d}" for i in range(30)])
_NO_SPREAD = "no interval: every draw gives this value"
_CLEAN, _FOG = Condition(), Condition("fog", 1)


def _totals(seed=0, n=30):
  rng = np.random.default_rng(seed)
  return {
    c: {"error": resampling.Totals.of(rng.random(n) < 0.4, _IDS[:n])}
    for c in (_CLEAN, _FOG)
  }


def _excess(cells, reference=None):
  by = 1 if reference is None else reference[_FOG]["error"]
  return {
    ("excess", "", None): (cells[_FOG]["error"] - cells[_CLEAN]["error"]) / by
  }


def _row(value, **facts):
  return table.Row("m", "d", "", "", None, "excess", value, **facts)


class SpreadTest(absltest.TestCase):
  def test_draws_are_of_the_groups_of_all_cells(self):
    few, all_of = _totals(n=20), _totals()
    draws = spread.draws_of([*few.values(), *all_of.values()])
    self.assertEqual(draws.ids.tolist(), _IDS.tolist())
    self.assertIsNone(spread.draws_of([{}]))
    self.assertEqual(spread.fewest({_CLEAN: few[_CLEAN], **all_of}), 30)
    self.assertEqual(spread.fewest({**all_of, _CLEAN: few[_CLEAN]}), 20)

  def test_cells_are_those_drawn_alone(self):
    totals = _totals()
    draws = spread.draws_of(totals.values())
    cells = spread.of_cells(totals, draws)
    (alone,) = draws.of_totals([totals[_FOG]["error"]])
    np.testing.assert_allclose(cells[_FOG]["error"].draws, alone.draws)

  def test_rows_get_interval_and_n_and_keep_their_value(self):
    totals = _totals()
    cells = spread.of_cells(totals, spread.draws_of(totals.values()))
    numbers = spread.headlines(_excess, cells)
    number = numbers["excess", "", None]
    value = float(number.value) + 1e-17
    row = spread.filled(_row(value), totals, numbers)
    self.assertEqual((row.value, row.n), (value, 30))
    self.assertEqual((row.lo, row.hi), number.interval())

  def test_other_rows_stay_as_they_are(self):
    totals = _totals()
    cells = spread.of_cells(totals, spread.draws_of(totals.values()))
    numbers = spread.headlines(_excess, cells)
    for row in (
      _row(0.1, lo=0.0, hi=0.2, n=5),
      _row(float("nan"), note="missing: fog 2"),
      table.Row("m", "d", "fog_1", "fog", 1, "excess", 0.1),
      table.Row("m", "d", "", "fog", None, "excess", 0.1),
    ):
      self.assertIs(spread.filled(row, totals, numbers), row)

  def test_a_number_that_draws_leave_undefined_says_so(self):
    totals = _totals()
    cells = spread.of_cells(totals, spread.draws_of(totals.values()))

    def often_undefined(cells, reference):
      place = np.arange(1, 1 + cells[_FOG]["error"].shape[-1])
      return {("excess", "", None): np.where(place % 9, 0.1, np.nan)}

    numbers = spread.headlines(often_undefined, cells)
    row = spread.filled(_row(0.1), totals, numbers)
    self.assertEqual((row.lo, row.hi, row.n), (None, None, 30))
    self.assertEqual(
      row.note, "no interval: undefined in more than 1 of 20 draws"
    )

  def test_no_interval_of_no_width_but_of_the_baseline(self):
    totals = _totals()
    cells = spread.of_cells(totals, spread.draws_of(totals.values()))
    always = {("excess", "", None): np.float64(1)}
    numbers = spread.headlines(
      lambda c, r: {
        k: v * np.ones(c[_FOG]["error"].shape[-1]) for k, v in always.items()
      },
      cells,
    )
    row = spread.filled(_row(1.0), totals, numbers)
    self.assertEqual((row.lo, row.hi, row.n), (None, None, 30))
    self.assertEqual(row.note, _NO_SPREAD)
    own = spread.filled(_row(1.0), totals, numbers, baseline=True)
    self.assertEqual((own.lo, own.hi, own.note), (1, 1, ""))

  def test_points(self):
    point = _row(0.3, lo=0.3, hi=0.3 + 1e-16, n=4)
    got = spread.without_point(point)
    self.assertEqual((got.value, got.lo, got.hi, got.n), (0.3, None, None, 4))
    self.assertEqual(got.note, _NO_SPREAD)
    self.assertEqual(
      spread.without_point(point, 1).note,
      "no interval: all examples are one group",
    )
    for row in (_row(0.3), _row(0.3, lo=0.3, hi=0.31, n=4)):
      self.assertIs(spread.without_point(row), row)

  def test_a_reference_is_drawn_together(self):
    totals = _totals()
    cells = spread.of_cells(totals, spread.draws_of(totals.values()))
    ratio = spread.headlines(
      lambda c, r: {("r", "", None): c[_FOG]["error"] / r[_FOG]["error"]},
      cells,
      cells,
    )
    self.assertEqual(ratio["r", "", None].interval(), (1.0, 1.0))


if __name__ == "__main__":
  absltest.main()
