"""The notebook of natural perturbations runs, cell by cell, in order."""

import contextlib
import io
import json
import pathlib

import pytest
from absl.testing import absltest

_ROOT = pathlib.Path(__file__).resolve().parents[2]


class NotebookTest(absltest.TestCase):
  @pytest.mark.slow
  def test_natural_video(self):
    path = _ROOT / "notebooks" / "natural_video.ipynb"
    cells = json.loads(path.read_text("utf-8"))["cells"]
    names: dict = {}
    printed = io.StringIO()
    for cell in cells:
      if cell["cell_type"] == "code":
        source = "".join(cell["source"])
        with contextlib.redirect_stdout(printed):
          exec(compile(source, f"{path.name} {cell['id']}", "exec"), names)
    self.assertIn("120 anchors", printed.getvalue())
    result = names["result"]
    self.assertEqual(result["n"], 120)
    self.assertGreater(result["acc_orig"][0], 0.85)
    self.assertLess(result["acc_pmk"][0], result["acc_orig"][0])
    self.assertLess(names["detected"]["map_pmk"], names["detected"]["map_orig"])
