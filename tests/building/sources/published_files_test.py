"""Published files and archives."""

import pathlib
import tarfile
import tracemalloc
from unittest import mock

import numpy as np
import pytest
import tensorflow_datasets as tfds
from absl.testing import absltest, parameterized

from robust_tfds import conditions, datasets, errors
from robust_tfds.building import sequences as sequence_sets
from robust_tfds.building.sources import (
  cifar,
  known_files,
  published_arrays,
  published_files,
)
from robust_tfds.conditions import Condition
from tests import in_folder, tiny_files
from tests.building.sources import action_layouts, cifar_layouts, small_sets

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
    ("another_size", _movie(side=48), "of 48x48 px, expected 31 of 64x64"),
    ("no_video", b"nothing", "cannot be read as a video"),
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


_N = 6


class SlicesTest(parameterized.TestCase):
  """The published arrays of CIFAR-C: slices, ids, memory, refusals in words."""

  def setUp(self):
    super().setUp()
    self.manual = pathlib.Path(self.create_tempdir().full_path)
    self.enter_context(mock.patch.object(published_arrays, "IMAGES", _N))
    rng = np.random.default_rng(0)
    self.pixels = rng.integers(0, 256, (5, _N, 32, 32, 3), np.uint8)
    self.labels = np.array([3, 9, 0, 4, 4, 1], np.uint8)

  def _write(self, cifar_set=cifar.CIFAR10):
    cifar_layouts.write_published(
      self.manual, cifar_set, "fog", self.pixels, self.labels
    )
    return self.manual / f"{cifar_set.name}-C"

  def _build(self, name="cifar10_c", config="fog_4_published"):
    return datasets.prepare(
      name,
      config,
      data_dir=self.create_tempdir().full_path,
      manual_dir=self.manual,
    )

  @parameterized.parameters(
    ("cifar10_c", cifar.CIFAR10), ("cifar100_c", cifar.CIFAR100)
  )
  def test_every_severity_is_its_slice(self, name, cifar_set):
    folder = self._write(cifar_set)
    array = np.load(folder / "fog.npy")
    for severity in range(1, 6):
      built = self._build(name, f"fog_{severity}_published")
      rows = list(tfds.as_numpy(built.as_dataset(split="test")))
      self.assertCountEqual(
        [r["example_id"].decode() for r in rows],
        [f"test_{i:05d}" for i in range(_N)],
      )
      for row in rows:
        i = int(row["example_id"].decode().removeprefix("test_"))
        np.testing.assert_array_equal(
          row["image"], array[_N * (severity - 1) + i]
        )
        self.assertEqual(row["label"], self.labels[i])

  @parameterized.parameters(
    (np.zeros((29, 32, 32, 3), np.uint8), r"\[30, 32, 32, 3\] expected, got"),
    (np.zeros((30, 32, 32, 3), np.float32), "got float32"),
    (np.array([{"a": 1}], object), "Python objects"),
  )
  def test_pictures_that_are_refused(self, array, message):
    folder = self._write()
    np.save(folder / "fog.npy", array, allow_pickle=True)
    with self.assertRaisesRegex(errors.UserError, message):
      self._build()

  @parameterized.parameters(
    (np.zeros(29, np.uint8), r"integers \[30\] expected, got uint8 \[29\]"),
    (np.zeros(30), "got float64"),
    (np.full(30, 10), "labels 0..9 expected, got 10..10"),
    (
      np.arange(30) // 20,
      "severity 4 are not those of severity 1, first at image 2",
    ),
  )
  def test_labels_that_are_refused(self, labels, message):
    folder = self._write()
    np.save(folder / "labels.npy", labels)
    with self.assertRaisesRegex(errors.UserError, message):
      self._build()

  def test_files_that_are_absent(self):
    folder = self._write()
    (folder / "labels.npy").unlink()
    with self.assertRaisesRegex(
      FileNotFoundError, "labels.npy.(.|\n)*CIFAR-10's"
    ):
      self._build()
    with self.assertRaisesRegex(FileNotFoundError, "snow.npy"):
      self._build(config="snow_1_published")


class MemoryTest(absltest.TestCase):
  @pytest.mark.slow
  def test_a_slice_of_the_official_size(self):
    manual = pathlib.Path(self.create_tempdir().full_path)
    (manual / "CIFAR-10-C").mkdir()
    pixels = np.lib.format.open_memmap(  # 154 MB, but no blocks on the disk
      manual / "CIFAR-10-C" / "fog.npy", "w+", np.uint8, (50_000, 32, 32, 3)
    )
    pixels[30_007] = 9
    labels = np.tile(np.arange(10_000) % 10, 5)
    np.save(manual / "CIFAR-10-C" / "labels.npy", labels)
    del pixels
    tracemalloc.start()
    rows = published_arrays.corrupted(
      manual, "CIFAR-10-C", cifar.CIFAR10, Condition("fog", 4)
    )
    for count, (example_id, label, _) in enumerate(rows, 1):
      self.assertEqual(
        (example_id, label), (f"test_{count - 1:05d}", (count - 1) % 10)
      )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    self.assertEqual(count, 10_000)
    self.assertLess(peak, 5 * 2**20)


