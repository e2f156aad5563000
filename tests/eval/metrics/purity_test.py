"""k-NN purity against neighbours by hand, and its chance level."""

import numpy as np
from absl.testing import parameterized

from eval.metrics import purity
from robust_tfds import errors


class PurityTest(parameterized.TestCase):
  @parameterized.parameters((1, 4 / 5), (2, 6 / 10), (9, 8 / 20))
  def test_by_hand(self, k, expected):
    features = [[0.0], [1.0], [2.1], [10.0], [11.5]]
    self.assertAlmostEqual(purity.knn(features, [0, 0, 1, 1, 1], k), expected)

  def test_chance_and_shift(self):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1200, 5)), rng.integers(0, 4, 1200)
    self.assertAlmostEqual(purity.knn(x, y), 0.25, delta=0.02)
    split = x + 100.0 * y[:, None] + 1e6
    self.assertEqual(purity.knn(split, y), 1.0)

  @parameterized.parameters(
    ([[0.0], [1.0]], [0], 1),
    ([0.0, 1.0], [0, 1], 1),
    ([[0.0]], [0], 1),
    ([[0.0], [np.nan]], [0, 1], 1),
    ([[0.0], [1.0]], [0, 1], 0),
  )
  def test_refusals(self, features, labels, k):
    with self.assertRaises(errors.UserError):
      purity.knn(features, labels, k)
