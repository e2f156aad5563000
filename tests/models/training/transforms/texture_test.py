"""Textures are seeded; their encoder is undone by its decoder."""

import jax
import numpy as np
from absl.testing import parameterized

from models import training
from models.training.transforms import texture
from robust_tfds import errors
from tests import tiny_files


def _picture(seed: int) -> np.ndarray:
  return tiny_files.noise(20, 17, seed)[None].astype(np.float32) / 255


class TextureTest(parameterized.TestCase):
  def test_none_of_the_style_is_the_picture(self):
    got = jax.jit(texture.render)(_picture(0), _picture(1), 0.0)
    np.testing.assert_allclose(got, _picture(0), atol=1e-5)

  def test_its_own_style_is_the_picture(self):
    got = jax.jit(texture.render)(_picture(0), _picture(0), 1.0)
    np.testing.assert_allclose(got, _picture(0), atol=1e-4)

  def test_colours_become_the_styles(self):
    red = np.clip(_picture(1) * (1, 0.2, 0.2), 0, 1).astype(np.float32)
    got = np.asarray(jax.jit(texture.render)(_picture(0), red, 1.0))
    np.testing.assert_allclose(
      got.mean((0, 1, 2)), red.mean((0, 1, 2)), atol=0.05
    )

  def test_styles_hang_on_seed_and_number_alone(self):
    four = training.textures(4, 24)
    self.assertEqual((four.shape, four.dtype), ((4, 24, 24, 3), np.uint8))
    np.testing.assert_array_equal(training.textures(2, 24), four[:2])
    self.assertFalse((training.textures(2, 24, seed=1) == four[:2]).all())
    self.assertGreater(four.std(axis=(1, 2)).max(axis=-1).min(), 10)

  @parameterized.parameters((0, 32), (2, 7), (2, 5000))
  def test_refuses(self, count, side):
    with self.assertRaises(errors.UserError):
      training.textures(count, side)
