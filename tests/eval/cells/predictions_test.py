"""Prediction folders: whole or absent, and the same bytes for any sharding."""

import errno
import multiprocessing
import os
import signal
from unittest import mock

import numpy as np
from absl.testing import absltest
from etils import epath

from eval.cells.cell import Cell
from eval.cells.files import note as note_lib
from eval.cells.files import predictions
from robust_tfds import conditions
from robust_tfds.storage import disk, paths
from robust_tfds.storage.process import Process
from tests import fake_bucket, in_folder, quick
from tests.faults import filesystem

_FACTS = Cell("model", "d", conditions.Condition("fog", 3)).note()


def _columns(ids) -> dict:
  n = len(ids)
  return {
    "example_id": np.array(ids, np.str_),
    "group_id": np.array(ids, np.str_),
    "frame": np.zeros(n, np.int32),
    "label": np.arange(n, dtype=np.int32),
    "top5": np.tile(np.arange(5, dtype=np.int32), (n, 1)),
    "score": np.linspace(0, 1, 5 * n, dtype=np.float32).reshape(n, 5),
  }


def _part(columns, rows) -> dict:
  return {k: v[rows] for k, v in columns.items()}


class ConcatenateTest(absltest.TestCase):
  def test_columns_that_some_parts_lack_are_left_out(self):
    """Those that an earlier version began, and this one went on with."""
    whole = _columns(["a", "b"])
    more = {**_columns(["c"]), "nll": np.ones(1, np.float32)}
    for parts in ((whole, more), (more, whole)):
      got = predictions.concatenate(parts)
      self.assertEqual(got.keys(), whole.keys())
      self.assertLen(got["label"], 3)
    self.assertIn("nll", predictions.concatenate([more, more]))


class PredictionsTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.cell = predictions.folder(self.root, "model", "fog_3")
    self.examples = self.root / "examples"

  def _finish(self, cell, columns) -> dict:
    return predictions.finish(cell, self.examples, columns, _FACTS, "test")

  def test_order_and_parts_do_not_change_a_byte(self):
    columns = _columns(["c.png", "a.png", "b.png"])
    written = []
    for name, parts in (
      ("one", [[0, 1, 2]]),
      ("other order", [[2, 0, 1]]),
      ("two", [[1], [2, 0]]),
    ):
      cell = predictions.folder(self.root, name)
      rows = predictions.concatenate(_part(columns, part) for part in parts)
      self._finish(cell, dict(reversed(rows.items())))
      written.append([p.read_bytes() for p in sorted(cell.iterdir())])
    self.assertLen(written[0], 2)
    self.assertLen(list(self.examples.iterdir()), 1)
    self.assertEqual(written[0], written[1])
    self.assertEqual(written[0], written[2])

  def test_split(self):
    of_examples, outputs = predictions.split(_columns(["a"]))
    self.assertCountEqual(
      of_examples, ["example_id", "group_id", "frame", "label"]
    )
    self.assertCountEqual(outputs, ["top5", "score"])

  def test_reads_back_sorted(self):
    self._finish(self.cell, _columns(["b", "a"]))
    columns, note = predictions.read(self.cell, self.examples)
    self.assertEqual(columns["example_id"].tolist(), ["a", "b"])
    self.assertEqual(columns["label"].tolist(), [1, 0])
    self.assertEqual((note.model, note.config), ("model", "fog_3"))
    self.assertEqual((note.split.name, note.split.rows), ("test", 2))

  def test_example_twice_is_refused(self):
    with self.assertRaisesRegex(ValueError, "'a' has more than one"):
      self._finish(self.cell, _columns(["a", "a"]))
    self.assertFalse(self.cell.exists())

  def test_full_disk_keeps_finished_cells_and_says_so(self):
    other = predictions.folder(self.root, "model", "fog_1")
    self._finish(other, _columns(["a"]))
    full = OSError(errno.ENOSPC, "No space left on device")
    with mock.patch.object(os, "fsync", side_effect=full):
      with self.assertRaisesRegex(
        disk.DiskError,
        f"^{self.cell}.*: could not be written: No space .* free",
      ):
        self._finish(self.cell, _columns(["a"]))
    self.assertEmpty(list(self.cell.iterdir()))
    predictions.read(other, self.examples)

  @quick.cases(["bucket"], ["disk"])
  def test_killed_between_any_two_steps(self, kind):
    """It is not there, or whole; and again writes what nothing happened to."""
    columns = _columns(["b", "a"])
    root = fake_bucket.create(self) / "run" if kind == "bucket" else self.root
    examples, cell = root / "examples", predictions.folder(root, "m", "fog_3")
    whole = self._written(root.parent / "other", columns)
    for step in range(100):
      done = self._killed(kind, root, step, columns)
      written = cell / note_lib.FILE
      self.assertTrue(written.exists() or not done)
      if written.exists():
        predictions.read(cell, examples)
      again = self._written(root, columns)
      self.assertSameElements(again, whole)
      self.assertEqual(again, whole)
      for path in (cell, examples):
        epath.Path(path).rmtree()
      if done:
        break
    self.assertGreater(step, 2)

  def _written(self, root, columns) -> dict[str, bytes]:
    """Writes a cell and gives all files of the run."""
    cell = predictions.folder(root, "m", "fog_3")
    with mock.patch.object(Process, "alive", return_value=False):
      predictions.finish(cell, root / "examples", columns, _FACTS, "test")
    files = paths.files_below(root)
    return {name: paths.of(whole).read_bytes() for name, whole in files}

  def _killed(self, kind, root, step, columns) -> bool:
    """Writes a cell and is killed at a step; whether there was no such step."""
    cell = predictions.folder(root, "m", "fog_3")
    args = cell, root / "examples", columns, _FACTS, "test"
    if kind == "bucket":
      name = ("write", "wrote")[step % 2]
      killed = fake_bucket.Killed()
      try:
        with fake_bucket.fault(name, "*", killed, after=step // 2):
          predictions.finish(*args)
      except fake_bucket.Killed:
        return False
      return True
    fault = filesystem.Fault(("kill", "kill_half")[step % 2], step // 2 + 1)

    def write() -> None:
      with filesystem.faulty(root, fault):
        predictions.finish(*args)

    child = multiprocessing.get_context("fork").Process(target=write)
    child.start()
    child.join()
    self.assertIn(child.exitcode, (0, -signal.SIGKILL))
    return child.exitcode == 0

  def test_folder_names_stay_inside(self):
    cell = predictions.folder(self.root, "../evil", "a/b", "..")
    self.assertTrue(cell.resolve().is_relative_to(self.root.resolve()))
    self.assertLen(cell.relative_to(self.root).parts, 3)
