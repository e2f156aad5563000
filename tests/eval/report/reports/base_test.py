"""A report: files it must write, and what the page shows of it."""

from absl.testing import absltest

from eval.report.reports import base


class _Nothing(base.Report):
  def write(self, context, folder):
    return []


class ReportTest(absltest.TestCase):
  def test_a_report_that_writes_nothing_cannot_be_made(self):
    with self.assertRaises(TypeError):
      base.Report()

  def test_the_page_shows_nothing_of_it(self):
    self.assertIsNone(_Nothing().on_page(None))
