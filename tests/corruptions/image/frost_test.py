"""Frost against the reference's own runs."""

import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds.corruptions.image import frost
from robust_tfds.corruptions.ops import layout
from tests.corruptions import replays


def frost_draws(rng, image, severity, edition):
  del severity
  which = rng.randint(5)
  shapes = frost.assets(edition)["shapes"]
  shape = shapes[which]
  if edition.michaelis:
    size = layout.Size(*image.shape[:2])
    shape = np.asarray(frost.resized(which, size, image.shape, shapes))
  row, column = (rng.randint(0, shape[i] - image.shape[i]) for i in range(2))
  return np.int32(which), np.int32(row), np.int32(column)


class ReplayTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    replays.use_frost()

  @parameterized.parameters(*replays.CELLS)
  def test_reference_draws(self, key, severity):
    replays.check(self, "frost", key, severity, frost_draws)


if __name__ == "__main__":
  absltest.main()
