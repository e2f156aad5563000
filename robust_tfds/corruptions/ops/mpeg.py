"""A clip through one of FFmpeg's MPEG encoders and back, in memory."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator

import numpy as np

from robust_tfds import errors

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
  back = list(stream(video, codec, container, quantiser, fps))
  if len(back) != len(video):
    raise errors.UserError(
      f"{codec} gave back {len(back)} frames of {len(video)}; use another frame"
      f" rate than {fps}."
    )
  return np.stack(back)


def stream(
  frames: Iterable[np.ndarray],
  codec: str,
  container: str,
  quantiser: int,
  fps: float,
) -> Iterator[np.ndarray]:
  """`roundtrip` of frames one by one: holds the encoded video, not the frames.

  Args:
    frames: each uint8 `[H, W, 3]`.
    codec: as in `roundtrip`, and so the others.
    container: FFmpeg's name of the format.
    quantiser: what `-q:v` takes.
    fps: frames per second.
  """
  from robust_tfds import movies
  from robust_tfds.reading import videos as video_files

  shape: list[int] = []

  def even() -> Iterator[np.ndarray]:
    for frame in frames:
      shape[:] = frame.shape[:2]
      margin = ((0, shape[0] % 2), (0, shape[1] % 2), (0, 0))
      yield np.pad(frame, margin, mode="edge")

  weight = str(_LAMBDA * quantiser)
  if codec == "mpeg2video":
    fps = min(_MPEG2_FPS, key=lambda known: abs(known - fps))
  data = movies.encode(
    even(),
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
  for frame in video_files.iterate(data):
    yield frame[: shape[0], : shape[1]]
