"""The notebook of data of one's own runs, cell by cell, in order."""

import contextlib
import io

from absl.testing import absltest

from tests import pages


class NotebookTest(absltest.TestCase):
  def test_own_data(self):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
      names = pages.run_notebook("own_data.ipynb")
    self.assertEqual(names["result"].summary["clean_error"], 0)
    self.assertIn("mean over 6 of 75 cells", printed.getvalue())
    self.assertIn("report.html", printed.getvalue())
    self.assertIn("blind/clean_error", names["both"].summary)
