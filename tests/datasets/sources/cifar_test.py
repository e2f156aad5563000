"""CIFAR-10's binary version and the published arrays."""

import io
import pathlib
import tarfile

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import absltest

from robust_tfds import datasets


def _examples(builder, split):
  return list(tfds.as_numpy(builder.as_dataset(split=split)))


class Cifar10PTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.manual = pathlib.Path(self.create_tempdir().full_path)
    rng = np.random.default_rng(0)
    self.labels = np.array([3, 9, 0], np.uint8)
    self.images = rng.integers(0, 256, (3, 32, 32, 3), np.uint8)
    planes = self.images.transpose(0, 3, 1, 2).reshape(3, -1)
    self.batch = np.concatenate([self.labels[:, None], planes], 1).tobytes()
    folder = self.manual / "cifar-10-batches-bin"
    folder.mkdir()
    (folder / "test_batch.bin").write_bytes(self.batch)

  def _build(self, config, **options):
    return _examples(
      datasets.prepare(
        "cifar10_p",
        config,
        data_dir=self.create_tempdir().full_path,
        manual_dir=self.manual,
        **options,
      ),
      "test",
    )

  def test_clean_and_sequences(self):
    for example in self._build("clean"):
      row = int(example["example_id"].decode().removeprefix("test_"))
      self.assertEqual(example["label"], self.labels[row])
      np.testing.assert_array_equal(example["frames"][0], self.images[row])
    for config, frames in (("motion_blur", 21), ("translate", 16)):
      self.assertEqual(
        self._build(config)[0]["frames"].shape, (frames, 32, 32, 3)
      )

  def test_archive_as_it_is(self):
    (self.manual / "cifar-10-batches-bin" / "test_batch.bin").unlink()
    with tarfile.open(self.manual / "cifar-10-binary.tar.gz", "w:gz") as tar:
      member = tarfile.TarInfo("cifar-10-batches-bin/test_batch.bin")
      member.size = len(self.batch)
      tar.addfile(member, io.BytesIO(self.batch))
    self.assertLen(self._build("clean"), 3)

  def test_published_arrays(self):
    frames = np.random.default_rng(1).integers(
      0, 256, (3, 31, 32, 32, 3), np.uint8
    )
    (self.manual / "CIFAR-10-P").mkdir()
    np.save(self.manual / "CIFAR-10-P" / "shot_noise_3.npy", frames)
    for example in self._build("shot_noise_3", codec="published"):
      row = int(example["example_id"].decode().removeprefix("test_"))
      np.testing.assert_array_equal(example["frames"], frames[row])

  def test_refusals(self):
    with self.assertRaisesRegex(FileNotFoundError, "tilt.npy"):
      self._build("tilt", codec="published")
    folder = self.manual / "CIFAR-10-P"
    folder.mkdir()
    np.save(folder / "tilt.npy", np.zeros((3, 30, 32, 32, 3), np.uint8))
    with self.assertRaisesRegex(ValueError, "31, 32, 32"):
      self._build("tilt", codec="published")
    np.save(
      folder / "tilt.npy", np.array([{"a": 1}], object), allow_pickle=True
    )
    with self.assertRaisesRegex(ValueError, "not a whole npy"):
      self._build("tilt", codec="published")
    binary = self.manual / "cifar-10-batches-bin" / "test_batch.bin"
    binary.write_bytes(self.batch[:-1])
    with self.assertRaisesRegex(ValueError, "truncated"):
      self._build("clean")


if __name__ == "__main__":
  absltest.main()
