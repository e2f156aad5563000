"""Tar files and their index."""

import gzip
import os
import pathlib
import subprocess
import sys
import tarfile
import warnings
from unittest import mock

import numpy as np
from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.reading import archives, tar_files, tar_index
from robust_tfds.storage import paths
from tests import fake_bucket, in_folder
from tests.reading import archives_test

_FILES = {
  f"set/{i % 3}/ü{i}.txt" if i % 7 else f"set/{'n' * 120}{i}": bytes(i)
  for i in range(40)
}


def _read(path, belongs=None):
  return {
    m.name: (m.offset, archives.data(m))
    for m in archives.members(path, belongs)
  }


class TarIndexTest(in_folder.TestCase):
  """The index of a tar: walked over once, and never trusted blindly."""

  def setUp(self):
    super().setUp()
    self.path = self.root / "a.tar"
    self.path.write_bytes(archives_test.tar_bytes(_FILES))
    self.file = self.root / ".a.tar.index.npz"
    cache = self.create_tempdir().full_path
    for patch in (
      mock.patch.object(tar_index, "_WORTH", 10),
      mock.patch.dict(os.environ, XDG_CACHE_HOME=cache),
    ):
      self.enterContext(patch)
    self.cache = pathlib.Path(cache, "robust_tfds/tar_indices")
    self.walks = self.enterContext(
      mock.patch.object(tar_files, "_entries", wraps=tar_files._entries)
    )

  def _forget(self):
    tar_index._indices.clear()

  def test_a_second_reading_does_not_walk(self):
    first = _read(self.path)
    self.assertEqual({n: d for n, (_, d) in first.items()}, _FILES)
    self.assertEqual(_read(self.path), first)
    self._forget()
    self.assertEqual(_read(self.path), first)
    ours = _read(self.path, lambda name: name.startswith("set/2/"))
    self.assertEqual(
      ours, {n: v for n, v in first.items() if n.startswith("set/2/")}
    )
    self.assertEqual(dict(archives.contents(self.path)).__len__(), 40)
    self.assertEqual(self.walks.call_count, 1)
    self.assertCountEqual(os.listdir(self.root), ["a.tar", self.file.name])

  def test_another_process_reads_the_file(self):
    _read(self.path)
    program = (
      "import sys; from robust_tfds.reading import archives, tar_files;"
      "tar_files._entries = None;"
      "print(len(list(archives.members(sys.argv[1]))))"
    )
    out = subprocess.check_output([sys.executable, "-c", program, self.path])
    self.assertEqual(out.strip(), b"40")

  def test_an_archive_that_was_replaced_is_walked_over(self):
    _read(self.path)
    for files in ({"set/x": b"1"}, {"set/x": b"2"}):
      self.path.write_bytes(archives_test.tar_bytes(files))
      self.assertEqual({n: d for n, (_, d) in _read(self.path).items()}, files)

  def test_a_cut_archive_has_no_index(self):
    self.path.write_bytes(archives_test.tar_bytes(_FILES)[:-20480])
    with self.assertRaisesRegex(Exception, "not a whole tar"):
      _read(self.path)
    self.assertFalse(self.file.exists())

  def test_faults_are_found_every_time(self):
    link = archives_test._entry(archives_test.tarfile.SYMTYPE)
    self.path.write_bytes(archives_test.tar_bytes(_FILES, link))
    for _ in range(2):
      with self.assertRaisesRegex(Exception, "it is a link"):
        _read(self.path)
      self.assertEqual(_read(self.path, lambda name: False), {})
    self.assertFalse(self.file.exists())

  @parameterized.parameters("cut", "text", "ends", "names")
  def test_a_damaged_index_is_made_again(self, damage):
    first = _read(self.path)
    whole = self.file.read_bytes()
    if damage in ("cut", "text"):
      self.file.write_bytes(whole[:-100] if damage == "cut" else b"text")
    else:
      content = dict(np.load(self.file))
      content["names"][:3] = list(b"../")
      if damage == "ends":
        content["names"][:3], content["ends"] = 0xFF, content["ends"] - 1
      np.savez(self.file, **content)
    self._forget()
    with self.assertWarnsRegex(UserWarning, "read again"):
      self.assertEqual(_read(self.path), first)
    with warnings.catch_warnings():
      warnings.simplefilter("error")
      self._forget()
      self.assertEqual(_read(self.path), first)
    self.assertEqual(self.walks.call_count, 2)

  def test_a_folder_that_may_not_be_written(self):
    real = paths.write_bytes

    def put(path, data):
      if path == str(self.file):
        raise PermissionError(path)
      real(path, data)

    with mock.patch.object(paths, "write_bytes", put):
      first = _read(self.path)
    self.assertFalse(self.file.exists())
    self.assertLen(list(self.cache.iterdir()), 1)
    self._forget()
    self.assertEqual(_read(self.path), first)
    self.assertEqual(self.walks.call_count, 1)

  def test_small_archives_have_no_file(self):
    self.path.write_bytes(archives_test.tar_bytes({"a": b"1"}))
    _read(self.path)
    _read(self.path)
    self.assertEqual(os.listdir(self.root), ["a.tar"])
    self.assertEqual(self.walks.call_count, 1)

  def test_in_a_bucket(self):
    local = _read(self.path)
    bucket = fake_bucket.create(self)
    archive = fake_bucket.upload(self.path, bucket / "data/a.tar")
    self.assertEqual(_read(archive), local)
    self._forget()
    with fake_bucket.counted() as counts:
      self.assertEqual(_read(archive), local)
    self.assertEqual(self.walks.call_count, 2)
    # The archive's kind, its index, and one opening for all members.
    self.assertLessEqual(counts["open"], 5)
    with fake_bucket.fault("write", "*.index.npz", PermissionError("no")):
      fake_bucket.upload(self.path, bucket / "b.tar")
      _read(bucket / "b.tar")
    self.assertLen(list(self.cache.iterdir()), 1)


class TarFilesTest(parameterized.TestCase):
  """Tar archives: what tarfile itself would pass over in silence."""

  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path, "a.tar")

  def _listed(self, data: bytes):
    self.path.write_bytes(data)
    return list(tar_files.list_members(str(self.path), lambda name: True))

  def test_folders_are_no_members(self):
    folder = tarfile.TarInfo("set/inner/")
    folder.type = tarfile.DIRTYPE
    self.assertLen(self._listed(archives_test.tar_bytes(None, folder)), 3)

  def test_a_compressed_one_has_no_offsets(self):
    with self.assertRaisesRegex(errors.UserError, "a.tar: compressed"):
      self._listed(gzip.compress(archives_test.tar_bytes()))

  def test_gunzipped(self):
    self.path.write_bytes(gzip.compress(b"text"))
    self.assertEqual(tar_files.gunzipped(str(self.path)), b"text")
    self.path.write_bytes(gzip.compress(b"text")[:-2])
    with self.assertRaisesRegex(errors.UserError, "a.tar: cannot be unpacked"):
      tar_files.gunzipped(str(self.path))
