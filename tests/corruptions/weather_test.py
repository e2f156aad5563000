"""Snow, frost, fog and spatter against the reference's own runs."""

import numpy as np
from absl.testing import absltest
from absl.testing import parameterized

from tests.corruptions import replays


def fog_draws(rng, image, severity, edition):
  del severity
  side = edition.plasma_px or max(*image.shape[:2], 3)
  levels = (side - 1).bit_length()
  return [
    tuple(
      rng.uniform(-1, 1, (1 << level,) * 2).astype(np.float32) for _ in range(3)
    )
    for level in range(levels)
  ]


DRAWS = {"fog": fog_draws}


class ReplayTest(parameterized.TestCase):
  @parameterized.product(name=tuple(DRAWS), cell=replays.CELLS)
  def test_reference_draws(self, name, cell):
    replays.check(self, name, *cell, DRAWS[name])


if __name__ == "__main__":
  absltest.main()
