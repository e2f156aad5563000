"""Lines of printed tables, their sources and marks."""

from absl.testing import absltest

from eval.report.figures.parts import printed, sheet


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

  def test_doubtful_numbers_and_ends_are_marked(self):
    rows = printed.table("shankar2021", "table9")
    marked = [r.metric for r in rows if _marked(printed.number(r).value)]
    self.assertEqual(marked, ["drop"])
    for row in printed.table("shankar2021", "table6"):
      if row.lo is not None:
        self.assertTrue(_marked(printed.number(row).lo), row)
        self.assertFalse(_marked(printed.number(row.used).lo), row)


def _marked(value):
  return isinstance(value, sheet.Marked)
