"""A clip through one of FFmpeg's MPEG encoders and back, in memory."""

from __future__ import annotations

import numpy as np

_LAMBDA = 118  # FF_QP2LAMBDA: encoders count quantisers in these units
_LARGEST = 31  # the formats' largest quantiser; beyond it only decisions change
# ISO/IEC 13818-2 table 6-4: MPEG-2 writes no others. The rate enters the header
# and no pixel, so the nearest one serves every clip.
_MPEG2_FPS = (24000 / 1001, 24, 25, 30000 / 1001, 30, 50, 60000 / 1001, 60)


def roundtrip(
  video: np.ndarray, codec: str, container: str, quantiser: int, fps: float
) -> np.ndarray:
  """The clip as it comes back.

  Args:
    video: uint8 `[T, H, W, 3]`; odd sides are padded by their last row or column
      for the codec and cut again.
    codec: FFmpeg's name of the encoder.
    container: FFmpeg's name of the format.
    quantiser: what `-q:v` takes.
    fps: frames per second, positive; mpeg2video is told the nearest rate that
      it can write.

  Returns:
    uint8 `[T, H, W, 3]`.

  Raises:
    ImportError: PyAV is not installed.
    ValueError: the codec gave back another number of frames.
  """
  from robust_tfds import movies

  frames, height, width = video.shape[:3]
  even = np.pad(
    video, ((0, 0), (0, height % 2), (0, width % 2), (0, 0)), mode="edge"
  )
  weight = str(_LAMBDA * quantiser)
  if codec == "mpeg2video":
    fps = min(_MPEG2_FPS, key=lambda known: abs(known - fps))
  data = movies.encode(
    even,
    codec=codec,
    options={
      "qmin": "1",
      "qmax": str(_LARGEST),
      "lmin": weight,
      "lmax": weight,
      "i_qfactor": "1",  # `-q:v` is the same for key frames; else 0.8 of it
    },
    pixel_format="yuv420p",
    fps=fps,
    container=container,
  )
  back = movies.decode(data)
  if len(back) != frames:
    raise ValueError(
      f"{codec} gave back {len(back)} frames of {frames}; use another frame rate"
      f" than {fps}."
    )
  return back[:, :height, :width]
