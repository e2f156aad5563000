"""Tar archives: what tarfile itself would pass over in silence."""

import gzip
import pathlib
import tarfile

from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.reading import tar_files
from tests.reading import archives_test


class TarFilesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path, "a.tar")

  def _listed(self, data: bytes):
    self.path.write_bytes(data)
    return list(tar_files.listed(str(self.path), lambda name: True))

  @parameterized.parameters(1536, 1536 + 512)
  def test_tarfile_itself_takes_a_cut_archive(self, size):
    data = archives_test.tar_bytes()[:size]
    self.path.write_bytes(data)
    with tarfile.open(self.path) as tar:
      self.assertNotEmpty(tar.getnames())
    with self.assertRaisesRegex(errors.UserError, "no end mark"):
      self._listed(data)

  def test_offsets_are_those_of_tarfile(self):
    members = self._listed(archives_test.tar_bytes())
    with tarfile.open(self.path) as tar:
      expected = [(m.name, m.offset_data, m.size) for m in tar]
    self.assertEqual([(m.name, m.offset, m.size) for m in members], expected)

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
