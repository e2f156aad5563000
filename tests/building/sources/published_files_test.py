"""The published ImageNet-C and -P: folders, archives, broken or foreign files."""

import pathlib

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import absltest, parameterized

from robust_tfds import datasets, errors
from robust_tfds.building import sequences as sequence_sets
from robust_tfds.building.sources import published_files
from robust_tfds.conditions import Condition
from tests import in_folder, tiny_files
from tests.building.sources import small_sets

_WNIDS = ("n01", "n02")
_FOLDERS = ("Tiny-ImageNet-C", "Tiny-ImageNet-C-extra")


def _jpeg(side=64, seed=0) -> bytes:
  return tiny_files.encoded(tiny_files.noise(side, side, seed), "JPEG")


class PublishedPicturesTest(in_folder.TestCase):
  def _find(self, name="fog", severity=3, folders=_FOLDERS):
    return list(
      published_files.find_pictures(
        self.root, folders, Condition(name, severity), _WNIDS, 64
      )
    )

  def _tar(self, path: str, members: dict[str, bytes]) -> pathlib.Path:
    tiny_files.put(self.root, {path: tiny_files.tar(members)})
    return self.root / path

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

  def test_missing_says_where_was_looked(self):
    with self.assertRaisesRegex(
      FileNotFoundError, "Tiny-ImageNet-C/fog/3.*Tiny-ImageNet-C-extra.tar"
    ):
      self._find()


def _examples(builder, split):
  return list(tfds.as_numpy(builder.as_dataset(split=split)))


def _movie(frames=31, side=64, seed=0) -> bytes:
  image = np.asarray(tiny_files.smooth(side, side, seed))
  moving = np.stack([np.roll(image, i, 1) for i in range(frames)])
  return sequence_sets.encode(moving, "h264", "rotate")


class PublishedVideosTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.wnids = ["n01", "n02"]

  def _find(self, frames=31):
    return list(
      published_files.find_videos(
        self.root, "Own", "rotate", self.wnids, (frames, 64, 64, 3)
      )
    )

  def _put(self, data, name="a", wnid="n02"):
    tiny_files.put(self.root, {f"Own/rotate/{wnid}/{name}.mp4": data})

  def test_folders(self):
    self._put(_movie())
    self._put(_movie(seed=1), "b", "n01")
    found = self._find()
    self.assertEqual([f[:2] for f in found], [("b.JPEG", 0), ("a.JPEG", 1)])

  def test_archive_as_it_is(self):
    data = _movie()
    names = ("x/rotate/n02/a.mp4", "x/tilt/n02/a.mp4")
    self._tar("part.tar", [(name, data) for name in names])
    self.assertEqual(self._find(), [("a.JPEG", 1, data)])

  @parameterized.named_parameters(
    ("missing_frames", _movie(frames=30), "holds 30 frames of 64x64"),
    ("extra_frames", _movie(frames=32), "holds 32 frames"),
    ("another_size", _movie(side=48), "of 48x48 px, expected 31 of 64x64"),
    ("no_video", b"nothing", "cannot be read as a video"),
    ("cut_off", _movie()[:900], "a.mp4"),
    ("empty", b"", "cannot be read as a video"),
  )
  def test_broken(self, data, message):
    self._put(data)
    with self.assertRaisesRegex(ValueError, message):
      self._find()

  def test_unknown_class(self):
    self._put(_movie(), wnid="n99")
    with self.assertRaisesRegex(ValueError, "'n99' is not one of the 2"):
      self._find()

  def test_nothing_there(self):
    with self.assertRaisesRegex(FileNotFoundError, "Own/rotate"):
      self._find()

  def _tar(self, name, members):
    """A tar of files, and of links where there is no data."""
    files = [(path, data) for path, data in members if data is not None]
    links = [tiny_files.entry(path) for path, data in members if data is None]
    (self.root / name).write_bytes(tiny_files.tar(files, *links))

  def test_archives_of_other_sets_may_be_as_they_like(self):
    self._tar("first.tar", [("other/x.JPEG", b"1"), ("link", None)])
    (self.root / "broken.tar").write_bytes(b"x" * 2000)
    self._tar("part.tar", [("rotate/n02/a.MP4", _movie())])
    self.assertLen(self._find(), 1)

  @parameterized.parameters(
    ([("rotate/n02/a.mp4", None)], "part.tar: rotate/n02/a.mp4: .* link"),
    ([("rotate/n02/a.mp4", b"")] * 2, "n02/a.mp4: it is there twice"),
    (
      [("rotate/n01/a.mp4", _movie()), ("rotate/n02/a.mp4", _movie())],
      "n02/a.mp4: 'a.mp4' is a video of n01 too",
    ),
  )
  def test_members_that_are_refused(self, members, message):
    self._tar("part.tar", members)
    with self.assertRaisesRegex(ValueError, message):
      self._find()

  def test_hidden_files(self):
    self._put(_movie())
    self._put(b"no video", "._a")
    self.assertLen(self._find(), 1)

  def test_broken_archive(self):
    (self.root / "part.tar").write_bytes(b"x" * 2000)
    with self.assertRaisesRegex(ValueError, "part.tar: not a whole tar"):
      self._find()


class PublishedImagenetPTest(absltest.TestCase):
  def test_reads_the_authors_layout(self):
    manual = pathlib.Path(self.create_tempdir().full_path)
    folder = manual / "Tiny-ImageNet-P" / "rotate" / "n00000001"
    folder.mkdir(parents=True)
    data = _movie()
    (folder / "val_7.mp4").write_bytes(data)
    listed = manual / "tiny-imagenet-200"
    listed.mkdir()
    (listed / "wnids.txt").write_text("\n".join(small_sets.tiny_wnids()))
    built = datasets.prepare(
      "tiny_imagenet_p",
      "rotate",
      codec="published",
      data_dir=self.create_tempdir().full_path,
      manual_dir=manual,
    )
    (example,) = _examples(built, "validation")
    self.assertEqual(example["label"], 0)
    self.assertEqual(example["example_id"], b"val_7.JPEG")
    from robust_tfds.reading import videos as video_files

    np.testing.assert_array_equal(example["frames"], video_files.decode(data))
