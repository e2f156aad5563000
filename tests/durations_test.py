"""Durations in words."""

from absl.testing import parameterized

from robust_tfds import durations


class TextTest(parameterized.TestCase):
  @parameterized.parameters(
    (-1, "0s"),
    (59.4, "59s"),
    (60, "1m00s"),
    (3599.6, "1h00m"),
    (86400, "1d0h"),
  )
  def test_text(self, seconds, text):
    self.assertEqual(durations.text(seconds), text)
