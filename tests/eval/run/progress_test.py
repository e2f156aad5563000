"""Progress lines."""

import io
import os
from unittest import mock

from absl.testing import absltest

from eval.run.execution import progress


class ProgressTest(absltest.TestCase):
  def test_line_counts_cells_rate_and_time_left(self):
    out = io.StringIO()
    p = progress.Progress(10, 4, {"fog_3": 600}, stream=out)
    p.images(100, "fog_3")
    p.cells(2, "fog_3: m error 0.5")
    self.assertRegex(
      out.getvalue(),
      r"^\[ 6/10\] +[\d,]+ images/s +\d+s elapsed  ETA +\?  fog_3: m",
    )

  def test_quiet_hosts_say_nothing(self):
    out = io.StringIO()
    progress.Progress(1, 0, {"x": 5}, stream=out, quiet=True).cells(1, "x")
    self.assertEqual(out.getvalue(), "")

  def test_time_left_is_told_from_the_first_batch(self):
    with mock.patch.object(progress.time, "perf_counter") as clock:
      clock.return_value = 100.0
      p = progress.Progress(10, 0, {"fog_3": 1000}, stream=io.StringIO())
      p.less(400)  # an earlier start's parts
      clock.return_value = 150.0  # models were loaded
      p.programs(10)
      self.assertIsNone(p.left_s())
      clock.return_value = 160.0
      p.compiled(9.0)
      p.images(20, "fog_3")  # in the one second that compiling left
      self.assertAlmostEqual(p.left_s(), 580 / 20 + 9 * 9.0)
      clock.return_value = 165.0
      p.compiled(1.0)
      p.images(20, "fog_3")
      self.assertAlmostEqual(p.left_s(), 560 * 5 / 40 + 8 * 5.0)
      p.cells(2, "fog_3", seconds=6.0)
      self.assertAlmostEqual(p.left_s(), 560 * 5 / 40 + 8 * 5.0 + 8 * 3.0)
      p.images(560, "fog_3")
      self.assertEqual(p.left_s(), 8 * 3.0)

  def test_a_terminal_has_a_bar_and_whole_lines(self):
    class Terminal(io.StringIO):
      def isatty(self) -> bool:
        return True

    out = Terminal()
    with mock.patch.dict(os.environ, {"TERM": "xterm", "COLUMNS": "120"}):
      with progress.Progress(10, 4, {"fog_3": 600}, stream=out) as p:
        p.programs(1)
        p.images(300, "fog_3")
        p.cells(2, f"fog_3: m error 0.5 {'x' * 80}")
      p.note("after")
    shown = out.getvalue()
    self.assertRegex(shown, r"\[ 6/10\].*fog_3: m error 0.5 x{80}\n")
    self.assertIn("50%", shown)
    self.assertEndsWith(shown, "after\n")
    self.assertIn("\x1b[?25h", shown)  # the cursor is there again
