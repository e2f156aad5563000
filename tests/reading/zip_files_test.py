"""Zip archives: links, overlaps, methods, members that are read by name."""

import io
import pathlib
import stat
import zipfile

from absl.testing import absltest

from robust_tfds import errors
from robust_tfds.reading import zip_files
from tests.reading import archives_test


class ZipFilesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.path = pathlib.Path(self.create_tempdir().full_path, "a.zip")

  def _listed(self, data: bytes):
    self.path.write_bytes(data)
    return list(zip_files.listed(str(self.path), lambda name: True))

  def test_members_are_read_by_name(self):
    (member,) = self._listed(archives_test.zip_bytes({"set/a.txt": b"1"}))
    self.assertEqual((member.name, member.size), ("set/a.txt", 1))
    self.assertEqual(zip_files.data(member), b"1")

  def test_symbolic_link(self):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
      entry = zipfile.ZipInfo("set/x")
      entry.external_attr = (stat.S_IFLNK | 0o777) << 16
      archive.writestr(entry, "a.txt")
    with self.assertRaisesRegex(errors.UserError, "a.zip: set/x: .* link"):
      self._listed(out.getvalue())

  def test_unknown_method(self):
    data = archives_test.zip_bytes({"set/a.txt": b"1"})
    central = data.find(b"PK\x01\x02")
    data = data[: central + 10] + b"\x63\x00" + data[central + 12 :]
    with self.assertRaisesRegex(errors.UserError, "unknown method .99"):
      self._listed(data)

  def test_members_that_overlap(self):
    data = archives_test.zip_bytes({"a": b"1" * 100})
    central = data.find(b"PK\x01\x02")
    size = (10_000).to_bytes(4, "little") * 2
    data = data[: central + 20] + size + data[central + 28 :]
    with self.assertRaisesRegex(
      errors.UserError, "take 10,000 bytes of a file"
    ):
      self._listed(data)


if __name__ == "__main__":
  absltest.main()
