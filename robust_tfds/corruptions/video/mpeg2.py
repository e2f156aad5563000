"""The benchmark's "MPEG2": FFmpeg's mpeg4 at -q:v 15 s.

docs/specs/video.md section 1: the only released recipe ("codec2") calls it so
although the encoder is MPEG-4 part 2. Quantisers above 31 change little. A
codec: on the host.
"""

from robust_tfds.corruptions.ops import mpeg

_QUANTISER = 15  # times the severity


def whole(video, severity, fps):
  """The clip through the codec: uint8 `[T, H, W, 3]`."""
  return mpeg.roundtrip(video, "mpeg4", "avi", _QUANTISER * severity, fps)


def streamed(frames, severity, fps):
  """`whole` of frames one by one."""
  return mpeg.stream(frames, "mpeg4", "avi", _QUANTISER * severity, fps)
