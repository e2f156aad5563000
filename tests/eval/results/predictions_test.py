"""Prediction folders: whole or absent, and the same bytes for any sharding."""

import errno
import os
import pathlib
from unittest import mock

import numpy as np
from absl.testing import absltest

from robust_tfds import conditions
from robust_tfds import errors
from robust_tfds.eval.results import disk
from robust_tfds.eval.results import predictions
from robust_tfds.eval.results.cell import Cell

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


class PredictionsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    self.cell = predictions.folder(self.root, "model", "fog_3")
    self.unfinished = self.root / "unfinished"
    self.examples = self.root / "examples"

  def _finish(self, cell, columns) -> dict:
    return predictions.finish(cell, self.examples, columns, _FACTS, "test")

  def test_sharding_and_order_do_not_change_a_byte(self):
    columns = _columns(["c.png", "a.png", "b.png"])
    written = []
    for name, parts in (
      ("one", [[0, 1, 2]]),
      ("other order", [[2, 0, 1]]),
      ("two", [[1], [2, 0]]),
    ):
      cell = predictions.folder(self.root, name)
      for i, rows in enumerate(parts):
        part = _part(columns, rows)
        predictions.write_shard(self.unfinished, part, i, len(parts))
      self._finish(cell, predictions.merge(self.unfinished, len(parts)))
      self.assertFalse(self.unfinished.exists())
      written.append(
        [p.read_bytes() for p in sorted(cell.iterdir(), key=lambda p: p.name)]
      )
    self.assertLen(written[0], 2)
    self.assertLen(list(self.examples.iterdir()), 1)
    self.assertEqual(written[0], written[1])
    self.assertEqual(written[0], written[2])

  def test_reads_back_sorted(self):
    self._finish(self.cell, _columns(["b", "a"]))
    columns, note = predictions.read(self.cell, self.examples)
    self.assertEqual(columns["example_id"].tolist(), ["a", "b"])
    self.assertEqual(columns["label"].tolist(), [1, 0])
    self.assertEqual((note.model, note.config), ("model", "fog_3"))
    self.assertEqual((note.split.name, note.split.rows), ("test", 2))

  def test_changed_columns_are_refused(self):
    self._finish(self.cell, _columns(["b", "a"]))
    path = self.cell / predictions.FILE
    data = path.read_bytes()
    for damaged in (b"", data[:-7], data.replace(b"\0", b"c", 1), data + b"x"):
      path.write_bytes(damaged)
      with self.assertRaisesRegex(errors.UserError, f"^{path}: "):
        predictions.read(self.cell, self.examples)
    path.unlink()
    with self.assertRaisesRegex(errors.UserError, f"^{path}: "):
      predictions.read(self.cell, self.examples)

  def test_missing_shard_names_the_process(self):
    predictions.write_shard(self.unfinished, _columns(["a"]), 0, 2)
    with self.assertRaisesRegex(FileNotFoundError, "process 1 of 2"):
      predictions.merge(self.unfinished, 2)

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

  def test_folder_names_stay_inside(self):
    cell = predictions.folder(self.root, "../evil", "a/b", "..")
    self.assertTrue(cell.resolve().is_relative_to(self.root.resolve()))
    self.assertLen(cell.relative_to(self.root).parts, 3)


if __name__ == "__main__":
  absltest.main()
