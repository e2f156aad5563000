"""Video containers in memory: frames to bytes and back, through PyAV.

Frames are uint8 `[T, H, W, 3]`, RGB, 0..255. Encoding runs on one thread, so
that equal frames give equal bytes on any number of cores. PyAV is the extra
`video`; it brings its own FFmpeg and x264.
"""

from __future__ import annotations

import contextlib
import io
import os
import platform
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

import numpy as np

# x264's settings of the published ImageNet-P (docs/specs/imagenet_p.md section
# 3): noise is kept by `tune grain` at x264's own CRF of 23, all else has CRF
# 20.
X264_NOISE = {"preset": "veryslow", "tune": "grain"}
X264_SMOOTH = {"preset": "veryslow", "crf": "20"}


class BrokenVideoError(ValueError):
  """A video that cannot be read, or holds other frames than it should."""


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
  """Frames as the bytes of a video file.

  Args:
    frames: uint8 `[T, H, W, 3]`, or an iterable of `[H, W, 3]`, at least one.
    codec: FFmpeg's name of the encoder.
    options: the encoder's own options.
    pixel_format: what the encoder gets; RGB becomes BT.601, limited range.
    fps: frames per second.
    container: FFmpeg's name of the format.
    qscale: fixed quantiser of the MPEG encoders (`-q:v`), 1..69.

  Raises:
    ImportError: PyAV is not installed.
    ValueError: no frames, frames of another dtype or shape, an unknown codec,
      or a size that the pixel format cannot hold.
  """
  av = _av()
  out = io.BytesIO()
  stream = None
  with av.open(out, "w", format=container) as target:
    for index, pixels in enumerate(frames):
      _check_frame(pixels, index)
      if stream is None:
        size = pixels.shape[:2]
        settings = {**_repeatable(codec), **options, **_quantiser(qscale)}
        stream = _stream(av, target, codec, size, fps, pixel_format, settings)
      elif pixels.shape[:2] != size:
        raise ValueError(
          f"Frame {index} is {pixels.shape[:2]}, the first {size}; the frames of"
          " a video have one size."
        )
      frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
      target.mux(stream.encode(frame.reformat(format=pixel_format)))
    if stream is None:
      raise ValueError("A video needs at least one frame, got none.")
    target.mux(stream.encode())
  return out.getvalue()


def decode(video: bytes | str | os.PathLike) -> np.ndarray:
  """All frames of a video: uint8 `[T, H, W, 3]`, in the order of display.

  Raises:
    ImportError: PyAV is not installed.
    BrokenVideoError: not a video, no picture in it, or cut off.
    FileNotFoundError: no such file.
  """
  frames = list(iterate(video))
  if not frames:
    raise _no_frames(video)
  return np.stack(frames)


def iterate(video: bytes | str | os.PathLike) -> Iterator[np.ndarray]:
  """The frames of `decode`, one by one, without keeping them.

  A turn that the file asks players for (phones held upright) is carried out.
  """
  for frame in _decoded(video):
    yield _pixels(frame)


def chosen(
  video: bytes | str | os.PathLike,
  choose: Callable[[int], Iterable[int]],
  held_bytes: int = 64 << 20,
) -> Iterator[tuple[int, np.ndarray]]:
  """Some frames of a video; only these are brought to RGB.

  Which ones may depend on how many there are: files do not say that reliably,
  so all are decoded. Short videos are decoded once and held as the codec left
  them; longer ones twice, the second time up to the last frame wanted.

  Args:
    video: the file.
    choose: number of frames -> the numbers wanted, each once, in any order.
    held_bytes: most that is held.

  Yields:
    (number, uint8 `[H, W, 3]`) by increasing number.

  Raises:
    BrokenVideoError: as `decode`.
    ValueError: a number that is not there.
  """
  held: list[Any] | None = []
  count = size = 0
  for frame in _decoded(video):
    count += 1
    size += sum(plane.buffer_size for plane in frame.planes)
    if held is not None and size <= held_bytes:
      held.append(frame)
    else:
      held = None
  if not count:
    raise _no_frames(video)
  wanted = sorted(choose(count))
  if wanted and not 0 <= wanted[0] <= wanted[-1] < count:
    raise ValueError(
      f"Frames {wanted[0]}..{wanted[-1]} asked for, {_named(video)} has {count}."
    )
  if held is not None:
    yield from ((number, _pixels(held[number])) for number in wanted)
    return
  left = set(wanted)
  for number, frame in enumerate(_decoded(video)):
    if not left:
      return
    if number in left:
      left.remove(number)
      yield number, _pixels(frame)


