"""Disks: whole files, locks, caches."""

import errno
import io
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import threading
from unittest import mock

import numpy as np
from absl.testing import absltest, parameterized
from etils import epath

from robust_tfds import errors
from robust_tfds.storage import cache, disk, locks, npz, whole_files
from tests import fake_bucket, in_folder
from tools import import_graph


def _write_at_once(path: pathlib.Path, text: str) -> None:
  disk.write_text(path, text)


def _write_bit_by_bit(path: pathlib.Path, text: str) -> None:
  with disk.whole_file(epath.Path(path)) as file:
    file.write(text.encode())


class DiskTest(in_folder.TestCase):
  """Files are written whole or not at all, and failures are said in words."""

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

  def test_a_folder_in_the_way(self):
    self.path.mkdir()
    with self.assertRaisesRegex(
      errors.UserError, "a.json: .*Move|move it away"
    ):
      disk.write_text(self.path, "x")

  def test_remains_of_the_killed(self):
    child = multiprocessing.get_context("fork").Process(target=os.getpid)
    child.start()
    child.join()
    here = disk._system()
    names = {
      "alive": f".a.json.{here}-{os.getpid()}-00000000.tmp",
      "dead": f".a.json.{here}-{child.pid}-00000000.tmp",
      "far": ".a.json.aaaaaaaa-1-00000000.tmp",
      "old": ".a.json.aaaaaaaa-1-00000001.tmp",
      "users": ".users.tmp",
    }
    for name in names.values():
      (self.root / name).touch()
    os.utime(self.root / names["old"], (1, 1))
    disk.remove_temporary(self.root)
    stay = [names[which] for which in ("alive", "far", "users")]
    self.assertCountEqual(self._names(), stay)


class FolderTest(absltest.TestCase):
  """The folder of what is kept between commands."""

  def test_the_variable_then_the_systems_place(self):
    for variables, expected in (
      ({cache.VARIABLE: "/kept"}, "/kept"),
      ({"XDG_CACHE_HOME": "/c"}, "/c/robust_tfds"),
      ({"HOME": "/home/me"}, "/home/me/.cache/robust_tfds"),
    ):
      with mock.patch.dict(os.environ, variables, clear=True):
        self.assertEqual(cache.folder(), pathlib.Path(expected))


_ROOT = pathlib.Path(__file__).resolve().parents[2]
_HOLDS = """
import pathlib, sys
from robust_tfds.storage import locks
with locks.{call} as folder:
  print(folder, flush=True)
  sys.stdin.read()
"""
_WITHOUT_FCNTL = """
import sys
sys.modules["fcntl"] = None
import robust_tfds.corrupt_folder
"""


def _other(call: str, *arguments: str) -> subprocess.Popen:
  """A process that holds a lock until its input ends."""
  return subprocess.Popen(
    [sys.executable, "-c", _HOLDS.format(call=call), *arguments],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    text=True,
    cwd=_ROOT,
  )


class LocksTest(in_folder.TestCase):
  """One process at a time; folders that go with their process."""

  def test_one_at_a_time_and_a_killed_one_lets_go(self):
    place = self.root / "lock"
    call = "exclusive(pathlib.Path(sys.argv[1]), 'x is being made')"
    with _other(call, str(place)) as other:
      other.stdout.readline()
      killer = threading.Timer(0.3, other.send_signal, [signal.SIGKILL])
      with self.assertLogs(level="WARNING") as logs:
        killer.start()
        with locks.exclusive(place, "x is being made"):
          self.assertIsNotNone(other.wait())  # it was waited for
          self.assertTrue(place.exists())
    self.assertIn(f"x is being made by process {other.pid} on", logs.output[0])
    self.assertEqual(list(self.root.iterdir()), [])

  def test_a_folder_of_its_own_lives_as_long_as_its_process(self):
    call = "own_folder(pathlib.Path(sys.argv[1]), 'left_')"
    with _other(call, str(self.root)) as other:
      theirs = pathlib.Path(other.stdout.readline().strip())
      (self.root / "mine").mkdir()
      with locks.own_folder(self.root, "left_") as ours:
        locks.remove_leftovers(self.root, "left_")
        self.assertTrue(theirs.is_dir())  # it lives
        other.send_signal(signal.SIGKILL)
        other.communicate()
        locks.remove_leftovers(self.root, "left_")
        self.assertFalse(theirs.is_dir())
        self.assertTrue(ours.is_dir())
    locks.remove_leftovers(self.root / "none", "left_")
    self.assertEqual([p.name for p in self.root.iterdir()], ["mine"])

  def test_no_module_needs_what_windows_has_not(self):
    code = [sys.executable, "-c", _WITHOUT_FCNTL]
    done = subprocess.run(code, cwd=_ROOT, capture_output=True, text=True)
    self.assertEqual(done.returncode, 0, done.stderr)
    texts = {
      module: (import_graph.ROOT / path).read_text("utf-8")
      for module, path in import_graph.files().items()
    }
    self.assertEqual([m for m, text in texts.items() if "fcntl" in text], [])


_ARRAYS = {"b/c": np.arange(6.0).reshape(2, 3), "a": np.array([1], np.int8)}


class NpzTest(absltest.TestCase):
  """Arrays as a file: equal ones are equal bytes, and NumPy reads them."""

  def test_equal_ones_are_equal_bytes(self):
    data = npz.archived(_ARRAYS)
    turned = {k: np.asfortranarray(v) for k, v in reversed(_ARRAYS.items())}
    self.assertEqual(npz.archived(turned), data)

  def test_numpy_reads_them(self):
    with np.load(io.BytesIO(npz.archived(_ARRAYS))) as again:
      self.assertCountEqual(again, _ARRAYS)
      for name, array in _ARRAYS.items():
        np.testing.assert_array_equal(again[name], array)
        self.assertEqual(again[name].dtype, array.dtype)


class WholeFilesTest(absltest.TestCase):
  """Files that are whole under their names, or absent."""

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
