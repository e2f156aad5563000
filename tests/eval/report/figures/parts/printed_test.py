"""Lines of printed tables, their sources and doubts."""

from absl.testing import absltest

from robust_tfds.eval.report.figures.parts import printed


class PrintedTest(absltest.TestCase):
  def test_a_table(self):
    rows = printed.table("shankar2021", "table9")
    values = {(r.label, r.metric): r.value for r in rows}
    self.assertAlmostEqual(values["ILSVRC-30", "acc_orig"], 0.61)
    self.assertAlmostEqual(values["ILSVRC-30, fine-tuned", "drop"], 0.179)
    self.assertEmpty(printed.table("shankar2021", "table99"))

  def test_sources_are_named_once(self):
    rows = printed.table("shankar2021", "table9")
    self.assertEqual(
      printed.source_of(rows), "Shankar et al. 2021 (arXiv 1906.02168), Table 9"
    )

  def test_doubts_say_which_number(self):
    words = printed.doubts(printed.table("shankar2021", "table9"))
    self.assertStartsWith(words, "Doubtful: ILSVRC-30 drop: 61.0 - 44.9")
    self.assertEmpty(printed.doubts(printed.table("shankar2021", "table10")))
