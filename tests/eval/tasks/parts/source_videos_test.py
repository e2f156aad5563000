"""Videos of anchor sets."""

import numpy as np
from absl.testing import parameterized

from eval.tasks.parts import source_videos


class SourceVideosTest(parameterized.TestCase):
  @parameterized.parameters(
    (
      "ytbb_robust",
      ["a_b_1000/frame-30.jpg", "a_b_2000/frame-60.jpg", "c_1/frame-2.jpg"],
      ["a_b", "a_b", "c"],
    ),
    (
      "imagenet_vid_robust",
      ["val/ILSVRC2015_val_00000000/000442.JPEG", "val/x_1/000001.JPEG"],
      ["val/ILSVRC2015_val_00000000", "val/x_1"],
    ),
    ("ytbb_robust", ["of another name"], ["of another name"]),
    ("digits_vid_robust", ["a_1/frame-2.jpg"], ["a_1/frame-2.jpg"]),
  )
  def test_of(self, dataset, sets, want):
    got = source_videos.of(dataset, np.array(sets))
    self.assertEqual(got.tolist(), want)

  def test_of_none(self):
    self.assertEmpty(source_videos.of("ytbb_robust", np.array([], "U3")))
