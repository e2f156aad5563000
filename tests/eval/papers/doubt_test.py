"""What a doubt is about, in words."""

from absl.testing import absltest

from robust_tfds.eval.papers import printed_rows
from robust_tfds.eval.papers.doubt import Doubt


class DoubtTest(absltest.TestCase):
  def test_what_its_rows_have_in_common(self):
    rows = printed_rows.of_paper("shankar2021")
    first, second = [r for r in rows if r.table == "table9"][:2]
    self.assertEqual(first.label, second.label)
    one = Doubt((first,), "too large")
    self.assertEqual((one.paper, one.where), ("shankar2021", "Table 9"))
    self.assertEqual(one.what, f"{first.label}, {first.metric}")
    self.assertEqual(Doubt((first, second), "both").what, first.label)
    self.assertEqual(Doubt((first,), "too large", "a drop").what, "a drop")
