"""Lines of progress: seldom, with the time left, one at the end."""

import io
from unittest import mock

from absl.testing import absltest

from robust_tfds import step_lines


class ProgressTest(absltest.TestCase):
  def test_every_line(self):
    stream = io.StringIO()
    lines = step_lines.Progress(2, stream=stream, every_s=0)
    lines.step("run: a")
    lines.step("run: b")
    first, last = stream.getvalue().splitlines()
    self.assertRegex(first, r"^\[1/2\] \d+s elapsed  run: a$")
    self.assertRegex(last, r"^\[2/2\] \d+s elapsed, ETA 0s  run: b$")

  def test_the_first_one_compiles(self):
    """Ten seconds, then one each: eight are left of ten, eight seconds."""
    stream, clock = io.StringIO(), iter((0.0, 10.0, 11.0))
    with mock.patch.object(step_lines.time, "perf_counter", clock.__next__):
      lines = step_lines.Progress(10, stream=stream, every_s=0)
      lines.step("x")
      lines.step("x")
    last = stream.getvalue().splitlines()[-1]
    self.assertEqual(last, "[2/10] 11s elapsed, ETA 8s  x")

  def test_seldom(self):
    stream = io.StringIO()
    lines = step_lines.Progress(100, stream=stream, every_s=60)
    for _ in range(100):
      lines.step("x")
    self.assertLen(stream.getvalue().splitlines(), 1)
