"""What a doubt is about, in words, and which number is used."""

from absl.testing import absltest, parameterized

from eval import papers
from eval.metrics import intervals
from eval.papers import doubt as doubt_lib
from eval.papers import printed_rows
from eval.papers.doubt import Doubt


class DoubtTest(absltest.TestCase):
  def test_what_its_rows_have_in_common(self):
    rows = printed_rows.paper_rows("shankar2021")
    first, second = [r for r in rows if r.table == "table9"][:2]
    self.assertEqual(first.label, second.label)
    one = Doubt((first,), "too large", "mean")
    self.assertEqual((one.paper, one.where), ("shankar2021", "Table 9"))
    self.assertEqual(one.what, f"{first.label}, {first.metric}")
    self.assertEqual(Doubt((first, second), "both", "mean").what, first.label)
    self.assertEqual(
      Doubt((first,), "too large", "mean", "a drop").what, "a drop"
    )


class UsedTest(parameterized.TestCase):
  def test_every_kind_has_one_rule(self):
    """Recomputed ones have a number for every row, others for none."""
    kinds = doubt_lib.kinds()
    self.assertEqual({d.kind for d in papers.doubts()}, set(kinds))
    for one in papers.doubts():
      used, why = kinds[one.kind]
      self.assertIn(used, ("printed", "recomputed"))
      self.assertNotEmpty(why)
      has = [any(v is not None for v in better) for better in one.used]
      self.assertEqual(set(has), {used == "recomputed"}, one)

  @parameterized.parameters(
    ("schiappa2023", "table7", "X3D, scratch", "gamma_r/digital", 0.13, 0.8733),
    ("schiappa2023", "table5", "X3D", "gamma_r/blur", 0.67, 0.8367),
    ("schiappa2023", "table3", "X3D", "gamma_r/blur", 0.67, 0.8367),
    # Of the groups that are used: .67 .8367 .61 .78 .67.
    ("schiappa2023", "table3", "X3D", "gamma_r", 0.76, 0.7133),
    ("hendrycks2019", "table3", "VGG-19+BN", "mfr", 0.651, 0.644),
    ("shankar2021", "table9", "ILSVRC-30", "drop", 0.151, 0.161),
    ("hendrycks2019", "table1", "ResNet-50", "clean_error", 0.239, 0.239),
  )
  def test_rows_are_printed_and_views_recomputed(
    self, paper, table, label, metric, printed, used
  ):
    (row,) = (
      r
      for r in papers.rows(paper)
      if (r.table, r.label, r.metric, r.name) == (table, label, metric, "")
    )
    self.assertAlmostEqual(row.value, printed)
    self.assertAlmostEqual(row.used.value, used, delta=5e-5)
    words = doubt_lib.sentences([row])
    shown = "recomputed" if row.better else "as printed"
    self.assertIn(f"(shown {shown})", words)
    as_printed = doubt_lib.sentences([row], as_printed=True)
    self.assertIn("(shown as printed)", as_printed)
    if row.listed:
      networks = papers.printed_networks(row.datasets[0])
      numbers = {n.label: n.numbers for n in networks}[label]
      self.assertAlmostEqual(numbers[metric, ""].value, row.used.value)

  def test_intervals_of_another_number_of_anchors(self):
    ends = papers.intervals("ytbb_robust", "acc_orig")
    for label, (share,) in papers.networks("ytbb_robust", "acc_orig").items():
      lo, hi = intervals.clopper_pearson(round(share * 2030), 2030)
      self.assertAlmostEqual(ends[label][0], lo, delta=1e-3)
      self.assertAlmostEqual(ends[label][1], hi, delta=1e-3)

  def test_nothing_is_said_of_numbers_without_a_doubt(self):
    rows = [r for r in papers.rows("shankar2021") if r.table == "table10"]
    self.assertEmpty(doubt_lib.sentences(rows))