def _decoded(video: bytes | str | os.PathLike) -> Iterator[Any]:
  """PyAV's frames, in the order of display."""
  with _opened(video) as opened:
    yield from opened.decode(opened.streams.video[0])


def _pixels(frame: Any) -> np.ndarray:
  """RGB, turned as the file asks players to."""
  turns = round((getattr(frame, "rotation", 0) or 0) / 90) % 4
  pixels = frame.to_ndarray(format="rgb24")
  return np.ascontiguousarray(np.rot90(pixels, turns)) if turns else pixels


def _no_frames(video: bytes | str | os.PathLike) -> BrokenVideoError:
  return BrokenVideoError(f"{_named(video)} holds no frames. Replace it.")


def frame_rate(video: bytes | str | os.PathLike) -> float:
  """Frames per second that a video's file gives, on average.

  Raises:
    ImportError: PyAV is not installed.
    BrokenVideoError: not a video, no picture in it, or no rate.
  """
  with _opened(video) as opened:
    stream = opened.streams.video[0]
    rate = stream.average_rate or stream.guessed_rate
  if not rate:
    raise BrokenVideoError(
      f"{_named(video)} says no frame rate. Encode it anew."
    )
  return float(rate)


@contextlib.contextmanager
def _opened(video: bytes | str | os.PathLike) -> Iterator[Any]:
  """A container with at least one picture stream."""
  av = _av()
  if not isinstance(video, bytes) and not os.path.exists(video):
    raise FileNotFoundError(f"No video at {os.fspath(video)}.")
  source: Any = (
    io.BytesIO(video) if isinstance(video, bytes) else os.fspath(video)
  )
  try:
    with av.open(source, "r") as opened:
      if not opened.streams.video:
        raise BrokenVideoError(
          f"{_named(video)} has no picture, only"
          f" {[s.type for s in opened.streams]}. Replace it."
        )
      yield opened
  except av.error.FFmpegError as e:
    raise BrokenVideoError(
      f"{_named(video)} cannot be read as a video ({e}). Is it cut off, or in a"
      " codec that this FFmpeg does not know?"
    ) from e


def _stream(av, target, codec, size, fps, pixel_format, options):
  try:
    stream = target.add_stream(codec, rate=_rational(fps))
  except av.error.FFmpegError as e:
    raise ValueError(f"This FFmpeg has no encoder {codec!r} ({e}).") from e
  except ValueError as e:
    raise ValueError(f"This FFmpeg has no encoder {codec!r} ({e}).") from e
  if pixel_format == "yuv420p" and (size[0] % 2 or size[1] % 2):
    raise ValueError(
      f"yuv420p needs even sides, got {size}; pad the frames, or use yuv444p."
    )
  stream.height, stream.width = size
  stream.pix_fmt = pixel_format
  stream.options = dict(options)
  stream.codec_context.thread_count = 1
  return stream


def _repeatable(codec: str) -> dict[str, str]:
  """Keeps x264 from its AVX-512 code, whose results differ from run to run.

  Measured with x264 core 165: ten encodings of one sequence gave three
  different files; without AVX-512 one, the same as of its plain C code.
  """
  if codec != "libx264" or platform.machine() not in ("x86_64", "AMD64"):
    return {}
  return {"x264-params": "asm=MMX2,SSE2Fast,SSSE3,SSE4.2"}


def _quantiser(qscale: int | None) -> dict[str, str]:
  """A constant quantiser, as FFmpeg's `-q:v` gives; PyAV cannot set that one."""
  return {} if qscale is None else {"qmin": f"{qscale}", "qmax": f"{qscale}"}


def _rational(fps: float):
  import fractions

  return fractions.Fraction(fps).limit_denominator(1001)


def _check_frame(pixels: Any, index: int) -> None:
  shape, dtype = np.shape(pixels), getattr(pixels, "dtype", None)
  if dtype != np.uint8 or len(shape) != 3 or shape[2] != 3:
    raise ValueError(
      f"Frame {index}: uint8 [H, W, 3] expected, got {dtype} {list(shape)}."
    )


def _named(video: bytes | str | os.PathLike) -> str:
  if isinstance(video, bytes):
    return f"A video of {len(video)} bytes"
  return os.fspath(video)


def _av():
  try:
    import av
  except ImportError as e:
    raise ImportError(
      "Videos need PyAV: pip install 'robust_tfds[video]'."
    ) from e
  return av
