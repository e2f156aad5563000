"""The chamfer distance against shortest paths of its steps."""

import numpy as np
from absl.testing import parameterized

from robust_tfds.corruptions.ops import chamfer

_STEPS = {
  **{(y, x): 65536 for y, x in ((0, 1), (1, 0))},
  (1, 1): 91750,
  **{(y, x): 143976 for y, x in ((1, 2), (2, 1))},
}


def _relaxed(marked, cap):
  """Bellman-Ford over the 16 steps of the 5x5 mask."""
  length = np.where(marked, 0, cap * chamfer.ONE).astype(np.int64)
  steps = {
    (sy * y, sx * x): cost
    for (y, x), cost in _STEPS.items()
    for sy in (-1, 1)
    for sx in (-1, 1)
  }
  while True:
    padded = np.pad(length, 2, constant_values=1 << 40)
    best = length
    for (y, x), cost in steps.items():
      rows = slice(2 + y, 2 + y + length.shape[0])
      columns = slice(2 + x, 2 + x + length.shape[1])
      best = np.minimum(best, padded[rows, columns] + cost)
    if (best == length).all():
      return length
    length = best


class ChamferTest(parameterized.TestCase):
  @parameterized.parameters(0.0, 0.001, 0.02, 0.4)
  def test_equals_shortest_paths(self, share):
    marked = np.random.default_rng(1).random((61, 70)) < share
    got = np.asarray(chamfer.distance(marked, 20))
    np.testing.assert_array_equal(got, _relaxed(marked, 20))
