"""Progress lines."""

import io

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
      r"^\[ 6/10\] +[\d,]+ images/s +\d+s elapsed  ETA +\d+s  fog_3: m",
    )

  def test_quiet_hosts_say_nothing(self):
    out = io.StringIO()
    progress.Progress(1, 0, 5, stream=out, quiet=True).cells(1, "x")
    self.assertEqual(out.getvalue(), "")


if __name__ == "__main__":
  absltest.main()
