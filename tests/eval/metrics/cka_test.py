"""Minibatch CKA: by hand, what leaves it alone, batches of any size, refusals."""

import itertools
import math

import numpy as np
from absl.testing import absltest, parameterized

from eval.metrics import cka
from robust_tfds import errors


def _features(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
  """Two layers that share three directions and have noise of their own."""
  rng = np.random.default_rng(seed)
  common = rng.normal(size=(n, 3))
  x = common @ rng.normal(size=(3, 20)) + rng.normal(size=(n, 20))
  y = common @ rng.normal(size=(3, 8)) + rng.normal(size=(n, 8))
  return x, y


def _cut(x: np.ndarray, y: np.ndarray, size: int) -> list:
  return [(x[i : i + size], y[i : i + size]) for i in range(0, len(x), size)]


def _by_hand(x: np.ndarray, y: np.ndarray) -> float:
  """HSIC of all four different examples, the U-statistic that HSIC_1 equals.

  Song et al. 2012, section 3: the mean over (i, j, q, r), all different, of
  K_ij (L_ij + L_qr - 2 L_iq).
  """
  k, m = x @ x.T, y @ y.T
  terms = [
    k[i, j] * (m[i, j] + m[q, r] - 2 * m[i, q])
    for i, j, q, r in itertools.permutations(range(len(x)), 4)
  ]
  return float(np.mean(terms))


class CkaTest(parameterized.TestCase):
  @parameterized.parameters(4, 7)
  def test_is_the_u_statistic(self, n):
    x, y = _features(n)
    want = _by_hand(x, y) / math.sqrt(_by_hand(x, x) * _by_hand(y, y))
    self.assertAlmostEqual(cka.minibatch([(x, y)]), want, places=10)

  def test_sums_batches_before_it_divides(self):
    (x, y), (a, b) = _features(5), _features(6, seed=1)
    common, of_x, of_y = (
      _by_hand(x, y) + _by_hand(a, b),
      _by_hand(x, x) + _by_hand(a, a),
      _by_hand(y, y) + _by_hand(b, b),
    )
    got = cka.minibatch(iter([(x, y), (a, b)]))
    self.assertAlmostEqual(got, common / math.sqrt(of_x * of_y), places=10)

  @parameterized.parameters(4, 32, 256)
  def test_is_1_with_itself(self, size):
    x, _ = _features(256)
    self.assertAlmostEqual(cka.minibatch(_cut(x, x, size)), 1, places=12)

  def test_is_the_same_turned_scaled_shifted_and_swapped(self):
    x, y = _features(128)
    rng = np.random.default_rng(1)
    turn, _ = np.linalg.qr(rng.normal(size=(20, 20)))
    want = cka.minibatch(_cut(x, y, 32))
    for other in (x @ turn, 1e-3 * x, -7 * x, x + 1e6, x.reshape(128, 4, 5)):
      got = cka.minibatch(_cut(other, y, 32))
      self.assertAlmostEqual(got, want, places=8)
    self.assertAlmostEqual(cka.minibatch(_cut(y, x, 32)), want, places=12)
    stretched = x * np.geomspace(1, 100, 20)  # no scale of all features
    self.assertGreater(abs(cka.minibatch(_cut(stretched, y, 32)) - want), 0.05)

  def test_the_batch_size_is_within_its_standard_error(self):
    # Means of 200 runs of 64 examples: the biased estimator's would be apart by
    # far more, as the last line says of it.
    sizes = (8, 16, 64)
    runs = np.array(
      [
        [cka.minibatch(_cut(*_features_of_one_map(seed), s)) for s in sizes]
        for seed in range(200)
      ]
    )
    for i in range(len(sizes) - 1):
      apart = runs[:, i] - runs[:, -1]
      error = apart.std(ddof=1) / math.sqrt(len(apart))
      self.assertLess(abs(apart.mean()), 3.5 * error + 2e-3)
    x, y = _features_of_one_map(0)
    biased = [
      np.mean([_biased(a, b) for a, b in _cut(x, y, size)]) for size in (8, 64)
    ]
    self.assertGreater(biased[0] - biased[1], 0.1)

  def test_of_nothing_in_common_it_is_0(self):
    rng = np.random.default_rng(2)
    pairs = [
      (rng.normal(size=(16, 30)), rng.normal(size=(16, 30))) for _ in range(200)
    ]
    self.assertLess(abs(cka.minibatch(pairs)), 0.03)

  def test_of_what_does_not_vary_it_is_unknown(self):
    x, _ = _features(16)
    self.assertTrue(math.isnan(cka.minibatch([(x, np.full((16, 3), 0.1))])))

  @parameterized.product(n=(4, 5, 6, 16), shift=(0, 1e3), scale=(1, 1e-3))
  def test_of_examples_that_are_all_as_alike_it_is_unknown(
    self, n, shift, scale
  ):
    """HSIC_1 of a Gram matrix with one number off its diagonal is 0 by hand."""
    same = scale * np.eye(n) + shift
    rng = np.random.default_rng(n)
    turn, _ = np.linalg.qr(rng.normal(size=(n, n)))
    for x in (same, same @ turn):
      for y in (x, rng.normal(size=(n, 3))):
        self.assertTrue(math.isnan(cka.minibatch([(x, y)])))
        self.assertTrue(math.isnan(cka.minibatch([(y, x)])))
    # With another batch that says something, that one counts.
    x, y = _features(n)
    more = [(np.eye(n), np.eye(n)), (x, y)]
    self.assertAlmostEqual(cka.minibatch(more), cka.minibatch([(x, y)]), 12)

  def test_is_never_beyond_1(self):
    rng = np.random.default_rng(0)
    for n in (4, 5, 9) * 100:
      x = rng.normal(size=(n, 7))
      for y in (x, -3 * x, np.eye(n), rng.normal(size=(n, 1))):
        got = cka.minibatch([(x, y)])
        self.assertTrue(math.isnan(got) or -1 <= got <= 1, got)

  def test_refuses(self):
    x, y = _features(8)
    bad = x.copy()
    bad[2, 3] = np.nan
    for batches, message in (
      ([], "batches: got none"),
      ([(x, y[:7])], "batch 1: expected the same examples on both sides"),
      ([(x, y), (x[:3], y[:3])], "batch 2: .* 4 or more"),
      ([(x[:, 0], y)], r"batch 1: expected features \[n, features\]"),
      ([(x, y, x)], r"batch 1: expected a pair \(x, y\)"),
      ([3], r"batch 1: expected a pair \(x, y\)"),
      ([(bad, y)], r"batch 1: x must be finite numbers, .* nan at \[2, 3\]"),
    ):
      with self.assertRaisesRegex(errors.UserError, message):
        cka.minibatch(batches)


def _features_of_one_map(seed: int) -> tuple[np.ndarray, np.ndarray]:
  """64 examples of one population: the map is the same for all seeds."""
  fixed, rng = np.random.default_rng(9), np.random.default_rng(100 + seed)
  to_x, to_y = fixed.normal(size=(3, 20)), fixed.normal(size=(3, 8))
  common = rng.normal(size=(64, 3))
  x = common @ to_x + 2 * rng.normal(size=(64, 20))
  return x, common @ to_y + 2 * rng.normal(size=(64, 8))


def _biased(x: np.ndarray, y: np.ndarray) -> float:
  """Linear CKA by the biased estimator (Kornblith et al. 2019)."""
  x, y = x - x.mean(axis=0), y - y.mean(axis=0)
  of = [np.linalg.norm(a.T @ b) for a, b in ((x, y), (x, x), (y, y))]
  return float(of[0] ** 2 / (of[1] * of[2]))


if __name__ == "__main__":
  absltest.main()
