"""Figure 6: means of the printed lines, against the derived ones at hand."""

import pathlib

from absl.testing import absltest

from tests.eval.report.figures import lines


class Figure6Test(absltest.TestCase):
  def test_means(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    got = lines.of("schiappa_f6", folder)
    self.assertLen(got, 2 * 11 * 3 * 2)
    (line,) = [
      x
      for x in got
      if (x["dataset"], x["network"], x["training"])
      == ("ucf101_p", "R3D", "scratch")
      and (x["kind"], x["measure"]) == ("temporal", "gamma_r")
    ]
    # .90 .90 .94 .96 .91 of Table 6.
    self.assertAlmostEqual(float(line["mean"]), 0.922, places=9)


if __name__ == "__main__":
  absltest.main()
