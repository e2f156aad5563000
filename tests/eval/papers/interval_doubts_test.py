"""Intervals of Shankar et al. 2021: which are exact, which are not."""

import dataclasses

from absl.testing import absltest

from robust_tfds.eval.papers import interval_doubts
from robust_tfds.eval.papers import printed_rows


def _rows(*tables):
  rows = printed_rows.of_paper("shankar2021")
  return [r for r in rows if r.table in tables]


class IntervalsTest(absltest.TestCase):
  def test_table_5_is_exact(self):
    rows = _rows("table5")
    self.assertEmpty(list(interval_doubts.check(rows)))
    (first, *_) = rows
    self.assertTrue(interval_doubts.fits(first, 1109))
    self.assertFalse(interval_doubts.fits(first, 2030))

  def test_a_wrong_end_is_seen(self):
    first, *others = _rows("table5")
    wrong = dataclasses.replace(first, lo=first.lo + 0.002)
    ((rows, words),) = interval_doubts.check([wrong, *others])
    self.assertEqual(rows, (wrong,))
    self.assertIn("is [82.5, 86.8], printed [82.7, 86.8]", words)

  def test_table_6_is_one_doubt(self):
    ((rows, words),) = interval_doubts.check(_rows("table6"))
    self.assertLen(rows, 120)
    self.assertIn("none of its 120 intervals", words)

  def test_breakdowns_are_of_their_own_anchors(self):
    self.assertEmpty(list(interval_doubts.check(_rows("table7", "table8"))))

  def test_table_2(self):
    found = dict(
      (rows[0].label, words)
      for rows, words in interval_doubts.check(_rows("table2"))
      if rows[0].metric == "acc_pmk"
    )
    words = found["ResNeXt-101, + l_inf robustness"]
    self.assertIn("is [37.8, 43.7], printed [39.0, 43.7]", words)


if __name__ == "__main__":
  absltest.main()
