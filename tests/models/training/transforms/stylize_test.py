"""One style a picture, drawn by key; weights are the user's or it is `texture`."""

import jax
import numpy as np
from absl.testing import parameterized

from models import training
from models.training.transforms import stylize, texture
from robust_tfds import errors
from tests import tiny_files

_STYLES = training.textures(3, 24)


def _keys(count: int) -> np.ndarray:
  return np.random.default_rng(4).integers(0, 2**32, (count, 2), np.uint32)


class StylizeTest(parameterized.TestCase):
  def test_every_picture_has_one_of_the_styles(self):
    images = np.stack([tiny_files.noise(16, 16, i) for i in range(8)])
    got = np.asarray(
      training.stylize(images, keys=_keys(8), styles=_STYLES)
    ).astype(int)
    in_style = jax.jit(texture.render)
    seen = set()
    for image, picture in zip(images, got):
      away = []
      for style in _STYLES:
        pair = (x[None].astype(np.float32) / 255 for x in (image, style))
        levels = np.clip(np.asarray(in_style(*pair, 1.0))[0] * 255, 0, 255)
        away.append(np.abs(levels - picture).max())
      self.assertLess(min(away), 0.51)
      seen.add(int(np.argmin(away)))
    self.assertGreater(len(seen), 1)

  def test_no_weights_are_no_adain(self):
    self.assertEqual(stylize.stylizer_name(None), "texture")

  def test_texture_in_a_canvas_is_what_it_is_alone(self):
    images = np.stack([tiny_files.noise(16, 20, i) for i in range(3)])
    sizes, styles = np.array([(16, 20), (9, 4), (1, 1)]), _STYLES
    options = {"styles": styles, "paired": True}
    got = training.stylize(images, keys=_keys(3), sizes=sizes, **options)
    for i, (high, wide) in enumerate(sizes):
      expected = np.zeros_like(images[i])
      expected[:high, :wide] = training.stylize(
        images[i : i + 1, :high, :wide],
        keys=_keys(3)[i : i + 1],
        styles=styles[i : i + 1],
        paired=True,
      )[0]
      far = np.abs(np.asarray(got)[i].astype(int) - expected)
      self.assertLessEqual(far.max(), 1)

  def test_a_traced_share_is_refused_in_words(self):
    def of(alpha):
      return training.stylize(
        np.zeros((1, 8, 8, 3), np.uint8),
        keys=_keys(1),
        styles=_STYLES,
        alpha=alpha,
      )

    with self.assertRaisesRegex(errors.UserError, "alpha must be a number"):
      jax.jit(of)(0.5)

  @parameterized.parameters(
    ({"styles": np.zeros((0, 8, 8, 3), np.uint8)}, "at least one picture"),
    ({"styles": np.zeros((8, 8, 3), np.uint8)}, "styles must be uint8"),
    ({"alpha": -0.1}, "alpha must be a number from 0 to 1"),
    ({"alpha": False}, "alpha must be"),
    ({"alpha": 1.5}, "alpha must be"),
    ({"paired": 1}, "paired must be True or False, got 1"),
    ({"stylizer": "vgg.pth"}, "load_stylizer"),
    ({"keys": np.zeros((2,), np.uint32)}, "One key per image"),
  )
  def test_refuses(self, change, words):
    given = {"keys": _keys(2), "styles": _STYLES} | change
    with self.assertRaisesRegex(errors.UserError, words):
      training.stylize(np.zeros((2, 8, 8, 3), np.uint8), **given)
