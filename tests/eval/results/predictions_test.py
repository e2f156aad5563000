"""Prediction folders: whole or absent, and the same bytes for any sharding."""

import errno
import os
import pathlib
from unittest import mock

import numpy as np
from absl.testing import absltest

from robust_tfds.eval.results import predictions


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
        predictions.write_shard(cell, _part(columns, rows), i, len(parts))
      predictions.finish(cell, {"model": "m"}, len(parts))
      written.append((cell / "predictions.npz").read_bytes())
    self.assertEqual(written[0], written[1])
    self.assertEqual(written[0], written[2])

  def test_reads_back_sorted(self):
    predictions.write_shard(self.cell, _columns(["b", "a"]), 0, 1)
    predictions.finish(self.cell, {"seed": 3}, 1)
    columns, provenance = predictions.read(self.cell)
    self.assertEqual(columns["example_id"].tolist(), ["a", "b"])
    self.assertEqual(columns["label"].tolist(), [1, 0])
    self.assertEqual(provenance, {"seed": 3})

  def test_unfinished_cell_is_not_done_and_is_discarded(self):
    predictions.write_shard(self.cell, _columns(["a"]), 0, 1)
    self.assertFalse(predictions.done(self.cell))
    predictions.discard_unfinished(self.root)
    self.assertEmpty(list(self.root.rglob("*.npz")))

  def test_missing_shard_names_the_process(self):
    predictions.write_shard(self.cell, _columns(["a"]), 0, 2)
    with self.assertRaisesRegex(FileNotFoundError, "process 1 of 2"):
      predictions.finish(self.cell, {}, 2)

  def test_example_twice_is_refused(self):
    predictions.write_shard(self.cell, _columns(["a", "a"]), 0, 1)
    with self.assertRaisesRegex(ValueError, "'a' has more than one"):
      predictions.finish(self.cell, {}, 1)
    self.assertFalse(predictions.done(self.cell))

  def test_full_disk_keeps_finished_cells_and_says_so(self):
    other = predictions.folder(self.root, "model", "fog_1")
    predictions.write_shard(other, _columns(["a"]), 0, 1)
    predictions.finish(other, {}, 1)
    full = OSError(errno.ENOSPC, "No space left on device")
    with mock.patch.object(os, "fsync", side_effect=full):
      with self.assertRaisesRegex(predictions.DiskFullError, "disk is full"):
        predictions.write_shard(self.cell, _columns(["a"]), 0, 1)
    self.assertFalse(predictions.done(self.cell))
    self.assertTrue(predictions.done(other))

  def test_folder_names_stay_inside(self):
    cell = predictions.folder(self.root, "../evil", "a/b")
    self.assertTrue(cell.resolve().is_relative_to(self.root.resolve()))


if __name__ == "__main__":
  absltest.main()
