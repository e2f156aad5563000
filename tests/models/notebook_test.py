"""The notebook runs, cell by cell, in order."""

import json
import pathlib
import sys

from absl.testing import absltest

_ROOT = pathlib.Path(__file__).resolve().parents[2]


class NotebookTest(absltest.TestCase):
  def test_add_your_model(self):
    path = _ROOT / "notebooks" / "add_your_model.ipynb"
    cells = json.loads(path.read_text("utf-8"))["cells"]
    names: dict = {}
    self.addCleanup(setattr, sys, "path", list(sys.path))
    for cell in cells:
      if cell["cell_type"] == "code":
        source = "".join(cell["source"])
        exec(compile(source, f"{path.name} {cell['id']}", "exec"), names)
    self.assertLess(names["errors"]["clean"], 0.2)
