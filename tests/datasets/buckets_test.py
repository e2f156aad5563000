"""Every set: sources and data in a bucket give the bytes that disks give."""

import io
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import zipfile
from unittest import mock

import numpy as np
import pytest
from absl.testing import absltest

from robust_tfds import datasets, errors
from robust_tfds.building.sources import published_arrays
from robust_tfds.reading import tar_files, tar_index
from robust_tfds.storage import paths
from tests import fake_bucket, in_folder, quick
from tests.building.sources import cifar_layouts, small_sets
from tests.datasets import natural_videos

_WNID = "n01440764"


def _tar(root: pathlib.Path, name: str, *folders: str) -> None:
  """Packs folders of a root into an archive there, in their place."""
  with tarfile.open(root / name, "w") as tar:
    for folder in folders:
      tar.add(root / folder, folder)
      shutil.rmtree(root / folder)


def _zip(root: pathlib.Path, name: str, folder: str) -> None:
  with zipfile.ZipFile(root / name, "w") as archive:
    for path in sorted((root / folder).rglob("*")):
      archive.write(path, path.relative_to(root).as_posix())
  shutil.rmtree(root / folder)


def _packed_coco(root: pathlib.Path) -> None:
  _zip(root, "val2017.zip", "val2017")
  _zip(root, "annotations_trainval2017.zip", "annotations")


def _packed_voc(root: pathlib.Path) -> None:
  _tar(root, "VOCtest_06-Nov-2007.tar", "VOCdevkit")


def _packed_imagenet(root: pathlib.Path) -> None:
  (root / "val").mkdir()
  for i, path in enumerate(sorted(root.glob("n*/*"))):
    name = f"{path.parent.name}_{i}.JPEG"
    path.rename(root / "val" / name)
  with tarfile.open(root / "ILSVRC2012_img_val.tar", "w") as tar:
    for path in sorted((root / "val").iterdir()):
      tar.add(path, path.name)
  for folder in ("val", *root.glob("n*")):
    shutil.rmtree(root / folder)


def _published_imagenet(root: pathlib.Path) -> None:
  pixels = np.arange(224 * 224 * 3, dtype=np.uint32).reshape(224, 224, 3)
  out = io.BytesIO()
  from PIL import Image

  Image.fromarray((pixels % 251).astype(np.uint8)).save(out, "JPEG")
  for severity in "23":
    place = root / "ImageNet-C/fog" / severity / _WNID
    place.mkdir(parents=True)
    for name in ("b.JPEG", "a.JPEG", "._a.JPEG"):
      (place / name).write_bytes(out.getvalue())


def _published_weather(root: pathlib.Path) -> None:
  _published_imagenet(root)
  (root / "ImageNet-C/fog").rename(root / "fog_of_authors")
  with tarfile.open(root / "ImageNet-C/weather.tar", "w") as tar:
    tar.add(root / "fog_of_authors", "weather/fog")
  shutil.rmtree(root / "fog_of_authors")


def _published_cifar(root: pathlib.Path) -> None:
  cifar = datasets.builder_class("cifar10_c").SET
  rng = np.random.default_rng(0)
  cifar_layouts.write_published(
    root,
    cifar,
    "fog",
    rng.integers(0, 256, (5, 3, 32, 32, 3), np.uint8),
    np.array([1, 2, 3]),
  )


def _packed_tiny(root: pathlib.Path) -> None:
  _zip(root, "tiny-imagenet-200.zip", "tiny-imagenet-200")


def _packed_vid(root: pathlib.Path) -> None:
  name = natural_videos.PUBLISHED
  with tarfile.open(root / f"{name}.tar.gz", "w:gz") as tar:
    tar.add(root / name, name)
  shutil.rmtree(root / name)


def _made(maker):
  def make(root: pathlib.Path) -> None:
    made = maker(root)
    if made is not None and made != root:
      shutil.copytree(made, root, dirs_exist_ok=True)

  return make


def _then(maker, *others):
  def make(root: pathlib.Path) -> None:
    for step in (_made(maker), *others):
      step(root)

  return make


_MAKERS = small_sets.MAKERS
_EMBEDDED = small_sets.embedded
# (data set, config, its sources below a folder)
_SETS = [
  *(
    (name, "clean", _made(maker))
    for name, maker in _MAKERS.items()
    if maker is not _EMBEDDED and not name.startswith("imagenet64")
  ),
  ("ucf101_ds", "", _made(small_sets.ucf101_ds)),
  ("imagenet_vid_robust", "reviewed", natural_videos.vid),
  ("imagenet_vid_robust", "reviewed", _then(natural_videos.vid, _packed_vid)),
  ("ytbb_robust", "reviewed", natural_videos.ytbb),
  ("coco_c", "clean", _then(_MAKERS["coco_c"], _packed_coco)),
  ("pascal_c", "clean", _then(_MAKERS["pascal_c"], _packed_voc)),
  ("imagenet_c", "clean", _then(_MAKERS["imagenet_c"], _packed_imagenet)),
  ("tiny_imagenet_c", "clean", _then(small_sets.tiny_imagenet, _packed_tiny)),
  ("imagenet_c", "fog_3_published", _published_imagenet),
  ("imagenet_c", "fog_3_published", _published_weather),
  ("cifar10_c", "fog_3_published", _published_cifar),
]


