"""Grey pictures of a folder are counted."""

import pathlib

import numpy as np
from absl.testing import absltest
from PIL import Image

from robust_tfds import errors
from tests import in_process
from tools import grey_pictures


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
    counts = grey_pictures.count(str(self.folder))
    words = "2 of 4 pictures are grey, 50.0 %: 1 of one channel, 1 of three"
    self.assertIn(words, grey_pictures.words(counts))

  def test_no_pictures(self):
    with self.assertRaisesRegex(errors.UserError, "there are no pictures"):
      grey_pictures.count(str(self.folder))

  def test_no_folder(self):
    done = in_process.program("tools.grey_pictures")
    self.assertEqual(done.returncode, 1)
    self.assertIn("name a folder", done.stderr)
