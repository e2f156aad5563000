"""The published ImageNet-P's layout: folders, archives, broken videos."""

import io
import pathlib
import tarfile

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import absltest, parameterized
from PIL import Image

from robust_tfds import datasets
from robust_tfds.building import sequences as sequence_sets
from robust_tfds.building.sources import published_videos
from tests.building.sources import small_sets


def _picture(width, height, seed=0) -> Image.Image:
  rng = np.random.default_rng(seed)
  small = Image.fromarray(rng.integers(0, 256, (9, 12, 3), np.uint8))
  return small.resize((width, height), Image.Resampling.BICUBIC)


def _examples(builder, split):
  return list(tfds.as_numpy(builder.as_dataset(split=split)))


def _movie(frames=31, side=64, seed=0) -> bytes:
  image = np.asarray(_picture(side, side, seed))
  moving = np.stack([np.roll(image, i, 1) for i in range(frames)])
  return sequence_sets.encode(moving, "h264", "rotate")


class PublishedVideosTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    self.wnids = ["n01", "n02"]

  def _find(self, frames=31):
    return list(
      published_videos.find(
        self.root, "Own", "rotate", self.wnids, (frames, 64, 64, 3)
      )
    )

  def _put(self, data, name="a", wnid="n02"):
    folder = self.root / "Own" / "rotate" / wnid
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.mp4").write_bytes(data)

  def test_folders(self):
    self._put(_movie())
    self._put(_movie(seed=1), "b", "n01")
    found = self._find()
    self.assertEqual([f[:2] for f in found], [("b.JPEG", 0), ("a.JPEG", 1)])

  def test_archive_as_it_is(self):
    data = _movie()
    with tarfile.open(self.root / "part.tar", "w") as tar:
      for name in ("x/rotate/n02/a.mp4", "x/tilt/n02/a.mp4"):
        member = tarfile.TarInfo(name)
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
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
    with tarfile.open(self.root / name, "w") as tar:
      for path, data in members:
        member = tarfile.TarInfo(path)
        if data is None:
          member.type, member.linkname = tarfile.SYMTYPE, "b.mp4"
          tar.addfile(member)
        else:
          member.size = len(data)
          tar.addfile(member, io.BytesIO(data))

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


if __name__ == "__main__":
  absltest.main()
