"""AugMix against written-out numpy and Pillow; what it draws."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized

from benchmarks import training as pillow
from models import training
from models.training.transforms import augmix
from robust_tfds import errors
from tests import tiny_files

_OPTIONS = {
  "severity": 3.0,
  "width": 3,
  "depth": -1,
  "alpha": 1.0,
  "overlap": False,
}


def _keys(count: int) -> np.ndarray:
  return np.random.default_rng(7).integers(0, 2**32, (count, 2), np.uint32)


@functools.cache
def _draws() -> augmix.Drawn:
  one = functools.partial(augmix.draw, **_OPTIONS)
  return jax.tree.map(np.asarray, jax.jit(jax.vmap(one))(_keys(20000)))


def _distance(values: np.ndarray, cdf) -> float:
  """Kolmogorov-Smirnov's, times the root of the count: above 1.95 once in 1000."""
  share = (np.arange(len(values)) + 0.5) / len(values)
  return np.abs(cdf(np.sort(values)) - share).max() * np.sqrt(len(values))


class AugmixTest(parameterized.TestCase):
  def test_is_the_authors_mixture_of_pillows_operations(self):
    smooth = [np.asarray(tiny_files.smooth(48, 48, i)) for i in range(12)]
    images, keys = np.stack(smooth), _keys(12)
    ours = np.asarray(training.augmix(images, keys=keys))
    drawn = pillow.drawn_of(keys, **_OPTIONS)
    for image, one, got in zip(images, drawn, ours):
      expected = pillow.levels(pillow.pillow_mixture(image, one))
      far = np.abs(got - expected) > 1
      self.assertLess(far.mean(), 0.01)

  def test_weights_alone_mix(self):
    """All weight on the picture: itself; on one chain: that chain's result."""
    image = tiny_files.noise(24, 24)
    drawn = jax.tree.map(jnp.asarray, pillow.drawn_of(_keys(1), **_OPTIONS)[0])

    mix = jax.jit(functools.partial(augmix.mixture, overlap=False))

    def of_weights(weights: jax.Array) -> np.ndarray:
      flat = mix(image, drawn._replace(weights=weights))
      return np.asarray(flat).reshape(image.shape)

    alone, *chains = (of_weights(row << 16) for row in jnp.eye(4, dtype=int))
    np.testing.assert_array_equal(alone, image)
    own, *others = np.asarray(drawn.weights) / 2**16
    expected = own * image + sum(w * c for w, c in zip(others, chains))
    far = np.abs(of_weights(drawn.weights) - expected)
    np.testing.assert_array_less(far, 0.501)

  def test_depths_are_one_to_three(self):
    count = np.bincount(_draws().depths.ravel(), minlength=4)
    expected = _draws().depths.size / 3
    self.assertEqual(count[0], 0)
    # Chi-square of 2 degrees of freedom: above 13.8 once in a thousand.
    self.assertLess(((count[1:] - expected) ** 2 / expected).sum(), 13.8)

  def test_weights_are_of_a_dirichlet_and_a_beta(self):
    own, *others = _draws().weights.T / 2**16
    np.testing.assert_allclose(own + sum(others), 1, atol=1e-9)
    # Beta(1, 1) is uniform; w_1 of Dirichlet(1, 1, 1) is Beta(1, 2).
    self.assertLess(_distance(own, lambda x: x), 1.95)
    share = others[0] / np.maximum(1 - own, 1e-4)
    self.assertLess(
      _distance(np.clip(share, 0, 1), lambda x: 1 - (1 - x) ** 2), 1.95
    )
    self.assertLess(abs(np.corrcoef(own, share)[0, 1]), 0.03)

  def test_chains_and_their_operations_are_independent(self):
    drawn = _draws().operations.operation
    for a, b in (
      (drawn[:, 0, 0], drawn[:, 0, 1]),
      (drawn[:, 0, 0], drawn[:, 1, 0]),
    ):
      pairs = np.bincount(9 * a + b, minlength=81)
      expected = len(a) / 81
      # Chi-square of 80 degrees of freedom: above 125 once in a thousand.
      self.assertLess(((pairs - expected) ** 2 / expected).sum(), 125)

  @parameterized.parameters(
    ({"severity": 11}, "severity"),
    ({"width": 0}, "width"),
    ({"depth": 0}, "depth must be a whole number, -1 or 1 to 16, got 0"),
    ({"alpha": 1e300}, "alpha must be a number above 0.001 and up to 1e.06"),
    ({"keys": np.zeros((2, 2), np.int32)}, "key"),
    ({"keys": np.zeros((1, 2), np.uint32)}, "One key per image"),
    ({"images": np.zeros((2, 8, 8, 3), np.float32)}, "uint8"),
  )
  def test_refuses(self, change, words):
    given = {"images": np.zeros((2, 8, 8, 3), np.uint8), "keys": _keys(2)}
    given |= change
    with self.assertRaisesRegex(errors.UserError, words):
      training.augmix(given.pop("images"), **given)
