"""Glass blur against the reference's own runs."""

import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds.corruptions.image import glass_blur
from tests.corruptions import replays


def glass_draws(rng, image, severity, edition):
  """Pairs (dx, dy) in the order of the visits: last pixel first."""
  _, delta, passes = edition.row(glass_blur.SEVERITIES)[severity - 1]
  height, width = image.shape[:2]
  rows = np.arange(height - delta, delta, -1)
  columns = np.arange(width - delta, delta, -1)
  most = max(row[2] for row in edition.row(glass_blur.SEVERITIES))
  draws = np.zeros((most, height, width), np.int32)
  for i in range(passes):
    pairs = rng.randint(-delta, delta, size=(len(rows), len(columns), 2))
    draws[i][np.ix_(rows, columns)] = pairs[..., 1] * 65536 + pairs[..., 0]
  return draws


class ReplayTest(parameterized.TestCase):
  @parameterized.parameters(*replays.CELLS)
  def test_reference_draws(self, key, severity):
    replays.check(self, "glass_blur", key, severity, glass_draws)


if __name__ == "__main__":
  absltest.main()