def _records(folder: str | os.PathLike) -> dict[str, bytes]:
  """What a set's files hold, but for the note of its sources."""
  return {
    below: paths.read_bytes(whole)
    for below, whole in paths.files_below(folder)
    if below != "sources.json"
  }


class BucketsTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.data = self.create_tempdir().full_path
    self.bucket = fake_bucket.create(self)
    self.enterContext(fake_bucket.in_tensorflow())
    self.enterContext(mock.patch.object(published_arrays, "IMAGES", 3))

  @quick.cases(_SETS[::3], [row for row in _SETS if row not in _SETS[::3]])
  def test_a_bucket_gives_the_bytes_of_a_disk(self, name, config, make):
    make(self.root)
    manual = fake_bucket.upload(self.root, self.bucket / "manual")
    local = datasets.prepare(
      name,
      config,
      data_dir=self.data,
      manual_dir=self.root,
      file_format="tfrecord",  # as in buckets
    )
    there = datasets.prepare(
      name, config, data_dir=self.bucket / "data", manual_dir=str(manual)
    )
    records = _records(local.data_path)
    self.assertTrue(any("tfrecord" in file for file in records))
    self.assertEqual(_records(there.data_path), records)
    # A local set that was made from a disk is of the bucket's sources, too.
    again = datasets.prepare(
      name, config, data_dir=self.data, manual_dir=str(manual)
    )
    self.assertTrue(again.found_on_disk)

  @pytest.mark.slow
  def test_workers_read_a_bucket(self):
    small_sets.tiny_imagenet(self.root)
    manual = fake_bucket.upload(self.root, self.bucket / "manual")
    command = ["-m", "tests.fake_bucket", "robust_tfds.build"]
    flags = ["--config=brightness_3", f"--manual_dir={manual}", "--workers=2"]
    subprocess.run(
      [
        sys.executable,
        *command,
        "tiny_imagenet_c",
        *flags,
        f"--data_dir={self.data}",
        "--file_format=tfrecord",  # as in a bucket
      ],
      check=True,
    )
    one = datasets.prepare(
      "tiny_imagenet_c",
      "brightness_3",
      data_dir=self.bucket / "data",
      manual_dir=manual,
    )
    self.assertEqual(
      _records(one.data_path),
      _records(f"{self.data}/tiny_imagenet_c/brightness_3/{one.version}"),
    )

  def test_a_published_tar_is_walked_over_once_for_all_configs(self):
    _published_weather(self.root)
    manual = fake_bucket.upload(self.root, self.bucket / "manual")
    walks = self.enterContext(
      mock.patch.object(tar_files, "_entries", wraps=tar_files._entries)
    )
    self.enterContext(mock.patch.object(tar_index, "_WORTH", 1))
    for config in ("fog_2_published", "fog_3_published"):
      datasets.prepare(
        "imagenet_c", config, data_dir=self.data, manual_dir=manual
      )
      tar_index._indices.clear()  # as in another process
    self.assertEqual(walks.call_count, 1)
    self.assertIn("ImageNet-C/.weather.tar.index.npz", fake_bucket.keys(manual))

  def test_addresses_are_refused_in_words(self):
    for data_dir in ("x://b/data", "s3://b/data"):
      with self.assertRaisesRegex(errors.UserError, f"{data_dir}: "):
        datasets.prepare("digits_c", "clean", data_dir=data_dir)
    with self.assertRaisesRegex(errors.UserError, "nothing here opens x://"):
      datasets.prepare("cifar10_c", "clean", manual_dir="x://b")
    with self.assertRaisesRegex(errors.UserError, "files of this machine"):
      datasets.prepare(
        "digits_c",
        "clean",
        data_dir=self.bucket,
        file_format="array_record",
      )

  def test_nothing_is_there(self):
    with self.assertRaisesRegex(FileNotFoundError, "there is no such"):
      datasets.prepare("cifar10_c", "clean", manual_dir=self.bucket / "manual")


class RecordsTest(absltest.TestCase):
  def test_tensorflow_does_not_open_every_bucket(self):
    bucket = fake_bucket.create(self)  # as s3:// is
    with self.assertRaisesRegex(
      errors.UserError, "read by TensorFlow, which opens .*gs://"
    ):
      datasets.builder("digits_c", "clean", data_dir=bucket)
