"""A report: files it must write; pictures and tables it may have."""

from absl.testing import absltest

from robust_tfds.eval.report.reports import base


class _Nothing(base.Report):
  def write(self, context, folder):
    return []


class ReportTest(absltest.TestCase):
  def test_a_report_that_writes_nothing_cannot_be_made(self):
    with self.assertRaises(TypeError):
      base.Report()

  def test_defaults(self):
    report = _Nothing()
    self.assertEqual(report.pictures, ())
    self.assertEqual(report.tables(None), ())
