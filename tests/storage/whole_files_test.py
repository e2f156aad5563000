"""Files that are whole under their names, or absent."""

import errno
import pathlib
import signal
import subprocess
import sys
from unittest import mock

from absl.testing import absltest

from robust_tfds import errors
from robust_tfds.storage import whole_files


class WholeFilesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path) / "out"

  def test_writes_and_never_overwrites(self):
    with whole_files.writer(self.folder) as writer:
      writer.write(self.folder / "a" / "b", b"first")
      writer.write(self.folder / "a" / "b", b"second")
    files = [p for p in self.folder.rglob("*") if p.is_file()]
    self.assertEqual(files, [self.folder / "a" / "b"])
    self.assertEqual(files[0].read_bytes(), b"first")
    self.assertLen(list(self.folder.iterdir()), 1)

  def test_a_full_disk_leaves_nothing_and_is_said(self):
    full = OSError(errno.ENOSPC, "No space left on device")
    with whole_files.writer(self.folder) as writer:
      with mock.patch.object(pathlib.Path, "write_bytes", side_effect=full):
        with self.assertRaisesRegex(
          errors.UserError, "out/b: cannot be written: No space left.*continues"
        ):
          writer.write(self.folder / "b", b"data")
    self.assertEqual(list(self.folder.iterdir()), [])

  def test_a_file_in_the_place_of_a_folder(self):
    with whole_files.writer(self.folder) as writer:
      (self.folder / "a").write_text("mine")
      with self.assertRaisesRegex(errors.UserError, "a/b: cannot be written"):
        writer.write(self.folder / "a" / "b", b"data")
    with self.assertRaisesRegex(errors.UserError, "a: cannot be written"):
      with whole_files.writer(self.folder / "a"):
        pass

  def test_what_a_killed_writer_left_is_removed_and_a_living_one_is_not(self):
    code = (
      "import pathlib, sys\n"
      "from robust_tfds.storage import whole_files\n"
      "with whole_files.writer(pathlib.Path(sys.argv[1])):\n"
      "  print('ready', flush=True)\n"
      "  sys.stdin.read()\n"
    )
    other = subprocess.Popen(
      [sys.executable, "-c", code, str(self.folder)],
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
    )
    with other:
      other.stdout.readline()
      with whole_files.writer(self.folder):
        self.assertLen(list(self.folder.iterdir()), 2)
      self.assertLen(list(self.folder.iterdir()), 1)
      other.send_signal(signal.SIGKILL)
      other.wait()
      self.assertLen(list(self.folder.iterdir()), 1)
    with whole_files.writer(self.folder):
      self.assertLen(list(self.folder.iterdir()), 1)
    self.assertEqual(list(self.folder.iterdir()), [])
