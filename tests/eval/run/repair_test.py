"""What `--repair` moves aside, and what it leaves; the command: runner_test.py."""

import contextlib
import io
import json
import pathlib

import numpy as np
from absl.testing import absltest

from eval.cells.cell import Cell
from eval.cells.workdir import Workdir
from eval.run import spec as spec_lib
from eval.run.execution import repair
from robust_tfds import conditions
from tests.eval import tiny_config


class RepairTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.spec = spec_lib.from_config(tiny_config.get_config())
    self.workdir = Workdir(pathlib.Path(self.create_tempdir().full_path))
    self.workdir.claim(self.spec.written)
    self.workdir.write_truth({"images": []})
    for level in (1, 3):
      columns = {"example_id": np.array(["a"]), "frame": np.zeros(1, np.int32)}
      self.workdir.write_cell(self._cell(level), columns, "test")
    self.model = self.workdir.model_folder("digits_cnn")
    self.model.mkdir(parents=True)
    record = {"recipe": {}, "files": {}}
    (self.model / "recipe.json").write_text(json.dumps(record))

  def _cell(self, level: int) -> Cell:
    condition = conditions.Condition("brightness", level)
    return Cell("digits_cnn", "digits_c", condition)

  def _moved(self) -> list[str]:
    """What a repair moves; what it says of it begins with the path."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
      repair.repair(self.workdir, self.spec.entries)
    lines = said.getvalue().splitlines()
    for line in lines:
      self.assertRegex(line, f"^{self.workdir.path}/.*: .* Moved to .*damaged/")
    return [x.rpartition("damaged/")[2].partition(";")[0] for x in lines]

  def test_all_that_is_damaged(self):
    root = self.workdir.path
    cell = self.workdir.cell_folder(self._cell(3))
    (cell / "predictions.npz").write_bytes(b"")
    for path in (
      root / "config.json",
      root / "truth.json",
      self.model / "recipe.json",
    ):
      path.write_text("{")
    self.assertCountEqual(
      self._moved(),
      [
        "config.json",
        "truth.json",
        "truth.sha256",
        "models/digits_cnn",
        cell.relative_to(root).as_posix(),
      ],
    )
    self.assertTrue(self.workdir.done(self._cell(1)))
    self.assertFalse(self.workdir.done(self._cell(3)))
    self.assertFalse(self.workdir.config_path.exists())
    self.assertEmpty(self._moved())
