"""Lines of progress: seldom, with the time left, one at the end."""

import io

from absl.testing import absltest

from robust_tfds import step_lines


class ProgressTest(absltest.TestCase):
  def test_every_line(self):
    stream = io.StringIO()
    lines = step_lines.Progress(2, stream=stream, every_s=0)
    lines.step("run: a")
    lines.step("run: b")
    first, last = stream.getvalue().splitlines()
    self.assertRegex(first, r"^\[1/2\] \d+s elapsed, ETA \d+s  run: a$")
    self.assertRegex(last, r"^\[2/2\] \d+s elapsed, ETA 0s  run: b$")

  def test_seldom(self):
    stream = io.StringIO()
    lines = step_lines.Progress(100, stream=stream, every_s=60)
    for _ in range(100):
      lines.step("x")
    self.assertLen(stream.getvalue().splitlines(), 1)
