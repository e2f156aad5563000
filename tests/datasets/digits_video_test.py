"""Digits in motion: the motions, and the same files every time."""

import numpy as np
from absl.testing import absltest

from robust_tfds.datasets.digits_video import (
  digits_video_dataset_builder as own,
)


class DigitsVideoTest(absltest.TestCase):
  def test_motions(self):
    def centre(frame):
      far = np.abs(frame.astype(float) - frame[0, 0]).sum(-1)
      y, x = np.mgrid[0 : own.SIDE_PX, 0 : own.SIDE_PX]
      return (far * x).sum() / far.sum(), (far * y).sum() / far.sum(), far.sum()

    for number, name in enumerate(own.CLASSES):
      video = own.draw("test", number)
      self.assertEqual(video.shape, (16, 48, 48, 3))
      first, last = centre(video[0]), centre(video[-1])
      along = {"left": (0, -1), "right": (0, 1), "up": (1, -1), "down": (1, 1)}
      if name in along:
        axis, sign = along[name]
        self.assertGreater(sign * (last[axis] - first[axis]), 3, name)
      if name in ("growing", "shrinking"):
        self.assertEqual(last[2] > first[2], name == "growing")

  def test_the_same_file_every_time(self):
    self.assertEqual(
      own.Encoded("test", 5).data(), own.Encoded("test", 5).data()
    )
    self.assertNotEqual(
      own.Encoded("test", 5).data(), own.Encoded("train", 5).data()
    )
