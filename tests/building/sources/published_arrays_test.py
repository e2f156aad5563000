"""The published arrays of CIFAR-C: slices, ids, memory, refusals in words."""

import pathlib
import tracemalloc
from unittest import mock

import numpy as np
import pytest
import tensorflow_datasets as tfds
from absl.testing import absltest, parameterized

from robust_tfds import datasets, errors
from robust_tfds.building.sources import cifar, published_arrays
from robust_tfds.conditions import Condition
from tests.building.sources import cifar_layouts

_N = 6


class SlicesTest(parameterized.TestCase):
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

  def test_an_npz_under_the_name_of_an_npy(self):
    folder = self._write()
    np.savez(self.manual / "other.npz", a=self.pixels)
    (self.manual / "other.npz").rename(folder / "fog.npy")
    with self.assertRaisesRegex(errors.UserError, "fog.npy: not a NumPy array"):
      self._build()

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
    (np.zeros((30, 3, 32, 32), np.uint8), r"got uint8 \[30, 3, 32, 32\]"),
    (np.zeros((30, 3072), np.uint8), r"got uint8 \[30, 3072\]"),
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
    (np.zeros((30, 1), np.uint8), r"got uint8 \[30, 1\]"),
    (np.zeros(30), "got float64"),
    (np.zeros(30, object), "labels.npy: Python objects"),
    (np.full(30, 10), "labels 0..9 expected, got 10..10"),
    (np.full(30, -1), "labels 0..9 expected, got -1..-1"),
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

  def test_files_that_are_cut_off_or_absent(self):
    folder = self._write()
    whole = (folder / "fog.npy").read_bytes()
    for data in (whole[:-1], whole[:40], b""):
      (folder / "fog.npy").write_bytes(data)
      with self.assertRaisesRegex(errors.UserError, "fog.npy: (the|not)"):
        self._build()
    (folder / "labels.npy").unlink()
    (folder / "fog.npy").write_bytes(whole)
    with self.assertRaisesRegex(
      FileNotFoundError, "labels.npy.(.|\n)*CIFAR-10's"
    ):
      self._build()
    with self.assertRaisesRegex(FileNotFoundError, "snow.npy"):
      self._build(config="snow_1_published")

  @parameterized.parameters(
    ("fogg_4_published", "Unknown condition|Did you mean"),
    ("labels_1", "Unknown corruption 'labels'"),
    ("clean_published", "Unknown condition"),
  )
  def test_names_that_are_no_corruption(self, config, message):
    self._write()
    with self.assertRaisesRegex(errors.UserError, message):
      self._build(config=config)


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
      manual, cifar.CIFAR10, Condition("fog", 4)
    )
    for count, (example_id, label, _) in enumerate(rows, 1):
      self.assertEqual(
        (example_id, label), (f"test_{count - 1:05d}", (count - 1) % 10)
      )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    self.assertEqual(count, 10_000)
    self.assertLess(peak, 5 * 2**20)
