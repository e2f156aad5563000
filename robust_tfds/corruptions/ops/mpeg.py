"""Clips encoded and decoded again by one of FFmpeg's MPEG encoders, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from robust_tfds import errors

_LAMBDA = 118  # FF_QP2LAMBDA: encoder options have quantisers in this unit
# The largest quantiser of the formats; a larger `-q:v` only changes mode decisions.
_MAX_QUANTISER = 31
# ISO/IEC 13818-2 table 6-4: the rates that MPEG-2 can write. The rate is in the
# header only and changes no pixel, so the nearest one serves every clip.
_MPEG2_FPS = (24000 / 1001, 24, 25, 30000 / 1001, 30, 50, 60000 / 1001, 60)


def roundtrip(
  video: np.ndarray, codec: str, container: str, quantiser: int, fps: float
) -> np.ndarray:
  """Encode and decode a clip.

  Args:
    video: uint8 `[T, H, W, 3]`; odd sides are padded for the codec by repeating
      the last row or column, and cropped afterwards.
    codec: FFmpeg's name of the encoder.
    container: FFmpeg's name of the format.
    quantiser: value of `-q:v`.
    fps: frames per second, positive; mpeg2video gets the nearest rate that it
      can write.

  Returns:
    uint8 `[T, H, W, 3]`.

  Raises:
    ImportError: PyAV is not installed.
    UserError: the codec returned another number of frames.
  """
  decoded = list(stream(video, codec, container, quantiser, fps))
  if len(decoded) != len(video):
    raise errors.UserError(
      f"{codec} returned {len(decoded)} frames, expected {len(video)}. Use another"
      f" frame rate than {fps}."
    )
  return np.stack(decoded)


def stream(
  frames: Iterable[np.ndarray],
  codec: str,
  container: str,
  quantiser: int,
  fps: float,
) -> Iterator[np.ndarray]:
  """Apply `roundtrip` frame by frame: only the encoded video is held in memory.

  Args:
    frames: each uint8 `[H, W, 3]`.
    codec: FFmpeg's name of the encoder.
    container: FFmpeg's name of the format.
    quantiser: value of `-q:v`.
    fps: frames per second.
  """
  from robust_tfds.reading import videos as video_files

  with Encoder(codec, container, quantiser, fps) as encoder:
    shape: tuple[int, int] = (0, 0)
    for frame in frames:
      shape = frame.shape[:2]
      encoder.add(frame)
    data = encoder.finish()
  for frame in video_files.iterate(data):
    yield frame[: shape[0], : shape[1]]


class Encoder:
  """An encoder of a clip, frame by frame."""

  def __init__(self, codec: str, container: str, quantiser: int, fps: float):
    """Create the encoder, see `roundtrip`."""
    from robust_tfds import movies

    weight = str(_LAMBDA * quantiser)
    if codec == "mpeg2video":
      fps = min(_MPEG2_FPS, key=lambda known: abs(known - fps))
    self._encoder = movies.Encoder(
      codec=codec,
      options={
        "qmin": "1",
        "qmax": str(_MAX_QUANTISER),
        "lmin": weight,
        "lmax": weight,
        "i_qfactor": "1",  # key frames get `-q:v` too, by default 0.8 of it
      },
      pixel_format="yuv420p",
      fps=fps,
      container=container,
    )

  def __enter__(self) -> Encoder:
    """Return the encoder itself."""
    return self

  def __exit__(self, *error: Any) -> None:
    """Release the encoder."""
    self._encoder.__exit__(*error)

  def add(self, frame: np.ndarray) -> None:
    """Add the next frame: uint8 `[H, W, 3]`."""
    height, width = frame.shape[:2]
    margin = ((0, height % 2), (0, width % 2), (0, 0))
    self._encoder.add(np.pad(frame, margin, mode="edge"))

  def finish(self) -> bytes:
    """Return the encoded clip; `frames_at` decodes it."""
    return self._encoder.finish()


def frames_at(
  data: bytes, count: int, shape: tuple[int, int], numbers: Sequence[int]
) -> np.ndarray:
  """Decode some frames of an encoded clip: uint8 `[len(numbers), H, W, 3]`.

  Args:
    data: result of `Encoder.finish`.
    count: number of encoded frames.
    shape: (height, width) of the frames.
    numbers: numbers of the frames, ascending.

  Raises:
    UserError: the codec returned another number of frames.
  """
  from robust_tfds.reading import videos as video_files

  def choose(decoded: int) -> Sequence[int]:
    if decoded != count:
      raise errors.UserError(
        f"The codec returned {decoded} frames, expected {count}."
      )
    return numbers

  height, width = shape
  frames = video_files.frames_at(data, choose)
  return np.stack([frame[:height, :width] for _, frame in frames])
