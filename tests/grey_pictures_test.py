"""Grey pictures of a folder are counted."""

import pathlib

import numpy as np
from absl.testing import absltest
from PIL import Image

from tests import in_process


class GreyPicturesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def test_both_kinds_in_folders_of_folders(self):
    rng = np.random.default_rng(0)
    colour = rng.integers(0, 256, (8, 9, 3), np.uint8)
    almost = np.repeat(colour[..., :1], 3, axis=2)
    one_off = almost.copy()
    one_off[3, 4, 2] ^= 1
    (self.folder / "inner").mkdir()
    for name, pixels in (
      ("a.png", colour),
      ("b.PNG", one_off),
      ("inner/c.jpg", colour[..., 0]),
      ("inner/d.png", almost),
    ):
      Image.fromarray(pixels).save(self.folder / name)
    (self.folder / "notes.txt").write_text("no picture")
    done = in_process.program("tools.grey_pictures", str(self.folder))
    words = "2 of 4 pictures are grey, 50.0 %: 1 of one channel, 1 of three"
    self.assertIn(words, done.stdout, done.stderr)

  def test_what_cannot_be_counted(self):
    for arguments, words in (
      ([], "name a folder"),
      ([str(self.folder)], "there are no pictures"),
    ):
      done = in_process.program("tools.grey_pictures", *arguments)
      self.assertEqual(done.returncode, 1)
      self.assertIn(words, done.stderr)
