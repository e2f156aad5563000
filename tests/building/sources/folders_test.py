"""Texts and folders of the manual dir, and archives that are extracted once."""

import gzip
import pathlib
import tarfile
from unittest import mock

from absl.testing import absltest, parameterized

from robust_tfds.building.sources import folders


class FoldersTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    for name in ("one", "two"):
      (self.root / name / "metadata").mkdir(parents=True)
    self.files = folders.SourceFolders(
      (self.root / "one", self.root / "two"), "Put them there."
    )

  def _text(self, name, places):
    return folders.text(self.files.file(name, places))

  def test_the_first_root_counts_and_gzip_is_read(self):
    second = self.root / "two" / "metadata"
    (second / "a.json.gz").write_bytes(gzip.compress("ä".encode()))
    self.assertEqual(self._text("a.json", (".", "metadata")), "ä")
    (self.root / "one" / "a.json").write_text("plain")
    self.assertEqual(self._text("a.json", (".", "metadata")), "plain")

  def test_absent_texts(self):
    self.assertIsNone(self.files.optional_file("b", (".",)))
    with self.assertRaisesRegex(
      FileNotFoundError, "No b. Looked for .*one/b, .*two/b.\nPut them there"
    ):
      self.files.file("b", (".",))

  @parameterized.parameters(
    ("a", b"\xff\xfe", "UTF-16"),
    ("a.gz", gzip.compress(b"a\xff"), "not UTF-8"),
    ("a.gz", b"no gzip", "cannot be unpacked"),
    ("a.gz", gzip.compress(b"text")[:-4], "cannot be unpacked"),
    ("a.gz", gzip.compress(bytes(1 << 27)), "ROBUST_TFDS_LIMITS"),
  )
  def test_broken_texts(self, name, data, message):
    (self.root / "one" / name).write_bytes(data)
    with self.assertRaisesRegex(ValueError, f"one/{name}: .*{message}"):
      self._text("a", (".",))

  def test_folders(self):
    self.assertEqual(
      self.files.folder(("frames", "metadata")),
      self.root / "one" / "metadata",
    )
    self.assertIsNone(self.files.optional_folder(("frames",)))
    with self.assertRaisesRegex(FileNotFoundError, "No folder of frames"):
      self.files.folder(("frames",))


class ExtractedTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    downloads = pathlib.Path(self.create_tempdir().full_path)
    self.manager = mock.Mock(manual_dir=self.root, download_dir=downloads)

  def _roots(self):
    return folders.extracted(self.manager, ("a.tar.gz", "a.tar"), "a")

  def _tar(self, text):
    (self.root / "source.txt").write_text(text)
    with tarfile.open(self.root / "a.tar.gz", "w:gz") as tar:
      tar.add(self.root / "source.txt", "a/b.txt")

  def test_only_where_its_folder_is_not_there(self):
    self.assertEqual(self._roots(), (self.root,))
    self._tar("old")
    root, place = self._roots()
    self.assertEqual(root, self.root)
    self.assertEqual((place / "a/b.txt").read_text(), "old")
    self.assertEqual(self._roots(), (root, place))
    self._tar("replaced")
    self.assertEqual((self._roots()[1] / "a/b.txt").read_text(), "replaced")
    (self.root / "a").mkdir()
    self.assertEqual(self._roots(), (self.root,))

  def test_what_systems_leave_behind(self):
    for name in (".DS_Store", "._a.JPEG", "Thumbs.db", "desktop.ini"):
      self.assertTrue(folders.is_hidden(pathlib.PurePath("n01", name)))
    self.assertFalse(folders.is_hidden(pathlib.PurePath(".cache", "a.JPEG")))


if __name__ == "__main__":
  absltest.main()
