"""Figure 3: every printed point, and ours."""

import pathlib

from absl.testing import absltest

from robust_tfds.eval import papers
from tests.eval.report.figures import boards, lines


class Figure3Test(absltest.TestCase):
  def test_points(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    got = lines.of("shankar_f3", folder, boards.request("frames"))
    points = {x["model"]: (float(x["pm-0"]), float(x["pm-10"])) for x in got}
    self.assertLen(points, 335 + 45 + 2)
    for name, point in papers.testbed("imagenet_vid_robust").items():
      self.assertEqual(points[name], point)
    self.assertEqual(points["resnet152_finetuned, printed"], (0.848, 0.702))


if __name__ == "__main__":
  absltest.main()
