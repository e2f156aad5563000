"""Texts and folders of the manual dir, and archives that are extracted once."""

import gzip
import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized

from robust_tfds.datasets.sources import folders


class FoldersTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    for name in ("one", "two"):
      (self.root / name / "metadata").mkdir(parents=True)
    self.files = folders.SourceFolders(
      (self.root / "one", self.root / "two"), "Put them there."
    )

  def test_the_first_root_counts_and_gzip_is_read(self):
    second = self.root / "two" / "metadata"
    (second / "a.json.gz").write_bytes(gzip.compress("ä".encode()))
    self.assertEqual(self.files.text("a.json", (".", "metadata")), "ä")
    (self.root / "one" / "a.json").write_text("plain")
    self.assertEqual(self.files.text("a.json", (".", "metadata")), "plain")

  def test_absent_texts(self):
    self.assertEqual(self.files.text("b", (".",), optional=True), "")
    with self.assertRaisesRegex(
      FileNotFoundError, "No b. Looked for .*one/b, .*two/b.\nPut them there"
    ):
      self.files.text("b", (".",))

  @parameterized.parameters(("a", b"\xff\xfe"), ("a.gz", b"no gzip"))
  def test_broken_texts(self, name, data):
    (self.root / "one" / name).write_bytes(data)
    with self.assertRaisesRegex(ValueError, f"{name} cannot be read"):
      self.files.text("a", (".",))

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
    self.manager = mock.Mock(manual_dir=self.root)
    self.manager.extract.return_value = self.root / "extracted"

  def _roots(self):
    return folders.extracted(self.manager, ("a.tar.gz", "a.tar"), "a")

  def test_only_where_its_folder_is_not_there(self):
    self.assertEqual(self._roots(), (self.root,))
    (self.root / "a.tar").write_bytes(b"")
    self.assertEqual(self._roots(), (self.root, self.root / "extracted"))
    self.manager.extract.assert_called_once_with(self.root / "a.tar")
    (self.root / "a").mkdir()
    self.assertEqual(self._roots(), (self.root,))


if __name__ == "__main__":
  absltest.main()
