"""Rotations by nearest neighbours against Pillow's, bit for bit."""

import numpy as np
from absl.testing import parameterized
from PIL import Image

from robust_tfds.corruptions.ops import rotation


class RotationTest(parameterized.TestCase):
  @parameterized.parameters((24, 24), (17, 30))
  def test_is_pillows(self, height, width):
    angles = np.array([0, 7.5, 45, -33.3, 90, 180, 271])
    rng = np.random.default_rng(0)
    clip = rng.integers(1, 256, (len(angles), height, width, 3), np.uint8)
    got = rotation.rotate(clip, rotation.steps(angles, (height, width)))
    self.assertEqual((got.shape, got.dtype), (clip.shape, np.uint8))
    for pixels, frame, angle in zip(got, clip, angles, strict=True):
      # Pillow turns by multiples of 90 degrees without its walk.
      quarter = angle % 90 == 0 and (height == width or angle % 180 == 0)
      if quarter:
        expected = np.rot90(frame, int(angle) // 90)
      else:
        expected = np.asarray(Image.fromarray(frame).rotate(angle))
      np.testing.assert_array_equal(pixels, expected, err_msg=str(angle))

  def test_outside_is_black(self):
    clip = np.full((1, 20, 20, 3), 255, np.uint8)
    got = rotation.rotate(clip, rotation.steps(np.array([45.0]), (20, 20)))
    self.assertFalse(np.asarray(got)[0, 0, 0].any())
