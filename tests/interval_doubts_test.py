"""Intervals of Shankar et al. 2021: which are exact, which are not."""

import dataclasses

import numpy as np
from absl.testing import absltest
from scipy import special

from eval.papers import printed_rows
from tools import interval_doubts


def _rows(*tables):
  rows = printed_rows.paper_rows("shankar2021")
  return [r for r in rows if r.table in ("table1", *tables)]


class IntervalsTest(absltest.TestCase):
  def test_table_5_is_exact(self):
    rows = _rows("table5")
    self.assertEmpty(list(interval_doubts.check(rows)))
    first = next(r for r in rows if r.lo is not None)
    self.assertTrue(interval_doubts.fits(first, 1109))
    self.assertFalse(interval_doubts.fits(first, 2030))

  def test_a_wrong_end_is_seen(self):
    rows = _rows("table5")
    place = next(i for i, r in enumerate(rows) if r.lo is not None)
    rows[place] = dataclasses.replace(rows[place], lo=rows[place].lo + 0.002)
    (doubt,) = interval_doubts.check(rows)
    self.assertEqual(doubt.rows, (rows[place],))
    self.assertIn("is [82.5, 86.8], printed [82.7, 86.8]", doubt.words)

  def test_table_6_is_one_doubt(self):
    (doubt,) = interval_doubts.check(_rows("table6"))
    self.assertLen(doubt.rows, 120)
    self.assertIn("none of its 120 intervals", doubt.words)

  def test_table_6_was_printed_with_1109_for_2030(self):
    for row in _rows("table6"):
      if row.lo is not None:
        right = interval_doubts._candidates(row, 2030) / 2030 * 1109
        lo = special.betaincinv(right, 1109 - right + 1, 0.025)
        hi = special.betaincinv(right + 1, 1109 - right, 0.975)
        off = np.maximum(np.abs(lo - row.lo), np.abs(hi - row.hi))
        self.assertLessEqual(off.min(), 0.0005 + 1e-9, row)

  def test_breakdowns_are_of_their_own_anchors(self):
    self.assertEmpty(list(interval_doubts.check(_rows("table7", "table8"))))

  def test_table_2(self):
    of_label = {
      doubt.rows[0].label: doubt.words
      for doubt in interval_doubts.check(_rows("table2"))
      if doubt.rows[0].metric == "acc_pmk"
    }
    words = of_label["ResNeXt-101, + l_inf robustness"]
    self.assertIn("is [37.8, 43.7], printed [39.0, 43.7]", words)
