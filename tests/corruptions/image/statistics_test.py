"""The random corruptions with our own keys against the reference's statistics.

32 keys each; means agree within four standard errors of their difference.
"""

import numpy as np
import pytest
from absl.testing import parameterized

from robust_tfds import conditions, corruptions
from tests.corruptions import replays, statistics_of

NAMES = (
  "gaussian_noise",
  "shot_noise",
  "impulse_noise",
  "speckle_noise",
  "glass_blur",
  "motion_blur",
  "snow",
  "frost",
  "fog",
  "elastic_transform",
  "spatter",
)
# One of each kind of draw; all pictures and severities of all are slow tests.
_KINDS = (
  "gaussian_noise",
  "shot_noise",
  "impulse_noise",
  "motion_blur",
  "frost",
  "fog",
)
EDITIONS = {
  "cifar32": "cifar10",
  "tiny64": "tiny_imagenet",
  "small32": "any",
  "img0": "imagenet",
  "img1": "imagenet",
  "img2": "imagenet",
  "img3": "imagenet",
  "native": "any",
  "gray": "any",
  "big": "any",
}
_RUNS = 32


class StatisticsTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    replays.use_frost()

  @parameterized.product(name=_KINDS, severity=(1, 3, 5))
  def test_small_pictures(self, name, severity):
    self._check(name, "cifar32", severity)

  @parameterized.product(name=NAMES, key=tuple(EDITIONS))
  @pytest.mark.slow
  def test_all_pictures_and_severities(self, name, key):
    for severity in statistics_of.reference()[key][name]:
      self._check(name, key, int(severity))

  def _check(self, name, key, severity):
    image = replays.picture(key)
    ids = [str(i) for i in range(_RUNS)]
    outputs = corruptions.corrupt_batch(
      np.broadcast_to(image, (_RUNS, *image.shape)),
      name,
      severity,
      edition=EDITIONS[key],
      keys=conditions.raw_keys(0, "golden", name, severity, ids),
    )
    golden = statistics_of.reference()[key][name][str(severity)]
    ratio, which = statistics_of.worst(image, np.asarray(outputs), golden)
    self.assertLess(ratio, 1, f"{which} is {ratio:.2f} times what is allowed")
