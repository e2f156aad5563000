"""Files are written whole or not at all, and failures are said in words."""

import dataclasses
import errno
import os
import pathlib
from unittest import mock

from absl.testing import parameterized
from etils import epath

from robust_tfds import errors
from robust_tfds.storage import disk, process
from tests import fake_bucket, in_folder


def _write_at_once(path: pathlib.Path, text: str) -> None:
  disk.write_text(path, text)


def _write_bit_by_bit(path: pathlib.Path, text: str) -> None:
  with disk.whole_file(epath.Path(path)) as file:
    file.write(text.encode())


class DiskTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.path = self.root / "a.json"

  def _names(self) -> list[str]:
    return [p.name for p in self.root.iterdir()]

  def test_replaces(self):
    disk.write_text(self.path, "1")
    disk.write_text(self.path, "2")
    self.assertEqual(self.path.read_text("utf-8"), "2")
    self.assertEqual(self._names(), ["a.json"])

  @parameterized.product(
    function=("fsync", "replace"), write=(_write_at_once, _write_bit_by_bit)
  )
  def test_a_failure_leaves_the_old_file_alone(self, function, write):
    write(self.path, "old")
    broken = OSError(errno.ENOSPC, "No space left on device")
    with mock.patch.object(os, function, side_effect=broken):
      with self.assertRaisesRegex(
        disk.DiskError,
        f"^{self.path}: could not be written: No space .*free some",
      ):
        write(self.path, "new")
    self.assertEqual(self.path.read_text("utf-8"), "old")
    self.assertEqual(self._names(), ["a.json"])

  def test_the_path_that_the_system_names_comes_first(self):
    with self.assertRaisesRegex(
      disk.DiskError, f"^{self.path}.x: could not be written: .*free some space"
    ):
      with disk.writing(self.root):
        raise OSError(errno.ENOSPC, "No space left", f"{self.path}.x")

  def test_a_whole_file_is_there_when_its_context_ends(self):
    path = epath.Path(self.path)
    disk.write_text(path, "old")
    with disk.whole_file(path) as file:
      file.write(b"new")
      file.write(b"er")
      self.assertEqual(path.read_text(), "old")
    self.assertEqual(path.read_text(), "newer")
    self.assertEqual(self._names(), ["a.json"])

  @parameterized.parameters(ValueError("x"), errors.UserError("x"))
  def test_an_error_while_a_whole_file_is_written(self, error):
    path = epath.Path(self.path)
    disk.write_text(path, "old")
    with self.assertRaises(type(error)):
      with disk.whole_file(path) as file:
        file.write(b"new")
        raise error
    self.assertEqual(path.read_text(), "old")
    self.assertEqual(self._names(), ["a.json"])

  def test_an_object_of_a_bucket_is_there_whole_or_not_at_all(self):
    path = fake_bucket.create(self) / "part.npz"
    with self.assertRaises(ValueError):
      with disk.whole_file(path) as file:
        file.write(b"new")
        raise ValueError
    self.assertFalse(path.exists())
    with disk.whole_file(path) as file:
      file.write(b"new")
      self.assertFalse(path.exists())
    self.assertEqual(path.read_bytes(), b"new")

  def test_a_folder_is_made_while_others_remove_the_one_above(self):
    """As the end of one source's parts does at the start of the next's."""
    above, times = self.root / "parts", 3
    mkdir = os.mkdir

    def mkdir_and_removal(path, *args):
      nonlocal times
      mkdir(path, *args)
      if pathlib.Path(path) == above and times:
        times -= 1
        disk.remove_empty(above)

    with mock.patch.object(os, "mkdir", mkdir_and_removal):
      disk.make_folder(epath.Path(above / "mine"))
    self.assertTrue((above / "mine").is_dir())
    self.assertEqual(times, 0)

  def test_a_folder_in_the_way(self):
    self.path.mkdir()
    with self.assertRaisesRegex(
      errors.UserError, "a.json: .*Move|move it away"
    ):
      disk.write_text(self.path, "x")

  def test_remains_of_the_killed(self):
    this = process.Process.this()
    dead = dataclasses.replace(this, started=this.started - 60)
    far = dataclasses.replace(this, system="elsewhere")
    old = dataclasses.replace(far, nonce="old")
    for writer in (this, dead, far, old):
      (self.root / f".a.json.{writer.name}.tmp").touch()
    for name in ("users.tmp", ".users.tmp"):
      (self.root / name).touch()
    os.utime(self.root / f".a.json.{old.name}.tmp", (1, 1))
    disk.remove_temporary(self.root)
    stay = [f".a.json.{writer.name}.tmp" for writer in (this, far)]
    self.assertCountEqual(self._names(), ["users.tmp", ".users.tmp", *stay])
