"""What transforms refuse, in words."""

import numpy as np
from absl.testing import absltest

from models.training.transforms import checks
from robust_tfds import errors


class ChecksTest(absltest.TestCase):
  def test_sides_are_bounded(self):
    large = np.zeros((1, 2, checks.LARGEST_PX + 1, 3), np.uint8)
    with self.assertRaisesRegex(errors.UserError, "2048 px, got 2x2049"):
      checks.pictures(large, np.zeros((1, 2), np.uint32))

  def test_numbers(self):
    for two in (2, 2.0, np.float32(2), np.int64(2)):
      self.assertEqual(checks.number("alpha", two, 0), 2.0)
    for value in (0, -1, "1", True, float("nan"), 11, None):
      with self.assertRaisesRegex(errors.UserError, "alpha must be a number"):
        checks.number("alpha", value, 0, 10)
    with self.assertRaisesRegex(errors.UserError, "got inf"):
      checks.number("alpha", float("inf"), 0)

  def test_switches(self):
    self.assertTrue(checks.switch("overlap", np.True_))
    for value in ("False", 0, None):
      with self.assertRaisesRegex(errors.UserError, "must be True or False"):
        checks.switch("overlap", value)

  def test_whole_numbers(self):
    self.assertEqual(checks.whole_number("width", np.int64(3), range(1, 4)), 3)
    for value in (0, 4, 1.0, True, "1"):
      with self.assertRaisesRegex(errors.UserError, "width must be a whole"):
        checks.whole_number("width", value, range(1, 4))
