"""Snow, frost, fog and spatter against the reference's own runs."""

import numpy as np
from absl.testing import absltest
from absl.testing import parameterized

from robust_tfds.corruptions import images
from robust_tfds.corruptions.image import frost
from robust_tfds.corruptions.image import snow
from robust_tfds.corruptions.image import spatter
from robust_tfds.corruptions.ops import motion
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


def frost_draws(rng, image, severity, edition):
  del severity
  which = rng.randint(5)
  shapes = frost.assets(edition)["shapes"]
  shape = shapes[which]
  if edition.michaelis:
    size = images.Size(*image.shape[:2])
    shape = np.asarray(frost.resized(which, size, image.shape, shapes))
  row, column = (rng.randint(0, shape[i] - image.shape[i]) for i in range(2))
  return np.int32(which), np.int32(row), np.int32(column)


def spatter_draws(rng, image, severity, edition):
  mean, deviation = edition.row(spatter.SEVERITIES)[severity - 1][:2]
  layer = rng.normal(size=image.shape[:2], loc=mean, scale=deviation)
  return ((layer - mean) / deviation).astype(np.float32)


DRAWS = {
  "spatter": spatter_draws,
  "frost": frost_draws,
  "fog": fog_draws,
  "snow": snow_draws,
}


class ReplayTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    replays.use_frost()

  @parameterized.product(name=tuple(DRAWS), cell=replays.CELLS)
  def test_reference_draws(self, name, cell):
    replays.check(self, name, *cell, DRAWS[name])


if __name__ == "__main__":
  absltest.main()
