"""Video containers in memory: frames to bytes and back, through PyAV.

Frames are uint8 `[T, H, W, 3]`, RGB, 0..255. Encoding runs on one thread, so
that equal frames give equal bytes on any number of cores. PyAV is the extra
`video`; it brings its own FFmpeg and x264.
"""

from __future__ import annotations

import contextlib
import fractions
import io
import os
import platform
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

import numpy as np

from robust_tfds import errors

# x264's settings of the published ImageNet-P (docs/specs/imagenet_p.md section
# 3): noise is kept by `tune grain` at x264's own CRF of 23, all else has CRF
# 20.
X264_NOISE = {"preset": "veryslow", "tune": "grain"}
X264_SMOOTH = {"preset": "veryslow", "crf": "20"}


class BrokenVideoError(errors.UserError):
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
    UserError: PyAV is not installed.
    UserError: no frames, frames of another dtype or shape, an unknown codec,
      or a size that the pixel format cannot hold.
  """
  av = pyav()
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
        raise errors.UserError(
          f"Frame {index} is {pixels.shape[:2]}, the first {size}; the frames of"
          " a video have one size."
        )
      frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
      target.mux(stream.encode(frame.reformat(format=pixel_format)))
    if stream is None:
      raise errors.UserError("A video needs at least one frame, got none.")
    target.mux(stream.encode())
  return out.getvalue()


def decode(video: bytes | str | os.PathLike) -> np.ndarray:
  """All frames of a video: uint8 `[T, H, W, 3]`, in the order of display.

  Raises:
    UserError: PyAV is not installed.
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


def frames_at(
  video: bytes | str | os.PathLike,
  numbers_of: Callable[[int], Iterable[int]],
  held_bytes: int = 64 << 20,
) -> Iterator[tuple[int, np.ndarray]]:
  """Some frames of a video; only these are brought to RGB.

  Which ones may depend on how many there are: files do not say that reliably,
  so all are decoded. Short videos are decoded once and held as the codec left
  them; longer ones twice, the second time up to the last frame that is asked for.

  Args:
    video: the file.
    numbers_of: number of frames -> the numbers to yield, each once, in any
      order.
    held_bytes: most that is held.

  Yields:
    (number, uint8 `[H, W, 3]`) by increasing number.

  Raises:
    BrokenVideoError: as `decode`.
    UserError: a number that is not there.
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
  numbers = sorted(numbers_of(count))
  if numbers and not 0 <= numbers[0] <= numbers[-1] < count:
    raise errors.UserError(
      f"Frames {numbers[0]}..{numbers[-1]} asked for, {_named(video)} has"
      f" {count}."
    )
  if held is not None:
    yield from ((number, _pixels(held[number])) for number in numbers)
    return
  left = set(numbers)
  for number, frame in enumerate(_decoded(video)):
    if not left:
      return
    if number in left:
      left.remove(number)
      yield number, _pixels(frame)


def _decoded(video: bytes | str | os.PathLike) -> Iterator[Any]:
  """PyAV's frames, in the order of display."""
  with opened(video) as container:
    yield from container.decode(container.streams.video[0])


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
    UserError: PyAV is not installed.
    BrokenVideoError: not a video, no picture in it, or no rate.
  """
  with opened(video) as container:
    stream = container.streams.video[0]
    rate = stream.average_rate or stream.guessed_rate
  if not rate:
    raise BrokenVideoError(
      f"The container of {_named(video)} gives no frame rate, which clips are"
      " sampled by. Encode the video again at its rate."
    )
  return float(rate)


@contextlib.contextmanager
def opened(video: bytes | str | os.PathLike) -> Iterator[Any]:
  """PyAV's container of a video, with at least one picture stream.

  Raises:
    UserError: PyAV is not installed.
    BrokenVideoError: not a video, no picture in it, or cut off.
    FileNotFoundError: no such file.
  """
  av = pyav()
  if not isinstance(video, bytes) and not os.path.exists(video):
    raise FileNotFoundError(f"No video at {os.fspath(video)}.")
  source: Any = (
    io.BytesIO(video) if isinstance(video, bytes) else os.fspath(video)
  )
  try:
    with av.open(source, "r") as container:
      if not container.streams.video:
        raise BrokenVideoError(
          f"{_named(video)} has no picture, only"
          f" {[s.type for s in container.streams]}. Replace it."
        )
      yield container
  except av.error.FFmpegError as e:
    raise BrokenVideoError(
      f"{_named(video)} cannot be read as a video ({e}). Is it cut off, or in a"
      " codec that this FFmpeg does not know?"
    ) from e


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


def _rational(fps: float) -> fractions.Fraction:
  return fractions.Fraction(fps).limit_denominator(1001)


def _check_frame(pixels: Any, index: int) -> None:
  shape, dtype = np.shape(pixels), getattr(pixels, "dtype", None)
  if dtype != np.uint8 or len(shape) != 3 or shape[2] != 3:
    raise errors.UserError(
      f"Frame {index}: uint8 [H, W, 3] expected, got {dtype} {list(shape)}."
    )


def _named(video: bytes | str | os.PathLike) -> str:
  if isinstance(video, bytes):
    return f"A video of {len(video)} bytes"
  return os.fspath(video)


def pyav() -> Any:
  """PyAV's module; UserError with the pip command where it is absent."""
  try:
    import av
  except ImportError as e:
    raise errors.missing_package("PyAV", "video", "Reading videos") from e
  return av
