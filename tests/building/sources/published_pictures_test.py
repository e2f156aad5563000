"""The published ImageNet-C layout: folders, tars, other classes and sizes."""

import io
import pathlib
import tarfile

import numpy as np
from absl.testing import absltest, parameterized
from PIL import Image

from robust_tfds import errors
from robust_tfds.building.sources import published_pictures
from robust_tfds.conditions import Condition

_WNIDS = ("n01", "n02")
_FOLDERS = ("Tiny-ImageNet-C", "Tiny-ImageNet-C-extra")


def _jpeg(side=64, seed=0) -> bytes:
  out = io.BytesIO()
  rng = np.random.default_rng(seed)
  pixels = rng.integers(0, 256, (side, side, 3), np.uint8)
  Image.fromarray(pixels).save(out, "JPEG")
  return out.getvalue()


class PublishedPicturesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)

  def _find(self, name="fog", severity=3, folders=_FOLDERS):
    return list(
      published_pictures.find(
        self.root, folders, Condition(name, severity), _WNIDS, 64
      )
    )

  def _tar(self, path: str, members: dict[str, bytes]) -> pathlib.Path:
    archive = self.root / path
    archive.parent.mkdir(exist_ok=True)
    with tarfile.open(archive, "w") as tar:
      for name, data in members.items():
        member = tarfile.TarInfo(name)
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
    return archive

  def test_links_in_an_archive(self):
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
      with tarfile.open(self.root / "Tiny-ImageNet-C.tar", "w") as tar:
        member = tarfile.TarInfo("T/fog/3/n01/a.JPEG")
        member.type, member.linkname = kind, "b.JPEG"
        tar.addfile(member)
      with self.assertRaisesRegex(
        errors.UserError, "a.JPEG: it is a .* link and no plain file"
      ):
        self._find()

  def test_two_pictures_of_one_name(self):
    self._tar(
      "Tiny-ImageNet-C.tar",
      {f"T/fog/3/{wnid}/a.JPEG": _jpeg() for wnid in _WNIDS},
    )
    with self.assertRaisesRegex(
      errors.UserError, "n02/a.JPEG: 'a.JPEG' is a picture of n01 too"
    ):
      self._find()

  @parameterized.parameters(*_FOLDERS)
  def test_folder(self, folder):
    place = self.root / folder / "fog" / "3" / "n02"
    place.mkdir(parents=True)
    (place / "val_7.JPEG").write_bytes(_jpeg())
    self.assertEqual(self._find(), [("val_7.JPEG", 1, _jpeg())])

  @parameterized.parameters(
    ("Tiny-ImageNet-C.tar", "Tiny-ImageNet-C/fog/3/n02/a.JPEG"),
    ("Tiny-ImageNet-C-extra.tar", "./Tiny-ImageNet-C/fog/3/n02/a.JPEG"),
    ("Tiny-ImageNet-C/weather.tar", "fog/3/n02/a.JPEG"),
  )
  def test_tar(self, archive, member):
    others = {f"x/fog/{s}/n01/b.JPEG": _jpeg(seed=s) for s in (1, 2, 4)}
    self._tar(archive, {**others, member: _jpeg(), "x/README": b"text"})
    self.assertEqual(self._find(), [("a.JPEG", 1, _jpeg())])
    with self.assertRaisesRegex(FileNotFoundError, "fog, severity 5. Looked"):
      self._find(severity=5)

  def test_the_second_archive_has_the_extra_ones(self):
    self._tar("Tiny-ImageNet-C.tar", {"t/fog/3/n01/a.JPEG": _jpeg()})
    self._tar("Tiny-ImageNet-C-extra.tar", {"t/spatter/3/n02/a.JPEG": _jpeg()})
    self.assertEqual(self._find("spatter"), [("a.JPEG", 1, _jpeg())])

  def test_the_manual_dir_itself(self):
    self._tar("weather.tar", {"fog/3/n02/a.JPEG": _jpeg()})
    self.assertLen(self._find(folders=("", "ImageNet-C")), 1)

  @parameterized.parameters(
    ({"fog/3/n03/a.JPEG": _jpeg()}, "'n03' is not one of the 2 classes"),
    ({"fog/3/n01/a.JPEG": _jpeg(63)}, "64 px squares expected, got 63x63"),
    (
      {"fog/3/n01/a.JPEG": b"no"},
      "fog/3/n01/a.JPEG cannot be read as an image",
    ),
  )
  def test_refusals(self, members, message):
    self._tar("Tiny-ImageNet-C.tar", members)
    with self.assertRaisesRegex(errors.UserError, message):
      self._find()

  @parameterized.parameters(
    (700, "a.JPEG: the archive is cut off inside it"),
    (100, "not a whole tar archive"),
  )
  def test_an_archive_that_is_cut_off(self, size, message):
    archive = self._tar("Tiny-ImageNet-C.tar", {"fog/3/n01/a.JPEG": _jpeg()})
    archive.write_bytes(archive.read_bytes()[:size])
    with self.assertRaisesRegex(errors.UserError, message):
      self._find()

  def test_missing_says_where_was_looked(self):
    with self.assertRaisesRegex(
      FileNotFoundError, "Tiny-ImageNet-C/fog/3.*Tiny-ImageNet-C-extra.tar"
    ):
      self._find()

  def test_archives_of_imagenet_c(self):
    self.assertEqual(published_pictures.group_tar("fog"), "weather.tar")
    self.assertEqual(published_pictures.group_tar("spatter"), "extra.tar")
    with self.assertRaisesRegex(errors.UserError, "Did you mean 'fog'"):
      published_pictures.group_tar("fogg")


if __name__ == "__main__":
  absltest.main()
