"""Spatter against the reference's own runs, and without drops."""

import numpy as np
import pytest
from absl.testing import absltest, parameterized

from robust_tfds.corruptions import plugins, spec
from robust_tfds.corruptions.image import spatter
from tests.corruptions import replays


def spatter_draws(rng, image, severity, edition):
  mean, deviation = edition.row(spatter.SEVERITIES)[severity - 1][:2]
  layer = rng.normal(size=image.shape[:2], loc=mean, scale=deviation)
  return ((layer - mean) / deviation).astype(np.float32)


class ReplayTest(parameterized.TestCase):
  @parameterized.parameters(*(c for c in replays.CELLS if c[0] != "small32"))
  def test_reference_draws(self, key, severity):
    replays.check(self, "spatter", key, severity, spatter_draws)

  @parameterized.parameters(*(c for c in replays.CELLS if c[0] == "small32"))
  @pytest.mark.slow
  def test_reference_draws_of_small_pictures(self, key, severity):
    replays.check(self, "spatter", key, severity, spatter_draws)


class NoDropsTest(absltest.TestCase):
  def test_changes_nothing(self):
    """Where the reference divides 0 by 0."""
    plugin, edition = plugins.picture("spatter"), spec.edition("cifar10")
    tables = plugin.tables(edition)
    picture = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
    dry = np.full((32, 32), -9, np.float32)
    spattered = replays.applied(plugin, edition)
    for severity in (1, 2, 3, 4, 5):
      levels = spattered(picture, np.int32(severity), dry, tables, {})
      np.testing.assert_array_equal(
        np.asarray(levels).reshape(picture.shape), picture
      )


if __name__ == "__main__":
  absltest.main()
