"""The clip that perturbations are shown on."""

import numpy as np
from absl.testing import absltest

from eval.report.figures.parts import own_clip


class OwnClipTest(absltest.TestCase):
  def test_it_moves_and_is_the_same_every_time(self):
    clip = own_clip.frames(5, 32)
    self.assertEqual((clip.shape, clip.dtype), ((5, 32, 32, 3), np.uint8))
    np.testing.assert_array_equal(clip, own_clip.frames(5, 32))
    for one, next_one in zip(clip, clip[1:]):
      self.assertGreater(np.abs(one.astype(int) - next_one).mean(), 1)

  def test_one_frame(self):
    self.assertLen(own_clip.frames(1), 1)
