"""Snow against the reference's own runs."""

import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds.corruptions.image import snow
from robust_tfds.corruptions.ops import motion
from tests.corruptions import replays


def snow_draws(rng, image, severity, edition):
  """Our `draw` gives the part of the layer that the zoom uses."""
  mean, deviation, zoom = edition.row(snow.SEVERITIES)[severity - 1][:3]
  height, width = image.shape[:2]
  layer = rng.normal(size=(height, width), loc=mean, scale=deviation)
  direction = motion.direction(rng.uniform(-135, -45))
  rows, columns = (int(np.ceil(n / zoom)) for n in (height, width))
  top, left = (height - rows) // 2, (width - columns) // 2
  normals = ((layer - mean) / deviation).astype(np.float32)
  used = normals[top : top + rows, left : left + columns]
  return np.pad(used, ((0, height - rows), (0, width - columns))), direction


class ReplayTest(parameterized.TestCase):
  @parameterized.parameters(*replays.CELLS)
  def test_reference_draws(self, key, severity):
    replays.check(self, "snow", key, severity, snow_draws)


if __name__ == "__main__":
  absltest.main()
