"""The benchmark's "MPEG1": FFmpeg's mpeg2video at -q:v 20 s.

docs/specs/video.md section 1: the only released recipe ("codec1") calls it so
although the encoder is MPEG-2. Quantisers above 31 change little. A codec: on
the host.
"""

from robust_tfds.corruptions.ops import mpeg

_QUANTISER = 20  # times the severity


def whole(video, severity, fps):
  """The clip through the codec: uint8 `[T, H, W, 3]`."""
  return mpeg.roundtrip(video, "mpeg2video", "vob", _QUANTISER * severity, fps)


def streamed(frames, severity, fps):
  """`whole` of frames one by one."""
  return mpeg.stream(frames, "mpeg2video", "vob", _QUANTISER * severity, fps)
