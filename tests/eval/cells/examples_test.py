"""Facts of examples: one file for all cells that are of them."""

import os
import pathlib
import threading

import numpy as np
from absl.testing import parameterized
from etils import epath

from eval.cells.files import examples
from robust_tfds import errors
from robust_tfds.storage import paths
from tests import fake_bucket


def _columns(*ids: str) -> dict[str, np.ndarray]:
  return {
    "example_id": np.array(ids),
    "frame": np.zeros(len(ids), np.int32),
    "label": np.arange(len(ids), dtype=np.int32),
  }


class ExamplesTest(parameterized.TestCase):
  def _folder(self, kind: str) -> epath.Path:
    if kind == "bucket":
      return fake_bucket.create(self) / "run" / "examples"
    return paths.of(self.create_tempdir().full_path) / "run" / "examples"

  @parameterized.parameters("disk", "bucket")
  def test_equal_examples_share_a_file(self, kind):
    folder, reader = self._folder(kind), examples.Reader()
    first = examples.write(folder, _columns("a", "b"))
    other = examples.write(folder, _columns("a", "c"))
    self.assertEqual(examples.write(folder, _columns("a", "b")), first)
    self.assertCountEqual(
      [p.name for p in folder.iterdir()],
      [f"{file.sha256[:16]}.npz" for file in (first, other)],
    )
    for file, ids in ((first, ["a", "b"]), (other, ["a", "c"])):
      got = reader.columns(folder, file)
      self.assertEqual(got["example_id"].tolist(), ids)
      self.assertEqual(got["label"].dtype, np.int32)

  @parameterized.parameters("disk", "bucket")
  def test_what_is_damaged_is_named_and_written_again(self, kind):
    folder = self._folder(kind)
    file = examples.write(folder, _columns("a", "b"))
    place = examples.path(folder, file)
    whole = place.read_bytes()
    for data in (whole[:-1], whole[:-1] + b"x", b""):
      place.write_bytes(data)
      with self.assertRaisesRegex(errors.UserError, f"^{place}: "):
        examples.Reader().columns(folder, file)
      self.assertEqual(examples.write(folder, _columns("a", "b")), file)
      self.assertEqual(place.read_bytes(), whole)
    place.unlink()
    with self.assertRaisesRegex(errors.UserError, f"^{place}: there is no"):
      examples.Reader().columns(folder, file)

  def test_read_once_for_all_cells(self):
    folder, reader = self._folder("bucket"), examples.Reader()
    file = examples.write(folder, _columns("a", "b"))
    with fake_bucket.counted() as steps:
      for _ in range(5):
        reader.columns(folder, file)
    self.assertEqual(steps["open"], 1)

  def test_few_sets_stay_in_memory(self):
    folder, reader = self._folder("bucket"), examples.Reader()
    files = [examples.write(folder, _columns(x)) for x in "abc"]
    with fake_bucket.counted() as steps:
      for file in files * 2:
        reader.columns(folder, file)
    self.assertEqual(steps["open"], 6)

  def test_damage_after_it_was_read_is_seen(self):
    folder, reader = self._folder("disk"), examples.Reader()
    file = examples.write(folder, _columns("a", "b"))
    reader.columns(folder, file)
    place = examples.path(folder, file)
    data = pathlib.Path(place).read_bytes()
    pathlib.Path(place).write_bytes(data[:-1] + b"x")
    os.utime(place, ns=(0, 0))
    with self.assertRaisesRegex(errors.UserError, f"^{place}: its checksum"):
      reader.columns(folder, file)

  def test_written_by_many_at_once(self):
    folder = self._folder("disk")
    threads = [
      threading.Thread(target=examples.write, args=(folder, _columns("a")))
      for _ in range(8)
    ]
    for thread in threads:
      thread.start()
    for thread in threads:
      thread.join()
    self.assertLen(list(folder.iterdir()), 1)
