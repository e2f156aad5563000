"""Video files in memory: frames to bytes, through PyAV; back: `reading.videos`.

Frames are uint8 `[T, H, W, 3]`, RGB, 0..255. Encoding runs on one thread, so
that equal frames give equal bytes on any number of cores. PyAV is the extra
`video`; it brings its own FFmpeg and x264.
"""

from __future__ import annotations

import fractions
import io
import platform
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from robust_tfds import errors
from robust_tfds.reading import videos

# x264's settings of the published ImageNet-P (docs/evidence/specs/imagenet_p.md section
# 3): noise is kept by `tune grain` at x264's own CRF of 23, all else has CRF
# 20.
X264_NOISE = {"preset": "veryslow", "tune": "grain"}
X264_SMOOTH = {"preset": "veryslow", "crf": "20"}


def encode(
  frames: np.ndarray | Iterable[np.ndarray],
  *,
  codec: str = "libx264",
  options: Mapping[str, str] = X264_SMOOTH,
  pixel_format: str = "yuv444p",
  fps: float = 1,
  container: str = "mp4",
  qscale: int | None = None,
) -> bytes:
  """Encode frames as the bytes of a video file.

  Args:
    frames: uint8 `[T, H, W, 3]`, or an iterable of `[H, W, 3]`, at least one.
    codec: FFmpeg's name of the encoder.
    options: the encoder's own options.
    pixel_format: what the encoder gets; RGB becomes BT.601, limited range.
    fps: frames per second.
    container: FFmpeg's name of the format.
    qscale: fixed quantiser of the MPEG encoders (`-q:v`), 1..69.

  Raises:
    UserError: PyAV is not installed.
    UserError: no frames, frames of another dtype or shape, an unknown codec,
      or a size that the pixel format cannot hold.
  """
  encoder = Encoder(
    codec=codec,
    options=options,
    pixel_format=pixel_format,
    fps=fps,
    container=container,
    qscale=qscale,
  )
  with encoder:
    for pixels in frames:
      encoder.add(pixels)
    return encoder.finish()


class Encoder:
  """`encode` for frames that come one by one."""

  def __init__(
    self,
    *,
    codec: str,
    options: Mapping[str, str],
    pixel_format: str,
    fps: float,
    container: str,
    qscale: int | None = None,
  ):
    """Encode frames, see `encode`."""
    self._av = videos.pyav()
    self._codec, self._pixel_format, self._fps = codec, pixel_format, fps
    self._options = {**_repeatable(codec), **options, **_quantiser(qscale)}
    self._out = io.BytesIO()
    self._target = self._av.open(self._out, "w", format=container)
    self._stream: Any = None
    self._size: tuple[int, int] = (0, 0)
    self._count = 0

  def __enter__(self) -> Encoder:
    """Return the encoder, which is open already."""
    return self

  def __exit__(self, *error: Any) -> None:
    """Close the file."""
    self._target.close()

  def add(self, pixels: np.ndarray) -> None:
    """Add the next frame: uint8 `[H, W, 3]`.

    Raises:
      UserError: as `encode`.
    """
    _check_frame(pixels, self._count)
    if self._stream is None:
      self._size = pixels.shape[:2]
      self._stream = _stream(
        self._av,
        self._target,
        self._codec,
        self._size,
        self._fps,
        self._pixel_format,
        self._options,
      )
    elif pixels.shape[:2] != self._size:
      raise errors.UserError(
        f"Frame {self._count} is {pixels.shape[:2]}, the first {self._size}; the"
        " frames of a video have one size."
      )
    frame = self._av.VideoFrame.from_ndarray(pixels, format="rgb24")
    frame = frame.reformat(format=self._pixel_format)
    self._target.mux(self._stream.encode(frame))
    self._count += 1

  def finish(self) -> bytes:
    """Return the file's bytes; raise UserError if there was no frame."""
    if self._stream is None:
      raise errors.UserError("A video needs at least one frame, got none.")
    self._target.mux(self._stream.encode())
    self._target.close()
    return self._out.getvalue()


def _stream(
  av: Any,
  target: Any,
  codec: str,
  size: tuple[int, int],
  fps: float,
  pixel_format: str,
  options: Mapping[str, str],
) -> Any:
  try:
    stream = target.add_stream(codec, rate=_rational(fps))
  except (av.error.FFmpegError, ValueError) as e:
    raise errors.UserError(
      f"This FFmpeg has no encoder {codec!r} ({e})."
    ) from e
  if pixel_format == "yuv420p" and (size[0] % 2 or size[1] % 2):
    raise errors.UserError(
      f"yuv420p needs even sides, got {size}; pad the frames, or use yuv444p."
    )
  stream.height, stream.width = size
  stream.pix_fmt = pixel_format
  stream.options = dict(options)
  stream.codec_context.thread_count = 1
  return stream


def _repeatable(codec: str) -> dict[str, str]:
  """Keep x264 from its AVX-512 code, whose results differ from run to run.

  Measured with x264 core 165: ten encodings of one sequence gave three
  different files; without AVX-512 one, the same as of its plain C code.
  """
  if codec != "libx264" or platform.machine() not in ("x86_64", "AMD64"):
    return {}
  return {"x264-params": "asm=MMX2,SSE2Fast,SSSE3,SSE4.2"}


def _quantiser(qscale: int | None) -> dict[str, str]:
  """Return options for a constant quantiser (FFmpeg's `-q:v`, which PyAV lacks)."""
  return {} if qscale is None else {"qmin": f"{qscale}", "qmax": f"{qscale}"}


def _rational(fps: float) -> fractions.Fraction:
  return fractions.Fraction(fps).limit_denominator(1001)


def _check_frame(pixels: Any, index: int) -> None:
  shape, dtype = np.shape(pixels), getattr(pixels, "dtype", None)
  if dtype != np.uint8 or len(shape) != 3 or shape[2] != 3:
    raise errors.UserError(
      f"Frame {index}: uint8 [H, W, 3] expected, got {dtype} {list(shape)}."
    )
