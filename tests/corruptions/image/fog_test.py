"""Fog against the reference's own runs."""

import numpy as np
from absl.testing import absltest, parameterized

from tests.corruptions import replays


def fog_draws(rng, image, severity, edition):
  del severity
  side = edition.plasma_px or max(*image.shape[:2], 3)
  levels = (side - 1).bit_length()
  field = np.zeros((1 << levels, 1 << levels), np.float32)
  for n in (1 << level for level in range(levels)):
    squares, tops, lefts = rng.uniform(-1, 1, (3, n, n))
    field[n : 2 * n, n : 2 * n] = squares
    field[:n, n : 2 * n] = tops
    field[n : 2 * n, :n] = lefts
  return field


class ReplayTest(parameterized.TestCase):
  @parameterized.parameters(*replays.CELLS)
  def test_reference_draws(self, key, severity):
    replays.check(self, "fog", key, severity, fog_draws)


if __name__ == "__main__":
  absltest.main()
