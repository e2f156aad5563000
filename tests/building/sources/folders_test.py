"""Files in folders and archives; texts; archives that are extracted once."""

import gzip
import pathlib
import tarfile
import zipfile
from unittest import mock

from absl.testing import parameterized

from robust_tfds.building.sources import folders
from tests import in_folder, tiny_files


class FindTest(in_folder.TestCase):
  def _tar(self, members, *links):
    (self.root / "a.tar").write_bytes(tiny_files.tar(members, *links))

  def _find(self, **kwargs):
    return folders.find(
      self.root,
      "top/below",
      ["a.tar", "b.zip"],
      instructions="Get it.",
      **kwargs,
    )

  def _data(self, **kwargs):
    return {name: f.data() for name, f in self._find(**kwargs).items()}

  def test_folder_before_archives(self):
    self._tar([("top/below/x", b"tar")])
    (self.root / "top/below/deep").mkdir(parents=True)
    (self.root / "top/below/deep/y").write_bytes(b"folder")
    self.assertEqual(self._data(), {"deep/y": b"folder"})

  def test_the_marker_decides(self):
    self._tar([("./top/below/x", b"tar"), ("top/below/test.txt", b"1")])
    (self.root / "top/below").mkdir(parents=True)
    (self.root / "top/below/y").write_bytes(b"folder")
    self.assertEqual(
      self._data(marker="test.txt"), {"x": b"tar", "test.txt": b"1"}
    )

  def test_other_folders_are_left_out(self):
    self._tar([("top/below/x", b"in"), ("top/belowish/z", b"other")])
    self.assertEqual(self._data(), {"x": b"in"})

  def test_what_systems_leave_in_a_folder(self):
    self._tar([("top/below/x", b"in"), ("top/below/._x", b"mac")])
    self.assertEqual(self._data(), {"x": b"in"})
    (self.root / "top/below").mkdir(parents=True)
    for name in ("y", "._y.png", ".DS_Store", "Thumbs.db"):
      (self.root / "top/below" / name).write_bytes(b"folder")
    self.assertEqual(self._data(), {"y": b"folder"})

  def test_links_and_names_that_leave_are_refused(self):
    link = tiny_files.entry("top/below/link", link="/etc/passwd")
    self._tar([("top/below/x", b"in")], link)
    with self.assertRaisesRegex(ValueError, "a.tar: top/below/link: .*symbol"):
      self._find()
    for name, message in (
      ("/top/below/absolute", "an absolute path"),
      ("top/below/../../x", "leaves the archive's folder"),
    ):
      self._tar([("top/below/x", b"in"), (name, b"other")])
      with self.assertRaisesRegex(ValueError, message):
        self._find()

  def test_zip(self):
    with zipfile.ZipFile(self.root / "b.zip", "w") as z:
      z.writestr("top/below/", b"")
      z.writestr("top/below/x", b"zip" * 50, zipfile.ZIP_DEFLATED)
    self.assertEqual(self._data(), {"x": b"zip" * 50})

  def test_a_replaced_archive_is_read_again(self):
    self._tar([("top/below/x", b"old")])
    self.assertEqual(self._data(), {"x": b"old"})
    self._tar([("top/below/filler", b"x" * 20000), ("top/below/x", b"new")])
    self.assertEqual(self._data()["x"], b"new")

  def test_cut_off(self):
    self._tar([("top/below/x", b"1" * 5000)])
    found = self._find()
    data = (self.root / "a.tar").read_bytes()
    (self.root / "a.tar").write_bytes(data[:3000])
    with self.assertRaisesRegex(ValueError, "a.tar: top/below/x: .*ownload"):
      found["x"].data()
    with self.assertRaisesRegex(
      ValueError, "a.tar: (not a whole|top/below/x: the archive is cut)"
    ):
      self._find()
    (self.root / "a.tar").write_bytes(b"<html>404</html>")
    with self.assertRaisesRegex(
      ValueError, "a.tar: (not a whole|top/below/x: the archive is cut)"
    ):
      self._find()

  def test_missing(self):
    with self.assertRaisesRegex(
      FileNotFoundError, "top/below/m is not in .*a.tar, b.zip.\nGet it."
    ):
      self._find(marker="m")


class FoldersTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
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
      self.files.folder(("frames", "metadata")), self.root / "one" / "metadata"
    )
    self.assertIsNone(self.files.optional_folder(("frames",)))
    with self.assertRaisesRegex(FileNotFoundError, "No folder of frames"):
      self.files.folder(("frames",))


class ExtractedTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
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
