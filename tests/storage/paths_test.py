"""Paths of this machine and of buckets, as users name them."""

import os
import pathlib
import pickle
import subprocess
import sys
from unittest import mock

from absl.testing import parameterized
from etils import epath

from robust_tfds import errors
from robust_tfds.storage import paths
from tests import fake_bucket


class OfTest(parameterized.TestCase):
  @parameterized.parameters("a/b", "/a/b", pathlib.Path("a"), "a:b/c")
  def test_paths_of_this_machine(self, text):
    path = paths.parse(text)
    self.assertEqual(os.fspath(path), os.fspath(text))
    self.assertTrue(paths.is_local(path))

  @parameterized.parameters(None, "")
  def test_nothing_named(self, text):
    self.assertIsNone(paths.optional(text, "--truth"))
    self.assertEqual(paths.optional("a/b", "--truth"), paths.parse("a/b"))

  def test_addresses(self):
    path = paths.parse("gs://bucket/run") / "a.npz"
    self.assertEqual(str(path), "gs://bucket/run/a.npz")
    self.assertFalse(paths.is_local(path))
    self.assertEqual(paths.resolved(path), path)
    self.assertEqual(pickle.loads(pickle.dumps(path)), path)

  @parameterized.parameters(
    ("x://b", "--workdir=x://b: nothing here opens x://. Known: gs://, s3://"),
    ("file:///a", "nothing here opens file://"),
    ("gs:/b/c", r"one slash after the colon; an address has two: gs://b/c\."),
    (pathlib.Path("gs://b/c"), "an address has two"),
    ("gs://", "names no bucket"),
    ("s3://b", "Set EPATH_USE_TF=0 in the environment and pip install s3fs"),
  )
  def test_refusals_in_words(self, text, words):
    with self.assertRaisesRegex(errors.UserError, words):
      paths.parse(text, "--workdir")

  def test_a_package_that_is_missing(self):
    with mock.patch.dict(os.environ, {"EPATH_USE_TF": "0"}):
      with self.assertRaisesRegex(errors.UserError, "pip install adlfs"):
        paths.parse("az://b")

  def test_import_is_light(self):
    program = (
      "import sys; from robust_tfds.storage import paths; paths.parse('a');"
      "assert not {'tensorflow', 'jax', 'fsspec'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


class OnBothTest(parameterized.TestCase):
  def _place(self, kind: str) -> epath.Path:
    if kind == "bucket":
      return fake_bucket.create(self) / "folder"
    return paths.parse(self.create_tempdir().full_path)

  @parameterized.parameters("disk", "bucket")
  def test_files_are_read_alike(self, kind):
    path = self._place(kind) / "a.bin"
    path.write_bytes(b"0123456789")
    with paths.opened(path) as file:
      self.assertEqual(file.read(2), b"01")
      self.assertEqual(file.seek(-3, os.SEEK_END), 7)
      buffer = bytearray(2)
      self.assertEqual(file.readinto(buffer), 2)  # type: ignore[attr-defined]
      self.assertEqual(bytes(buffer), b"78")
      self.assertEqual(file.seek(-1, os.SEEK_CUR), 8)
      self.assertEqual(file.read(), b"89")
    before = paths.state(path)
    self.assertEqual(before.size, 10)
    self.assertEqual(paths.state(path), before)
    path.write_bytes(b"01234567890")
    self.assertNotEqual(paths.state(path), before)

  @parameterized.parameters("disk", "bucket")
  def test_files_below_a_folder(self, kind):
    place = self._place(kind)
    names = ["a.txt", "b/c.txt", "b/d/e.txt"]
    for name in names:
      (place / name).parent.mkdir(parents=True, exist_ok=True)
      (place / name).write_text(name)
    below = dict(paths.files_below(place))
    self.assertCountEqual(below, names)
    for name, whole in below.items():
      self.assertEqual(paths.parse(whole).read_text(), name)
    with paths.local_copy(place) as copy:
      self.assertEqual(pathlib.Path(copy, "b/d/e.txt").read_text(), "b/d/e.txt")
    self.assertEqual(os.path.exists(copy), kind == "disk")
    self.assertEmpty(list(paths.files_below(place / "nothing")))

  @parameterized.parameters("disk", "bucket")
  def test_what_lies_in_a_folder(self, kind):
    place = self._place(kind)
    for name in ("b/2", "b/1", "a", "c/3"):
      (place / name).parent.mkdir(parents=True, exist_ok=True)
      (place / name).write_text(name)
    entries = paths.scan(place)
    self.assertEqual(
      [(e.name, e.is_dir(), e.is_file(), e.is_symlink()) for e in entries],
      [("a", False, True, False)]
      + [(name, True, False, False) for name in ("b", "c")],
    )
    self.assertEqual(entries[1].path, f"{place}/b")
    self.assertEqual(paths.names(place), ["a", "b", "c"])
    self.assertEmpty(paths.names(place / "a"))
    self.assertEmpty(paths.names(place / "nothing"))
    self.assertEqual(
      paths.two_deep(place), [("b", "1"), ("b", "2"), ("c", "3")]
    )
    with self.assertRaises(FileNotFoundError):
      paths.scan(place / "nothing")

  @parameterized.parameters("disk", "bucket")
  def test_writing(self, kind):
    place = self._place(kind)
    path = place / "new/a.bin"
    for data in (b"1", b"22"):
      paths.write_bytes(path, data)
      self.assertEqual(paths.read_bytes(path), data)
    self.assertTrue(paths.is_file(path))
    self.assertFalse(paths.is_file(place / "new"))
    self.assertFalse(paths.is_file(place / "nothing"))
    self.assertEqual(
      paths.exist([path, place / "nothing", place / "new"]), [True, False, True]
    )
    with paths.written_locally(place / "folder") as local:
      os.makedirs(f"{local}/inner")
      pathlib.Path(local, "inner/b").write_text("b")
    with paths.written_locally(place / "c") as local:
      pathlib.Path(local).write_text("c")
    names = [name for name, _ in sorted(paths.files_below(place))]
    self.assertEqual(names, ["c", "folder/inner/b", "new/a.bin"])

  @parameterized.parameters("disk", "bucket")
  def test_a_file_that_is_not_there(self, kind):
    path = self._place(kind) / "a"
    with self.assertRaises(FileNotFoundError):
      paths.state(path)
    with self.assertRaises(FileNotFoundError):
      with paths.opened(path):
        pass
    with self.assertRaises(FileNotFoundError):
      with paths.local_copy(path) as copy:
        open(copy, "rb").close()

  def test_what_a_library_raises_is_an_os_error(self):
    import tensorflow as tf

    path = self._place("bucket") / "a"
    path.write_text("a")
    refusal = tf.errors.PermissionDeniedError(None, None, "no right to read")
    with fake_bucket.fault("read", "*", refusal):
      with self.assertRaisesRegex(PermissionError, "no right to read"):
        with paths.opened(path) as file:
          file.read()
    with fake_bucket.fault("stat", "*", ZeroDivisionError()):
      with self.assertRaises(ZeroDivisionError):  # a bug of ours stays one
        paths.state(path)
