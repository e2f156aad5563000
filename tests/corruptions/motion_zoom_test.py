"""Motion and zoom blur against the reference's own runs."""

from absl.testing import absltest
from absl.testing import parameterized

from robust_tfds.corruptions.ops import motion
from tests.corruptions import replays


def motion_draws(rng, image, severity, edition):
  del image, severity, edition
  return motion.direction(rng.uniform(-45, 45))


DRAWS = {"motion_blur": motion_draws}


class ReplayTest(parameterized.TestCase):
  @parameterized.product(name=tuple(DRAWS), cell=replays.CELLS)
  def test_reference_draws(self, name, cell):
    replays.check(self, name, *cell, DRAWS[name])


if __name__ == "__main__":
  absltest.main()
