"""Strings of TFDS's examples."""

import numpy as np
from absl.testing import parameterized

from robust_tfds import strings


class TextTest(parameterized.TestCase):
  @parameterized.parameters(
    "naïve", b"na\xc3\xafve", np.bytes_(b"na\xc3\xafve")
  )
  def test_text(self, value):
    self.assertEqual(strings.text(value), "naïve")
