"""The notebook of natural perturbations runs, cell by cell, in order."""

import contextlib
import io

import pytest
from absl.testing import absltest

from tests import pages


class NotebookTest(absltest.TestCase):
  @pytest.mark.slow
  def test_natural_video(self):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
      names = pages.run_notebook("natural_video.ipynb")
    self.assertIn("120 anchors", printed.getvalue())
    result = names["result"]
    self.assertEqual(result["n"], 120)
    self.assertGreater(result["acc_orig"][0], 0.85)
    self.assertLess(result["acc_pmk"][0], result["acc_orig"][0])
    self.assertLess(names["detected"]["map_pmk"], names["detected"]["map_orig"])
