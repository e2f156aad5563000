"""Limits are refused in words, and one variable raises all of them."""

import os
from unittest import mock

from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.reading import limits


class LimitsTest(parameterized.TestCase):
  def test_the_limit_is_named(self):
    with self.assertRaisesRegex(
      errors.UserError, "^a.json: 11 bytes.*10.*LIMI"
    ):
      limits.check(11, 10, "a.json", "bytes")

  def test_a_factor_raises_it(self):
    with mock.patch.dict(os.environ, {limits.VARIABLE: "1.5"}):
      limits.check(11, 10, "a.json", "bytes")

  def test_no_factor_raises_the_memory(self):
    with mock.patch.dict(os.environ, {limits.VARIABLE: "1000"}):
      limits.check_arrays(1 << 20, "a.npz")
      with self.assertRaisesRegex(
        errors.UserError, "^a.npz: .*bytes of memory"
      ):
        limits.check_arrays(1 << 45, "a.npz")

  @parameterized.parameters("0", "-1", "nan", "inf", "many", "")
  def test_other_factors_are_refused(self, text):
    with mock.patch.dict(os.environ, {limits.VARIABLE: text}):
      with self.assertRaisesRegex(errors.UserError, "positive number"):
        limits.check(1, 10, "a.json", "bytes")
