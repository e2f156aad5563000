"""Elastic transform against the reference's own runs."""

import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds.corruptions.image import elastic_transform
from tests.corruptions import replays


def elastic_draws(rng, image, severity, edition):
  height, width = image.shape[:2]
  jitter = np.zeros((3, 2), np.float32)
  if edition.michaelis:
    scale = height * 0.005
  else:
    scale = 1.0
    most = edition.elastic_px * _row(edition, severity)[2]
    jitter = (rng.uniform(-most, most, size=(3, 2)) / most).astype(np.float32)
  fields = (
    (rng.uniform(-scale, scale, (height, width)) / scale).astype(np.float32)
    for _ in range(2)
  )
  return jitter, *fields


def _row(edition, severity):
  return edition.row(elastic_transform.SEVERITIES)[severity - 1]


class ReplayTest(parameterized.TestCase):
  @parameterized.parameters(*replays.CELLS)
  def test_reference_draws(self, key, severity):
    replays.check(self, "elastic_transform", key, severity, elastic_draws)


if __name__ == "__main__":
  absltest.main()
