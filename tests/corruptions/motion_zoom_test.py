"""Motion, glass and zoom blur against the reference's own runs."""

import jax
import numpy as np
from absl.testing import absltest
from absl.testing import parameterized
from PIL import Image

from robust_tfds import corruptions
from robust_tfds.corruptions.image import glass_blur
from robust_tfds.corruptions.ops import motion
from tests import shared_data
from tests.corruptions import replays


def motion_draws(rng, image, severity, edition):
  del image, severity, edition
  return motion.direction(rng.uniform(-45, 45))


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


DRAWS = {"glass_blur": glass_draws, "motion_blur": motion_draws}


class ReplayTest(parameterized.TestCase):
  @parameterized.product(name=tuple(DRAWS), cell=replays.CELLS)
  def test_reference_draws(self, name, cell):
    replays.check(self, name, *cell, DRAWS[name])


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
