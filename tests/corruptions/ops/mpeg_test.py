"""Clips through FFmpeg's MPEG encoders: near, of their size, of their number."""

from unittest import mock

import numpy as np
import pytest
from absl.testing import parameterized

from robust_tfds.corruptions.ops import mpeg

pytest.importorskip("av", reason="the extra `video`")


def _clip(frames: int, height: int, width: int) -> np.ndarray:
  """A bright square that moves over a gradient."""
  y, x = np.mgrid[:height, :width]
  picture = np.stack([3 * x, 3 * y, 2 * (x + y)], axis=-1) + 30
  clip = np.repeat(picture[None], frames, axis=0).astype(np.uint8)
  for i, frame in enumerate(clip):
    frame[8:20, 4 + 3 * i : 16 + 3 * i] = 230
  return clip


class MpegTest(parameterized.TestCase):
  @parameterized.parameters(("mpeg2video", "avi", 12.3), ("mpeg4", "avi", 25.0))
  def test_worse_with_larger_quantisers(self, codec, container, fps):
    clip = _clip(5, 33, 47)
    worst = 0.0
    for quantiser in (2, 40):
      got = mpeg.roundtrip(clip, codec, container, quantiser, fps)
      self.assertEqual((got.shape, got.dtype), (clip.shape, np.uint8))
      error = np.abs(got.astype(int) - clip).mean()
      self.assertGreater(error, worst)
      self.assertLess(error, 40)
      worst = error

  def test_another_number_of_frames_is_refused(self):
    clip = _clip(3, 32, 32)
    with mock.patch.object(mpeg, "stream", return_value=iter(clip[:2])):
      with self.assertRaisesRegex(ValueError, "returned 2 frames, expected 3"):
        mpeg.roundtrip(clip, "mpeg4", "avi", 2, 25)
