"""Pixels that are kept on disk, and folders that killed builds left."""

import os
import shutil
from unittest import mock

import numpy as np
from absl.testing import absltest

from robust_tfds import errors
from robust_tfds.building import scratch
from tests import in_folder


class PixelsTest(absltest.TestCase):
  def test_what_is_kept_comes_back(self):
    folder = self.create_tempdir().full_path
    rng = np.random.default_rng(0)
    video = rng.integers(0, 256, (5, 4, 6, 3), np.uint8)
    first = scratch.keep(folder, iter(video))
    image = scratch.keep_picture(folder, video[2, ::2])  # not contiguous
    np.testing.assert_array_equal(first.read(), video)
    np.testing.assert_array_equal(list(first.frames()), video)
    np.testing.assert_array_equal(first.frame(3), video[3])
    np.testing.assert_array_equal(image.read(), video[2, ::2])
    self.assertEqual(image.offset, video.nbytes)

  def test_frames_of_two_sizes(self):
    frames = [np.zeros((4, 4, 3), np.uint8), np.zeros((4, 5, 3), np.uint8)]
    with self.assertRaisesRegex(errors.UserError, "frames of different sizes"):
      scratch.keep(self.create_tempdir().full_path, frames)


class ScratchTest(in_folder.TestCase):
  def test_it_is_gone_at_the_end(self):
    place = scratch.Scratch(self.root)
    scratch.keep_picture(place.folder, np.zeros((2, 2, 3), np.uint8))
    self.assertEqual(place.used(), 12)
    place.remove()
    place.remove()
    self.assertEmpty(os.listdir(self.root))

  def test_what_a_killed_build_left(self):
    place = scratch.Scratch(self.root)
    left = self.root / f"{place.folder.name}_"  # nobody holds its lock
    left.mkdir()
    scratch.discard_leftovers(self.root)
    self.assertEqual(list(self.root.iterdir()), [place.folder])
    place.remove()

  def test_no_room(self):
    place = scratch.Scratch(self.root)
    usage = shutil.disk_usage(self.root)._replace(free=1 << 30)
    with mock.patch.object(shutil, "disk_usage", return_value=usage):
      place.check_room(1 << 20)
      with self.assertRaisesRegex(
        errors.UserError, "no room .*about 7.0 GiB are needed, 1.0 GiB free"
      ):
        place.check_room(7 << 30)
    place.remove()

  def test_a_parent_that_is_a_file(self):
    with self.assertRaisesRegex(errors.UserError, "cannot be kept there"):
      scratch.Scratch(__file__)
