"""Types of frames and rates, as the encoder was told to write them."""

import numpy as np
import pytest
from absl.testing import absltest

from robust_tfds import movies
from robust_tfds.building.sources import stream
from robust_tfds.reading import videos as video_files

pytest.importorskip("av", reason="the extra `video`")


def _video(**options) -> bytes:
  frames = np.zeros((9, 32, 32, 3), np.uint8)
  frames += 20 * np.arange(9, dtype=np.uint8)[:, None, None, None]
  return movies.encode(frames, fps=30000 / 1001, options=options)


class StreamTest(absltest.TestCase):
  def test_whole_frames(self):
    kinds, fps = stream.facts(_video(g="1"))
    self.assertEqual(kinds, "I" * 9)
    self.assertAlmostEqual(fps, 30000 / 1001, places=3)

  def test_predicted_frames_in_the_order_of_display(self):
    kinds, _ = stream.facts(_video(g="3", bf="0", sc_threshold="0"))
    self.assertEqual(kinds, "IPPIPPIPP")

  def test_refuses_what_is_no_video(self):
    with self.assertRaisesRegex(video_files.BrokenVideoError, "cannot be read"):
      stream.facts(b"nothing")
    with self.assertRaises(FileNotFoundError):
      stream.facts("/nowhere/a.mp4")
