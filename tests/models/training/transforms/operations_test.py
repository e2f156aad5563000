"""Operations against Pillow's, on made pictures."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized
from PIL import Image

from benchmarks import training
from models.training.transforms import operations
from robust_tfds.corruptions.ops import packed
from tests import tiny_files

_HEIGHT, _WIDTH = 45, 61
_STRENGTHS = (410, 4096, 9000, 12287, 40959)  # u = .1 to 10


def _pictures() -> dict[str, np.ndarray]:
  two = np.where(tiny_files.noise(_HEIGHT, _WIDTH) > 99, 200, 130)
  flat = np.full((_HEIGHT, _WIDTH, 3), 77)
  smooth = np.asarray(tiny_files.smooth(_WIDTH, _HEIGHT, 3))
  return {
    "noise": tiny_files.noise(_HEIGHT, _WIDTH, 1),
    "narrow": tiny_files.noise(_HEIGHT, _WIDTH, 2) // 3 + 41,
    "smooth": smooth,
    "two levels": two.astype(np.uint8),
    "flat": flat.astype(np.uint8),
  }


@jax.jit
def _apply(image, operation, strength, negative):
  drawn = operations.Drawn(operation, strength, negative)
  words = operations.apply(packed.pack(image), drawn, overlap=True)
  return packed.bytes_of(words)


def _ours(
  image: np.ndarray, name: str, strength: int, negative: bool = False
) -> np.ndarray:
  index = operations.NAMES.index(name)
  flat = _apply(image, index, strength, negative)
  return np.asarray(flat).reshape(image.shape)


def _pillow(
  image: np.ndarray, name: str, strength: int, negative: bool = False
) -> np.ndarray:
  u = strength / operations.UNIT
  picture = Image.fromarray(image)
  return np.asarray(training.pillow_operation(picture, name, u, negative))


def _far(ours: np.ndarray, theirs: np.ndarray, levels: int) -> float:
  """Share of the values that are further apart."""
  return float((np.abs(ours.astype(int) - theirs) > levels).mean())


class OperationsTest(parameterized.TestCase):
  @parameterized.parameters(*operations.TABLES)
  def test_tables_are_pillows_to_the_byte(self, name):
    for label, image in _pictures().items():
      for strength in _STRENGTHS:
        np.testing.assert_array_equal(
          _ours(image, name, strength),
          _pillow(image, name, strength),
          f"{label} {strength}",
        )

  @parameterized.parameters(*operations.WARPS)
  def test_warps_are_pillows_within_a_level(self, name):
    for label, image in _pictures().items():
      for strength in _STRENGTHS:
        for negative in (False, True):
          ours = _ours(image, name, strength, negative)
          theirs = _pillow(image, name, strength, negative)
          self.assertEqual(
            _far(ours, theirs, 1), 0, f"{label} {strength} {negative}"
          )

  def test_edges_of_warps_are_pillows_at_any_strength(self):
    """A pixel whose source lies a hair outside is black."""
    image = np.full((96, 96, 3), 200, np.uint8)
    strengths = np.random.default_rng(1).integers(410, 40960, 60).tolist()
    for name in ("rotate", "shear_x", "shear_y"):
      for strength in [410, 5562, 16384, *strengths]:
        ours, theirs = (f(image, name, strength) for f in (_ours, _pillow))
        np.testing.assert_array_equal(ours, theirs, f"{name} {strength}")

  @parameterized.parameters(*operations.OVERLAPPING)
  def test_enhancements_are_pillows(self, name):
    for label, image in _pictures().items():
      for strength in _STRENGTHS:
        ours = _ours(image, name, strength)
        theirs = _pillow(image, name, strength)
        self.assertEqual(_far(ours, theirs, 1), 0, f"{label} {strength}")
        self.assertLess(_far(ours, theirs, 0), 0.01, f"{label} {strength}")

  def test_every_range_of_levels_is_spread_as_pillow_spreads_it(self):
    """Pillow truncates float64 products."""
    low, high = np.triu_indices(256, 1)
    pick = np.random.default_rng(0).choice(len(low), 300, replace=False)
    index = np.arange(_HEIGHT * _WIDTH * 3).reshape(_HEIGHT, _WIDTH, 3)
    for a, b in zip(low[pick].tolist(), high[pick].tolist()):
      image = (a + index // 3 % (b - a + 1)).astype(np.uint8)
      np.testing.assert_array_equal(
        _ours(image, "autocontrast", 410), _pillow(image, "autocontrast", 410)
      )

  def test_draws_are_uniform(self):
    keys = np.random.default_rng(0).integers(0, 2**32, (20000, 2), np.uint32)
    one = functools.partial(
      operations.draw, shape=(), severity=3, overlap=False, stream=7
    )
    drawn = jax.vmap(one)(jnp.asarray(keys))
    count = np.bincount(drawn.operation, minlength=9)
    self.assertLen(count, 9)
    # Chi-square of 8 degrees of freedom: above 26 once in a thousand.
    expected = len(keys) / 9
    self.assertLess(((count - expected) ** 2 / expected).sum(), 26)
    u = np.sort(np.asarray(drawn.strength)) / operations.UNIT
    self.assertBetween(u[0], 0.1, 0.101)
    self.assertBetween(u[-1], 2.999, 3)
    share = (np.arange(len(u)) + 0.5) / len(u)
    # Kolmogorov-Smirnov: above 1.95 / sqrt(n) once in a thousand.
    distance = np.abs((u - 0.1) / 2.9 - share).max()
    self.assertLess(distance, 1.95 / np.sqrt(len(u)))
    self.assertAlmostEqual(np.mean(drawn.negative), 0.5, delta=0.012)
