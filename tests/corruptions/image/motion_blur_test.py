"""Motion blur against the reference's own runs."""

from absl.testing import absltest, parameterized

from robust_tfds.corruptions.ops import motion
from tests.corruptions import replays


def motion_draws(rng, image, severity, edition):
  del image, severity, edition
  return motion.direction(rng.uniform(-45, 45))


class ReplayTest(parameterized.TestCase):
  @parameterized.parameters(*replays.CELLS)
  def test_reference_draws(self, key, severity):
    replays.check(self, "motion_blur", key, severity, motion_draws)


if __name__ == "__main__":
  absltest.main()
