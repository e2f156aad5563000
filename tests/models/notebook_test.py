"""The notebook runs, cell by cell, in order."""

import sys

from absl.testing import absltest

from tests import pages


class NotebookTest(absltest.TestCase):
  def test_add_your_model(self):
    self.addCleanup(setattr, sys, "path", list(sys.path))
    names = pages.run_notebook("add_your_model.ipynb")
    self.assertLess(names["errors"]["clean"], 0.2)
