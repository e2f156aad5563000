"""Spatter without drops; with them: golden_test."""

import numpy as np
from absl.testing import absltest

from robust_tfds.corruptions import plugins, spec
from tests.corruptions import replays


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
