"""`data.cache`: what it keeps, what of it is not trusted, and where it is refused."""

import collections
import itertools
import pathlib
import shutil
from unittest import mock

import numpy as np
import pytest
from absl.testing import absltest, parameterized

from models.training import data, disclosure
from models.training import workdir as workdir_lib
from models.training.data import examples
from robust_tfds import errors
from tests import tiny_files
from tests.models.training import tiny_trainings

_USAGE = collections.namedtuple("_USAGE", "total used free")


def _damage_a_picture(file: pathlib.Path) -> None:
  levels = bytearray(file.with_suffix(".levels").read_bytes())
  levels[5] ^= 1
  file.with_suffix(".levels").write_bytes(levels)


class KeptPicturesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    root = pathlib.Path(self.create_tempdir().full_path)
    self.pets, self.cache = root / "pets", root / "cache"
    files = {
      f"{kind}/{i}.png": tiny_files.encoded(
        tiny_files.noise(h, 300, i + ord(kind))
      )
      for kind in "ab"
      for i, h in enumerate((260, 300, 40, 257))
    }
    tiny_files.put(self.pets, files)

  def _open(self, cache=True, **options) -> data.Source:
    """With what was said in `self.said`."""
    options = {
      "crop": "random_resized8",
      "geometry": "short256_crop8",
      **options,
    }
    place = str(self.cache) if cache else ""
    self.said = []
    config = data.Config(source=f"folder:{self.pets}", cache=place, **options)
    return data.open(config, self.said.append)

  def _epoch(self, source, epoch=0, split="train"):
    batches = source.batches(
      batch_size=3, seed=0, epoch=epoch, split=split, remainder="keep"
    )
    return [*batches]

  def _index(self) -> pathlib.Path:
    (file,) = self.cache.glob("*.index")
    return file

  def test_later_epochs_decode_nothing(self):
    source = self._open(validation=0.3)
    self.assertIn("cache: 8 pictures, 1.4 MB in ", self.said[-1])
    first = self._epoch(source)
    held = self._epoch(source, split="validation")
    np.testing.assert_equal(
      held, self._epoch(self._open(False, validation=0.3), split="validation")
    )
    again = self._open(validation=0.3)
    self.assertIn("cache: 8 of 8 pictures are in ", self.said[-1])
    with mock.patch.object(
      examples.Listed, "decode", side_effect=AssertionError
    ):
      np.testing.assert_equal(self._epoch(again), first)
      later = self._epoch(source, epoch=1)
    at = [row for batch in later for row in batch["id"]].index(
      first[0]["id"][0]
    )
    images = np.concatenate([batch["image"] for batch in later])
    self.assertFalse((images[at] == first[0]["image"][0]).all())

  @pytest.mark.slow
  def test_processes_fill_and_read_it(self):
    expected = self._epoch(self._open())
    shutil.rmtree(self.cache)
    source = self._open(workers=2)
    for _ in range(2):
      np.testing.assert_equal(self._epoch(source), expected)
    self._open()
    self.assertIn("cache: 8 of 8 ", self.said[-1])

  @parameterized.parameters(
    (_damage_a_picture, "8 of 8"),
    (lambda file: file.with_suffix(".levels").write_bytes(b""), "made anew"),
    (lambda file: file.with_suffix(".levels").unlink(), "made anew"),
    (lambda file: file.write_bytes(b"no index"), "made anew"),
    (lambda file: file.unlink(), "filled in the first epoch"),
  )
  def test_damaged_files(self, damage, words):
    expected = self._epoch(self._open())
    damage(self._index())
    source = self._open()
    self.assertIn(words, " ".join(self.said))
    np.testing.assert_equal(self._epoch(source), expected)
    self._open()
    self.assertIn("cache: 8 of 8 ", self.said[-1])

  def test_a_training_that_is_killed_leaves_what_is_whole(self):
    expected = self._epoch(self._open())
    shutil.rmtree(self.cache)
    read, turns = examples.Listed.decode, itertools.count()

    def decode(self, place):
      if next(turns) == 3:
        raise ArithmeticError
      return read(self, place)

    with mock.patch.object(examples.Listed, "decode", decode):
      with self.assertRaises(ArithmeticError):
        self._epoch(self._open())
    again = self._open()
    self.assertRegex(self.said[-1], "cache: [3-7] of 8 ")
    np.testing.assert_equal(self._epoch(again), expected)

  def test_other_pictures_have_other_files(self):
    self._epoch(self._open())
    shutil.copy(self.pets / "a/0.png", self.pets / "a/1.png")
    self._epoch(self._open())
    self.assertLen([*self.cache.glob("*.index")], 2)

  @parameterized.parameters(300, 299)  # as large, and not
  def test_a_picture_that_changes_meanwhile(self, height):
    expected, changed = self._epoch(self._open()), self.pets / "a/1.png"
    shutil.rmtree(self.cache)
    source, stored = self._open(), changed.read_bytes()
    changed.write_bytes(tiny_files.encoded(tiny_files.noise(height, 300, 9)))
    with self.assertRaisesRegex(errors.UserError, "a/1.png: it was changed"):
      self._epoch(source)
    changed.write_bytes(stored)
    np.testing.assert_equal(self._epoch(self._open()), expected)

  def test_no_room(self):
    usage = mock.patch.object(
      shutil, "disk_usage", return_value=_USAGE(9, 9, 0)
    )
    with (
      usage,
      self.assertRaisesRegex(errors.UserError, "0.0 GB left. Name a folder"),
    ):
      self._open()

  def test_it_is_a_fact(self):
    config = tiny_trainings.config(
      data={"source": "digits", "cache": "/somewhere"}
    )
    facts = workdir_lib.facts(config)
    self.assertEqual(facts["config.data.cache"], "shorter side 256 px")
    self.assertEqual(disclosure.data_in_words(config), "digits train at 256 px")
    plain = tiny_trainings.config(data={"source": "digits"})
    self.assertNotIn("config.data.cache", workdir_lib.facts(plain))


if __name__ == "__main__":
  absltest.main()
