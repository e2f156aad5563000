"""Zoom blur against the reference's own pixels."""

import jax
import numpy as np
from absl.testing import absltest, parameterized
from PIL import Image

from robust_tfds import corruptions
from tests import shared_data
from tests.corruptions import replays


class ZoomTest(parameterized.TestCase):
  @parameterized.parameters(
    ("img0", "imagenet", (1, 2, 3, 4, 5)),
    ("img1", "imagenet", (1, 2, 3, 4, 5)),
    ("native", "any", (1, 3, 5)),
    ("small32", "any", (1, 2, 3, 4, 5)),
    ("cifar32", "cifar10", (1, 2, 3, 4, 5)),
    ("tiny64", "tiny_imagenet", (1, 2, 3, 4, 5)),
    ("gray", "any", (3,)),
  )
  def test_goldens(self, key, edition, severities):
    image = replays.picture(key)
    folder = shared_data.path("golden/corruptions/deterministic", key)
    for severity in severities:
      want = np.asarray(Image.open(folder / f"zoom_blur_{severity}.png"))
      if want.ndim == 2:
        want = want[..., None]
      got = corruptions.corrupt(
        image,
        "zoom_blur",
        severity,
        edition=edition,
        key=jax.random.key(0),
      )
      off = np.asarray(got).astype(int) - want
      self.assertLessEqual(np.abs(off).max(), 1)
      self.assertLess(np.abs(off).mean(), 1e-3)


if __name__ == "__main__":
  absltest.main()
