"""Progress lines."""

import io
from unittest import mock

from absl.testing import absltest

from robust_tfds.eval.run import progress


class ProgressTest(absltest.TestCase):
  def test_line_counts_cells_rate_and_time_left(self):
    out = io.StringIO()
    p = progress.Progress(10, 4, 600, stream=out)
    p.images(100, "fog_3")
    p.cells(2, "fog_3: m error 0.5")
    self.assertRegex(
      out.getvalue(),
      r"^\[ 6/10\] +[\d,]+ images/s +\d+s elapsed  ETA +\?  fog_3: m",
    )

  def test_quiet_hosts_say_nothing(self):
    out = io.StringIO()
    progress.Progress(1, 0, 5, stream=out, quiet=True).cells(1, "x")
    self.assertEqual(out.getvalue(), "")

  def test_time_left_follows_the_seconds_since_the_last_compilation(self):
    with mock.patch.object(progress.time, "perf_counter") as clock:
      clock.return_value = 100.0
      p = progress.Progress(10, 0, 1000, stream=io.StringIO())
      p.less(400)  # an earlier start's parts
      clock.return_value = 150.0
      p.images(100, "fog_3")  # 50 s, most of them compiling
      self.assertIsNone(p.left_s())
      p.steady()
      clock.return_value = 160.0
      p.images(20, "fog_3")  # 0.5 s each
      self.assertAlmostEqual(p.left_s(), 480 * 0.5)
      p.steady()  # another shape: the former rate holds until there is one
      clock.return_value = 200.0
      self.assertAlmostEqual(p.left_s(), 480 * 0.5)
      p.images(480, "fog_3")
      self.assertEqual(p.left_s(), 0)
      p.cells(2, "fog_3", seconds=6.0)
      self.assertAlmostEqual(p.left_s(), 8 * 3.0)

  def test_nothing_is_left_where_parts_hold_all(self):
    p = progress.Progress(2, 0, 10, stream=io.StringIO())
    p.less(10)
    self.assertEqual(p.left_s(), 0.0)
