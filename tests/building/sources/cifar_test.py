"""CIFAR-10's binary version and the published arrays."""

import pathlib
import tarfile
from unittest import mock

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import parameterized

from robust_tfds import datasets
from robust_tfds.building.sources import cifar
from tests import tiny_files
from tests.building.sources import action_layouts, cifar_layouts


def _examples(builder, split):
  return list(tfds.as_numpy(builder.as_dataset(split=split)))


class Cifar10PTest(action_layouts.Layout):
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
    np.save(
      folder / "tilt.npy", np.array([{"a": 1}], object), allow_pickle=True
    )
    with self.assertRaisesRegex(ValueError, "tilt.npy: Python objects"):
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
    archive.write_bytes(data[:-2000])
    with self.assertRaisesRegex(ValueError, "binary.tar.gz: .*ownload"):
      self._rows("clean")
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
