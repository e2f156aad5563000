"""Pictures of a folder, drawn by key."""

import pathlib
import pickle

import numpy as np
from absl.testing import absltest

from models import training
from models.training.data import user_pictures
from robust_tfds import errors
from tests import tiny_files

_KEYS = np.random.default_rng(0).integers(0, 2**32, (40, 2), np.uint32)


class BesideTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)
    for i in range(3):  # of one level each
      picture = np.full((30 + i, 40, 3), 50 * i, np.uint8)
      (self.root / f"{i}.png").write_bytes(tiny_files.encoded(picture))

  def test_each_is_drawn_and_by_its_key_alone(self):
    given = user_pictures.Pictures(str(self.root), 16)
    drawn = [given.drawn(key, 12) for key in _KEYS]
    self.assertEqual(
      {(d.shape, d.dtype.name) for d in drawn}, {((12, 12, 3), "uint8")}
    )
    self.assertEqual({int(d[0, 0, 0]) for d in drawn}, {0, 50, 100})
    again = pickle.loads(pickle.dumps(given))
    for key, before in zip(_KEYS[::-1], drawn[::-1]):
      np.testing.assert_array_equal(again.drawn(key, 12), before)

  def test_the_middle_or_anywhere(self):
    across = np.tile(np.arange(64, dtype=np.uint8)[:, None], (32, 1, 3))
    root = pathlib.Path(self.create_tempdir().full_path)
    (root / "a.png").write_bytes(tiny_files.encoded(across))
    given = user_pictures.Pictures(str(root), 32)
    middle = given.drawn(_KEYS[0], 32, centred=True)
    np.testing.assert_array_equal(middle, across[:, 16:48])
    places = {int(given.drawn(key, 32)[0, 0, 0]) for key in _KEYS}
    self.assertGreater(len(places), 5)

  def test_procedural_ones(self):
    five = training.fractals(5, 16)
    drawn = {
      user_pictures.made(training.fractals, 5, 16, key).tobytes()
      for key in _KEYS
    }
    self.assertEqual(drawn, {picture.tobytes() for picture in five})

  def test_refuses(self):
    (self.root / "0.png").write_bytes(b"no picture")
    given = user_pictures.Pictures(str(self.root), 16)
    with self.assertRaisesRegex(errors.UserError, "0.png"):
      for key in _KEYS:
        given.drawn(key, 12)
    with self.assertRaisesRegex(errors.UserError, "expected pictures in it"):
      user_pictures.Pictures(self.create_tempdir().full_path, 16)
