"""PixMix against written-out numpy; what it draws."""

import functools

import jax
import numpy as np
from absl.testing import parameterized
from PIL import Image
from scipy import stats

from benchmarks import training as pillow
from models import training
from models.training.transforms import operations, pixmix
from robust_tfds import errors
from tests import tiny_files

_OPTIONS = {"k": 4, "beta": 3.0, "severity": 3.0, "overlap": False}


def _keys(count: int) -> np.ndarray:
  return np.random.default_rng(8).integers(0, 2**32, (count, 2), np.uint32)


def _drawn(keys: np.ndarray, count: int = 5) -> pixmix.Drawn:
  one = functools.partial(pixmix.draw, count=count, **_OPTIONS)
  return jax.tree.map(np.asarray, jax.jit(jax.vmap(one))(keys))


def _written_out(
  image: np.ndarray, picture: np.ndarray, drawn: pixmix.Drawn
) -> np.ndarray:
  """andyzoujm/pixmix with given draws: levels, float64."""

  def fresh(i: int) -> np.ndarray:
    steps = drawn.operations
    name = operations.NAMES[steps.operation[i]]
    u, negative = steps.strength[i] / operations.UNIT, bool(steps.negative[i])
    of_pillow = pillow.pillow_operation(
      Image.fromarray(image), name, u, negative
    )
    return np.asarray(of_pillow) / 255

  mixed = fresh(0) if drawn.fresh[0] else image / 255
  for i in range(drawn.rounds):
    other = fresh(i + 1) if drawn.fresh[i + 1] else picture / 255
    a, b = float(drawn.a[i]), float(drawn.b[i])
    if drawn.multiplies[i]:
      mixed = (2 * mixed) ** a * np.maximum(2 * other, 1e-37) ** b / 2
    else:
      mixed = (a * (2 * mixed - 1) + b * (2 * other - 1) + 1) / 2
    mixed = np.clip(mixed, 0, 1)
  return 255 * mixed


class PixmixTest(parameterized.TestCase):
  def test_is_the_authors_mixture(self):
    images = np.stack(
      [np.asarray(tiny_files.smooth(32, 32, i)) for i in range(40)]
    )
    pictures, keys = training.fractals(5, 32), _keys(40)
    ours = np.asarray(training.pixmix(images, keys=keys, pictures=pictures))
    drawn = _drawn(keys)
    self.assertSameElements(drawn.rounds, range(5))
    near = []
    for i, image in enumerate(images):
      one = jax.tree.map(lambda x: x[i], drawn)
      expected = _written_out(image, pictures[one.picture], one)
      near.append((np.abs(ours[i] - expected) <= 1.5).mean())
    # A warp is Pillow's within a level, which a power of nearly black spreads.
    self.assertGreater(np.mean(near), 0.99)
    self.assertGreater(np.min(near), 0.9)

  def test_draws(self):
    drawn = _drawn(_keys(20000))
    for values, parts in ((drawn.rounds, 5), (drawn.picture, 5)):
      count, expected = (
        np.bincount(values, minlength=parts),
        len(values) / parts,
      )
      # Chi-square of 4 degrees of freedom: above 18.5 once in a thousand.
      self.assertLess(((count - expected) ** 2 / expected).sum(), 18.5)
    for coin in (drawn.fresh, drawn.multiplies):
      np.testing.assert_allclose(coin.mean(0), 0.5, atol=0.012)
    a, b = drawn.a[:, 0].astype(float), drawn.b[:, 0].astype(float)
    small = b > 0
    self.assertAlmostEqual(small.mean(), 0.5, delta=0.012)
    near_one, near_none = stats.beta(3, 1).cdf, stats.beta(1, 3).cdf
    for values, cdf in (
      (a[small], near_one),
      (b[small], near_none),
      (a[~small] - 1, near_none),
      (-b[~small], near_none),
    ):
      self.assertGreater(stats.kstest(values, cdf)[1], 1e-3)

  def test_no_rounds_leave_the_start(self):
    """k = 0: a picture, or with probability 1/2 one operation of it."""
    keys = _keys(16)
    image = tiny_files.noise(16, 16)
    options = {"pictures": 255 - image[None], "keys": keys}
    mixed = training.pixmix(np.stack([image] * 16), k=0, **options)
    same = (np.asarray(mixed) == image).all((1, 2, 3))
    draw = functools.partial(
      pixmix.draw, count=1, k=0, beta=3.0, severity=3.0, overlap=False
    )
    fresh = np.asarray(jax.vmap(draw)(keys).fresh[:, 0])
    self.assertTrue(same[~fresh].all())
    self.assertFalse(same[fresh].all())

  def test_frames_of_a_clip_draw_for_themselves(self):
    clip = np.repeat(tiny_files.noise(16, 16)[None, None], 8, axis=1)
    options = {"pictures": training.fractals(9, 16), "keys": _keys(1)}
    mixed = np.asarray(training.pixmix(clip, **options))
    self.assertEqual(mixed.shape, clip.shape)
    self.assertGreater(len(np.unique(mixed[0], axis=0)), 4)

  @parameterized.parameters(
    ({"pictures": np.zeros((0, 8, 8, 3), np.uint8)}, "at least one picture"),
    ({"pictures": np.zeros((4, 8, 9, 3), np.uint8)}, "8x9 px, the images 8x8"),
    ({"pictures": [[1], [2, 3]]}, "^pictures must be uint8 arrays"),
    ({"paired": "yes"}, "paired must be True or False, got 'yes'"),
    ({"k": -1}, "k must be"),
    ({"overlap": "False"}, "overlap must be True or False"),
    ({"beta": 0}, "beta must be"),
  )
  def test_refuses(self, change, words):
    given = {"keys": _keys(2), "pictures": np.zeros((4, 8, 8, 3), np.uint8)}
    given |= change
    with self.assertRaisesRegex(errors.UserError, words):
      training.pixmix(np.zeros((2, 8, 8, 3), np.uint8), **given)
