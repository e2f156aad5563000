"""Every block of docs/LIBRARY.md on data loaders runs, where its package is installed."""

import importlib.util
import sys
from unittest import mock

import numpy as np
from absl.testing import absltest

from robust_tfds import corruptions
from tests import pages

_SECTIONS = pages.sections("LIBRARY.md")


class DataloadersPageTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    rng = np.random.default_rng(0)
    self._pictures = rng.integers(0, 256, (4, 40, 61, 3), np.uint8)
    self._names = [str(i) for i in range(4)]
    self._foggy = [
      corruptions.corrupt(
        picture,
        "fog",
        3,
        key=corruptions.example_key(0, "my_set", "fog", 3, name),
      )
      for picture, name in zip(self._pictures, self._names)
    ]  # this process uses JAX now

  def _run(self, section, package, **names):
    if importlib.util.find_spec(package) is None:
      self.skipTest(f"{package} is not installed")
    names |= {
      "corruptions": corruptions,
      "pictures": self._pictures,
      "names": self._names,
    }
    root = self.create_tempdir().full_path
    with mock.patch.object(sys, "path", [root, *sys.path]):
      for _, block in _SECTIONS[section]:
        if name := pages.file_name(block):
          self.create_tempfile(f"{root}/{name}", block)
        else:
          exec(block, names)
    return names

  def test_pytorch(self):
    if importlib.util.find_spec("torch") is None:
      self.skipTest("torch is not installed")
    import torch

    names = self._run("PyTorch", "torch", torch=torch)
    of_workers = torch.cat(names["batches"]).permute(0, 2, 3, 1).numpy()
    np.testing.assert_array_equal(of_workers, self._foggy)
    whole = names["foggy"].permute(0, 2, 3, 1).numpy()
    np.testing.assert_array_equal(whole, self._foggy)
    loader = torch.utils.data.DataLoader(
      names["loader"].dataset, num_workers=1, multiprocessing_context="fork"
    )
    with self.assertRaisesRegex(Exception, "multiprocessing_context='spawn'"):
      next(iter(loader))

  def test_tf_data(self):
    if importlib.util.find_spec("tensorflow") is None:
      self.skipTest("tensorflow is not installed")
    import tensorflow as tf

    names = self._run("tf.data", "tensorflow", tf=tf)
    self._check([picture for picture, _ in names["data"].as_numpy_iterator()])

  def test_grain(self):
    if importlib.util.find_spec("grain") is None:
      self.skipTest("grain is not installed")
    import grain

    names = self._run("grain", "grain", grain=grain)
    self._check([row["image"] for row in names["data"]])

  def test_albumentations(self):
    if importlib.util.find_spec("albumentations") is None:
      self.skipTest("albumentations is not installed")
    import albumentations

    names = self._run(
      "albumentations", "albumentations", albumentations=albumentations
    )
    self.assertEqual(names["foggy"].shape, self._pictures[0].shape)
    self.assertFalse((names["foggy"] == self._pictures[0]).all())

  def _check(self, pictures):
    np.testing.assert_array_equal(list(pictures), self._foggy)
