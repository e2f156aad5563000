"""Gamma and its children have their means, variances and shapes."""

import jax
import numpy as np
from absl.testing import parameterized

from models.training.transforms import draws

_KEYS = np.random.default_rng(1).integers(0, 2**32, (20000, 2), np.uint32)


class DrawsTest(parameterized.TestCase):
  @parameterized.parameters(1.0, 1.3, 4.5)
  def test_gamma(self, alpha):
    of_key = jax.jit(jax.vmap(lambda key: draws.gamma(key, alpha, 2, 5)))
    drawn = np.asarray(of_key(_KEYS), np.float64)
    from scipy import stats

    for column in drawn.T:
      self.assertGreater(stats.kstest(column, stats.gamma(alpha).cdf)[1], 1e-3)
    self.assertLess(abs(np.corrcoef(drawn.T)[0, 1]), 0.03)

  def test_beta_and_dirichlet(self):
    from scipy import stats

    of_key = jax.jit(jax.vmap(lambda key: draws.beta(key, 2.0, 9)))
    share = np.asarray(of_key(_KEYS), np.float64)
    self.assertGreater(stats.kstest(share, stats.beta(2, 2).cdf)[1], 1e-3)
    of_key = jax.jit(jax.vmap(lambda key: draws.dirichlet(key, 0.5, 4, 9)))
    parts = np.asarray(of_key(_KEYS), np.float64)
    np.testing.assert_allclose(parts.sum(1), 1, atol=1e-6)
    # One of four equal parts of 0.5 is Beta(0.5, 1.5).
    known = stats.beta(0.5, 1.5).cdf
    self.assertGreater(stats.kstest(parts[:, 2], known)[1], 1e-3)

  @parameterized.parameters(0.002, 0.01, 0.1)
  def test_dirichlet_of_a_small_alpha_chooses_one(self, alpha):
    """Also where every gamma is below float32's least number."""
    from scipy import stats

    of_key = jax.jit(jax.vmap(lambda key: draws.dirichlet(key, alpha, 3, 9)))
    parts = np.asarray(of_key(_KEYS), np.float64)
    for least in (0.1, 0.4, 0.9):
      # One of three equal parts of alpha is Beta(alpha, 2 alpha).
      share = stats.beta(alpha, 2 * alpha).sf(least)
      delta = 4 * np.sqrt(share * (1 - share) / len(parts))
      for part in parts.T:
        self.assertAlmostEqual((part > least).mean(), share, delta=delta)

  def test_coin(self):
    of_key = jax.jit(jax.vmap(lambda key: draws.coin(key, (), 3)))
    self.assertAlmostEqual(np.mean(of_key(_KEYS)), 0.5, delta=0.012)