class KnownFilesTest(absltest.TestCase):
  """Files of data sets, and the commands that bring them."""

  def test_commands(self):
    by_hand = known_files.lack("imagenet_c", "/a b", "No.", "")
    self.assertEqual(
      by_hand.get, "mkdir -p '/a b' && mv ILSVRC2012_img_val.tar '/a b'/"
    )
    self.assertEqual(by_hand.options, ())
    direct = known_files.lack("coco_c", "/m", "No.", "").get
    self.assertEqual(direct.count("curl -L --create-dirs -o /m/"), 2)
    nowhere = known_files.lack("coco_c", None, "No.", "")
    self.assertIn("curl -L --create-dirs -o FOLDER/", nowhere.get)
    self.assertEqual(nowhere.options, (("data.manual_dir", "FOLDER"),))
    unnamed = known_files.lack("kinetics400_p", "/m", "No.", "").get
    self.assertEqual(unnamed, "mkdir -p /m && mv FILES /m/")

  def test_archives_of_imagenet_c(self):
    self.assertEqual(known_files.group_tar("fog"), "weather.tar")
    self.assertEqual(known_files.group_tar("spatter"), "extra.tar")
    with self.assertRaisesRegex(errors.UserError, "Did you mean 'fog'"):
      known_files.group_tar("fogg")

  def test_the_authors_archive_of_a_condition(self):
    for name, config, file in (
      ("imagenet_c", "fog_3", "weather.tar"),
      ("tiny_imagenet_c", "fog_3", "Tiny-ImageNet-C.tar"),
      ("tiny_imagenet_c", "spatter_1", "Tiny-ImageNet-C-extra.tar"),
      ("imagenet64_c", "fog_3", "FILES"),
    ):
      condition = conditions.PICTURES.parse(config)
      named = known_files.published(name, condition)
      lack = known_files.lack(named, "/m", "No.", "")
      self.assertEqual(lack.get, f"mkdir -p /m && mv {file} /m/")
      self.assertStartsWith(lack.what, f"{name}: ")

  def test_the_table(self):
    for row in known_files.rows():
      self.assertIn(len(row.sha256), (0, 64))
      self.assertEqual(bool(row.size), bool(row.sha256))
      for name in row.sets.partition(".published")[0].split(","):
        if name != "objectnet":  # a natural set
          instructions = datasets.builder_class(
            name
          ).MANUAL_DOWNLOAD_INSTRUCTIONS
          self.assertIn(row.file, instructions)


class Cifar10PTest(action_layouts.Layout):
  """CIFAR-10's binary version and the published arrays."""

  NAME = "cifar10_p"

  def setUp(self):
    super().setUp()
    self.manual = self.root
    rng = np.random.default_rng(0)
    self.labels = np.array([3, 9, 0], np.uint8)
    self.images = rng.integers(0, 256, (3, 32, 32, 3), np.uint8)
    self.batch = cifar_layouts.write_binary(
      self.manual, cifar.CIFAR10, self.images, self.labels
    )

  def test_clean_and_sequences(self):
    for example in self._rows("clean"):
      row = int(example["example_id"].decode().removeprefix("test_"))
      self.assertEqual(example["label"], self.labels[row])
      np.testing.assert_array_equal(example["frames"][0], self.images[row])
    for config, frames in (("motion_blur", 21), ("translate", 16)):
      self.assertEqual(
        self._rows(config)[0]["frames"].shape, (frames, 32, 32, 3)
      )

  def test_archive_as_it_is(self):
    (self.manual / "cifar-10-batches-bin" / "test_batch.bin").unlink()
    files = {"cifar-10-batches-bin/test_batch.bin": self.batch}
    archive = self.manual / "cifar-10-binary.tar.gz"
    archive.write_bytes(tiny_files.tar(files, mode="w:gz"))
    self.assertLen(self._rows("clean"), 3)

  def test_published_arrays(self):
    frames = np.random.default_rng(1).integers(
      0, 256, (3, 31, 32, 32, 3), np.uint8
    )
    (self.manual / "CIFAR-10-P").mkdir()
    np.save(self.manual / "CIFAR-10-P" / "shot_noise_3.npy", frames)
    for example in self._rows("shot_noise_3", codec="published"):
      row = int(example["example_id"].decode().removeprefix("test_"))
      np.testing.assert_array_equal(example["frames"], frames[row])

  def test_refusals(self):
    with self.assertRaisesRegex(FileNotFoundError, "tilt.npy"):
      self._rows("tilt", codec="published")
    folder = self.manual / "CIFAR-10-P"
    folder.mkdir()
    np.save(folder / "tilt.npy", np.zeros((3, 30, 32, 32, 3), np.uint8))
    with self.assertRaisesRegex(ValueError, "31, 32, 32"):
      self._rows("tilt", codec="published")
    binary = self.manual / "cifar-10-batches-bin" / "test_batch.bin"
    binary.write_bytes(self.batch[:-1])
    with self.assertRaisesRegex(ValueError, "test_batch.bin: .* truncated"):
      self._rows("clean")
    binary.write_bytes(b"")
    with self.assertRaisesRegex(ValueError, "test_batch.bin: 0 bytes"):
      self._rows("clean")
    binary.write_bytes(b"\x0a" + self.batch[1:])
    with self.assertRaisesRegex(
      ValueError, "label 10 of image 0 is not in 0..9"
    ):
      self._rows("clean")

  def test_broken_archives(self):
    (self.manual / "cifar-10-batches-bin" / "test_batch.bin").unlink()
    archive = self.manual / "cifar-10-binary.tar.gz"
    names = ("readme", "cifar-10-batches-bin/test_batch.bin")
    data = tiny_files.tar(dict.fromkeys(names, self.batch), mode="w:gz")
    archive.write_bytes(data[:-6] + bytes(6))
    with self.assertRaisesRegex(ValueError, "not a whole tar archive"):
      self._rows("clean")
    archive.write_bytes(tiny_files.tar({"readme": b""}, mode="w:gz"))
    with self.assertRaisesRegex(ValueError, "holds no .*test_batch.bin"):
      self._rows("clean")


class PlacesTest(parameterized.TestCase):
  """The manual dir, TFDS's own set, the download: one after the other."""

  def setUp(self):
    super().setUp()
    self.manual = pathlib.Path(self.create_tempdir().full_path)
    self.data = self.create_tempdir().full_path
    rng = np.random.default_rng(0)
    self.images = rng.integers(0, 256, (3, 32, 32, 3), np.uint8)
    self.labels = np.array([3, 9, 0], np.uint8)

  def _clean(self, name, manual=None):
    built = datasets.prepare(
      name, "clean", data_dir=self.data, manual_dir=manual
    )
    return {e["example_id"].decode(): e for e in _examples(built, "test")}

  def _check(self, rows, labels):
    self.assertCountEqual(rows, [f"test_0000{i}" for i in range(3)])
    for example_id, row in rows.items():
      i = int(example_id.removeprefix("test_"))
      self.assertEqual(row["label"], labels[i])
      np.testing.assert_array_equal(row["image"], self.images[i])

  @parameterized.parameters(
    (cifar.CIFAR10, "cifar10_c", [3, 9, 0]),
    (cifar.CIFAR100, "cifar100_c", [70, 99, 20]),
  )
  def test_manual_dir(self, cifar_set, name, labels):
    cifar_layouts.write_binary(self.manual, cifar_set, self.images, labels)
    self._check(self._clean(name, self.manual), labels)
    (row, *_) = _examples(
      datasets.prepare(
        f"{cifar_set.tfds}_p",
        "clean",
        data_dir=self.data,
        manual_dir=self.manual,
      ),
      "test",
    )
    i = int(row["example_id"].decode().removeprefix("test_"))
    self.assertEqual(row["label"], labels[i])

  def test_class_names(self):
    names = datasets.builder_class("cifar100_c").CLASSES
    self.assertLen(set(names), 100)
    self.assertEqual(sorted(names), list(names))

  def test_tfds_own_set(self):
    data = cifar_layouts.write_binary(
      self.manual, cifar.CIFAR10, self.images, self.labels
    )
    folder = self.manual / "cifar-10-batches-bin"
    for i in range(1, 6):
      (folder / f"data_batch_{i}.bin").write_bytes(data)
    names = "\n".join(cifar.CIFAR10.classes)
    (folder / "batches.meta.txt").write_text(names)
    own = tfds.builder("cifar10", data_dir=self.data)
    with mock.patch.object(
      tfds.download.DownloadManager,
      "download_and_extract",
      return_value=self.manual,
    ):
      own.download_and_prepare()
    rows = self._clean("cifar10_c")
    self._check(rows, self.labels)
    theirs = {e["id"].decode(): e for e in _examples(own, "test")}
    self.assertEqual(
      {k: r["label"] for k, r in rows.items()},
      {k: r["label"] for k, r in theirs.items()},
    )

  def test_download(self):
    cifar_layouts.write_binary(
      self.manual, cifar.CIFAR100, self.images, self.labels
    )
    archive = self.manual / "downloaded"
    with tarfile.open(archive, "w:gz") as tar:
      tar.add(self.manual / cifar.CIFAR100.batch, cifar.CIFAR100.batch)
    with (
      mock.patch.object(cifar, "_prepared", return_value=None),
      mock.patch.object(
        tfds.download.DownloadManager, "download", return_value=archive
      ) as download,
    ):
      self._check(self._clean("cifar100_c"), self.labels)
    download.assert_called_once_with(cifar.CIFAR100.url)

  def test_nowhere(self):
    with (
      mock.patch.object(cifar, "_prepared", return_value=None),
      mock.patch.object(
        tfds.download.DownloadManager, "download", side_effect=OSError("no net")
      ),
      self.assertRaisesRegex(
        FileNotFoundError,
        "the manual dir holds neither .*TFDS's cifar10 is not prepared.*no net",
      ),
    ):
      self._clean("cifar10_c")
