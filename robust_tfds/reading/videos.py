"""Opens video files, through PyAV: the only place that decodes them.

Frames are uint8 `[H, W, 3]`, RGB, in the order of display, each once however long
it is shown. A turn that the file asks players for (phones held upright) is carried
out; interlaced frames stay as they are. PyAV is the extra `video`.

A file that holds fewer frames than its container promises was cut off on its way.
Two frames less are let pass, else it is refused. What promises:

  MP4, MOV  the index: frames whose bytes lie behind the end of the file; the
            duration of the video where the index itself is cut off
  AVI       the number of frames, where the file is shorter than it says
  WebM, MKV the duration of the video; that of the file where there is no tag for
            it, and nothing else in the file or the file is shorter than it says
  FLV       the duration of the file, where it holds nothing else

MP4 and AVI that have all their bytes may lack a tenth of what is promised, with a
warning. Edits, repeated frames of AVI (empty, or a few bytes) and frames that need
others from before the start are not promised. Other containers, MPEG streams and
live recordings promise nothing. ROBUST_TFDS_ALLOW_CUT_VIDEOS=1 in the
environment takes what frames there are, with a warning for each file.
"""

import contextlib
import io
import itertools
import math
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from robust_tfds import errors
from robust_tfds.reading import limits
from robust_tfds.storage import paths

Video = bytes | str | os.PathLike

# Of files that a folder is searched for; any name is opened.
EXTENSIONS = frozenset(
  ".mp4 .avi .mkv .mov .webm .m4v .mpg .mpeg .wmv .flv .3gp .ogv".split()
)
ALLOW_CUT = "ROBUST_TFDS_ALLOW_CUT_VIDEOS"
_SLACK = 2  # frames
_TENTH = 0.1  # of the frames of a file that has all its bytes
# Bytes: a chunk of AVI that repeats the frame before is empty, or an MPEG-4
# picture that is marked "not coded" (ISO/IEC 14496-2, 6.2.5), 7 bytes of XviD.
_REPEATED = 16
_FASTEST_FPS = 1000.0  # cameras for slow motion give 960
# Demuxers that may be chosen. Others read pictures or text as videos, or open
# the files and addresses that a play list names.
_CONTAINERS = (
  "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpeg,mpegts,mpegvideo,m4v,h264,hevc,"
  "flv,asf,ogg,ivf,dv,mxf,rm,nut,yuv4mpegpipe,wav,mp3,aac,flac"
)


class BrokenVideoError(errors.UserError):
  """A video that cannot be read, or holds other frames than it should."""


def decode(video: Video) -> np.ndarray:
  """Decode all frames of a video: uint8 `[T, H, W, 3]`.

  Raises:
    UserError: PyAV is not installed, or the frames need more than
      `limits.VIDEO_BYTES`.
    BrokenVideoError: not a video, no picture in it, cut off, or frames of
      several sizes.
    FileNotFoundError: no such file.
  """
  frames = []
  size = 0
  for frame in iterate(video):
    frames.append(frame)
    size += frame.nbytes
    limits.check(size, limits.VIDEO_BYTES, _named(video), "bytes of frames")
  return np.stack(frames)


def iterate(video: Video) -> Iterator[np.ndarray]:
  """Yield the frames of `decode`, one by one, without keeping them."""
  for frame in _decoded(video):
    yield _pixels(frame)


def frames_at(
  video: Video,
  numbers_of: Callable[[int], Iterable[int]],
  held_bytes: int = 64 << 20,
  watch: Callable[[np.ndarray], None] | None = None,
) -> Iterator[tuple[int, np.ndarray]]:
  """Yield some frames of a video; only these are brought to RGB.

  Which ones may depend on how many there are: files do not say that reliably,
  so all are decoded. Short videos are decoded once and held as the codec left
  them; longer ones twice, the second time up to the last frame that is asked for.

  Args:
    numbers_of: number of frames -> the numbers to yield, each once, in any
      order.
    held_bytes: most that is held.
    watch: is given every frame of the video in order, before `numbers_of` is
      called; all are brought to RGB then.

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
    if watch is not None:
      watch(_pixels(frame))
    size += sum(plane.buffer_size for plane in frame.planes)
    if held is not None and size <= held_bytes:
      held.append(frame)
    else:
      held = None
  numbers = sorted(numbers_of(count))
  if numbers and not 0 <= numbers[0] <= numbers[-1] < count:
    raise errors.UserError(
      f"Got the frame numbers {numbers[0]}..{numbers[-1]}, but {_named(video)} has"
      f" {count} frames."
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


def frame_rate(video: Video) -> float:
  """Return the frames per second that a video's file gives, on average.

  Raises:
    UserError: PyAV is not installed.
    BrokenVideoError: not a video, no picture in it, no rate, or one that no
      camera has.
  """
  with opened(video) as container:
    stream = _pictures(container)
    rate = float(stream.average_rate or stream.guessed_rate or 0)
  if not 0 < rate <= _FASTEST_FPS:
    raise BrokenVideoError(
      f"The container of {_named(video)} gives"
      f" {f'a rate of {rate:g}' if rate else 'no frame rate'}, which clips are"
      f" sampled by; expected at most {_FASTEST_FPS:g} frames per second. Encode"
      " the video again at its rate."
    )
  return rate


def size(video: Video) -> tuple[int, int]:
  """Return (height, width) of the stored frames; reads the header alone.

  Raises:
    UserError: as `opened`.
  """
  with opened(video) as container:
    context = _pictures(container).codec_context
    return context.height, context.width


@contextlib.contextmanager
def opened(video: Video) -> Iterator[Any]:
  """Open PyAV's container of a video, with at least one picture stream.

  Raises:
    UserError: PyAV is not installed.
    BrokenVideoError: not a video, no picture in it, cut off, or frames larger
      than `limits.FRAME_PIXELS`.
    FileNotFoundError: no such file.
  """
  av = pyav()
  if not isinstance(video, bytes) and not paths.parse(video).exists():
    raise FileNotFoundError(f"No video at {os.fspath(video)}.")
  try:
    with (
      _source(video) as source,
      av.open(
        source, "r", options={"format_whitelist": _CONTAINERS}
      ) as container,
    ):
      size = _pictures(container, video).codec_context
      if size is None:
        raise BrokenVideoError(
          f"{_named(video)} is in a codec that this FFmpeg does not know, or is"
          " damaged. Replace it, or encode it again."
        )
      noun = f"pixels in a frame ({size.width} x {size.height})"
      limits.check(
        size.width * size.height, limits.FRAME_PIXELS, _named(video), noun
      )
      yield container
  except (av.error.FFmpegError, UnicodeDecodeError) as e:
    raise BrokenVideoError(
      f"{_named(video)} cannot be read as a video ({e}); it begins with"
      f" {_start(video)!r}. Is it cut off, or in a codec that this FFmpeg does"
      " not know?"
    ) from e


@contextlib.contextmanager
def _source(video: Video) -> Iterator[Any]:
  """Yield what PyAV opens: a local name, else a file."""
  if isinstance(video, bytes):
    yield io.BytesIO(video)
  elif paths.is_local(video):
    yield os.fspath(video)
  else:
    with paths.opened(video) as file:
      yield file


def pyav() -> Any:
  """Import PyAV; raise UserError with the pip command if it is absent."""
  try:
    import av
  except ImportError as e:
    raise errors.missing_package_error("PyAV", "video", "Reading videos") from e
  return av


def _pictures(container: Any, video: Video = b"") -> Any:
  """Find the first stream of pictures that is not the cover of a song."""
  cover = pyav().stream.Disposition.attached_pic
  for stream in container.streams.video:
    if not stream.disposition & cover:
      return stream
  raise BrokenVideoError(
    f"{_named(video)} has no picture, only"
    f" {[s.type for s in container.streams]}. Replace it."
  )


def _decoded(video: Video) -> Iterator[Any]:
  """Yield PyAV's frames, in the order of display; refuse an early end."""
  av = pyav()
  with opened(video) as container:
    stream = _pictures(container, video)
    count = damaged = 0
    start = 0.0
    first = last = None
    try:
      for frame in container.decode(stream):
        if first is None:
          first = frame.width, frame.height
          start = frame.time or 0.0
        elif (frame.width, frame.height) != first:
          raise BrokenVideoError(
            f"{_named(video)}: frame {count} has {frame.width} x {frame.height}"
            f" px, the first {first[0]} x {first[1]}; the frames of a video have"
            " one size. Encode it again at one size."
          )
        count += 1
        damaged += frame.is_corrupt
        last = frame
        yield frame
    except av.error.FFmpegError as e:
      if not count or not _cut_is_allowed():
        raise
      _warn(f"{_named(video)}: {count} frames are read, then: {e}.")
      return
    if last is None:
      raise BrokenVideoError(f"{_named(video)} holds no frames. Replace it.")
    if damaged:
      _warn(f"{_named(video)}: {damaged} of {count} frames are damaged.")
    _check_whole(video, container, stream, count, start, last)


def _check_whole(
  video: Video, container: Any, stream: Any, count: int, start: float, last: Any
) -> None:
  """Compare what was decoded with what the container promises, see the header.

  Args:
    container: PyAV's, after the last frame.
    count: how many frames there were.
    start: seconds at which the first one is shown.
    last: the last one.
  """
  kind = container.format.name
  index_is_cut = "mp4" in kind and _index_is_cut(video)
  if count >= (stream.frames or math.inf) - _SLACK and not index_is_cut:
    return
  if "mp4" in kind and not index_is_cut:
    lack = _lack_of_index(video, stream, count)
  elif kind == "avi":
    lack = _lack_of_avi(video, stream, count)
  elif index_is_cut or "matroska" in kind or kind == "flv":
    lack = _lack_of_time(video, container, stream, count, start, last)
  else:
    return
  if lack.frames <= _SLACK:
    return
  text = (
    f"{_named(video)}: {count} frames can be read, the container promises"
    f" {lack.promise}."
  )
  few = lack.frames <= _TENTH * (count + lack.frames) and not lack.is_cut
  if few or _cut_is_allowed():
    _warn(text)
    return
  raise BrokenVideoError(
    f"{text} The file is cut off or damaged: replace it. If these frames are all"
    f" that there is, set {ALLOW_CUT}=1 in the environment."
  )


class _Lack(NamedTuple):
  """What a container promises beyond the frames that were decoded.

  Attributes:
    frames: how many are missing; below 1 where none is.
    is_cut: the file ends before they come.
    promise: what was promised, for the message.
  """

  frames: int
  is_cut: bool
  promise: str


def _lack_of_index(video: Video, stream: Any, count: int) -> _Lack:
  size = _size(video)
  entries = [e for e in _from_the_first_key(stream) if not e.is_discard]
  behind = sum(e.pos + e.size > size for e in entries)
  missing = behind or len(entries) - count
  return _Lack(missing, behind > 0, str(count + missing))


def _index_is_cut(video: Video) -> bool:
  """Return whether an MP4 ends inside its `moov`, the index (ISO/IEC 14496-12, 4.2)."""
  size = _size(video)
  source = (
    io.BytesIO(video) if isinstance(video, bytes) else paths.opened(video)
  )
  place = 0
  with source as file:
    while place + 8 <= size:
      file.seek(place)
      head = file.read(16)
      length = int.from_bytes(head[:4], "big")
      if length == 1:  # the size follows the name
        length = int.from_bytes(head[8:], "big")
      if head[4:8] == b"moov":
        return place + length > size
      if length < 8:  # 0 reaches to the end, others are damaged
        return False
      place += length
  return False


def _from_the_first_key(stream: Any) -> Iterator[Any]:
  """Drop the index entries before the first keyframe."""
  return itertools.dropwhile(lambda e: not e.is_keyframe, stream.index_entries)


def _lack_of_avi(video: Video, stream: Any, count: int) -> _Lack:
  promised = stream.frames
  # A RIFF file says its size less 8 at byte 4; chunks are of even sizes.
  stated = int.from_bytes(_start(video)[4:8], "little") + 8
  is_cut = stated > _size(video) + 1
  entries = list(_from_the_first_key(stream))
  if entries and not is_cut:
    promised = min(promised, sum(e.size > _REPEATED for e in entries))
  return _Lack(promised - count, is_cut, str(promised))


def _lack_of_time(
  video: Video, container: Any, stream: Any, count: int, start: float, last: Any
) -> _Lack:
  promised = _seconds(stream.metadata.get("DURATION", ""))
  whole = (container.duration or 0) / 1e6
  if "mp4" in container.format.name:  # said before the index
    promised = start + float((stream.duration or 0) * stream.time_base)
  elif promised:
    promised = min(promised, whole)  # tags may be of the file before an edit
  elif len(container.streams) == 1 or _segment_is_cut(video):
    promised = whole
  rate = float(stream.average_rate or stream.guessed_rate or 0)
  length = float((last.duration or 0) * last.time_base) or 1 / max(rate, 1.0)
  end = (last.time or 0.0) + length
  # The frames that there are say how many a second has; rates may vary, and
  # what was cut out of a longer file keeps its times.
  seconds = max(end - start, length)
  missing = round(max(promised - end, 0.0) * count / seconds)
  return _Lack(missing, True, f"{promised:.2f} s, they end at {end:.2f} s")


def _seconds(text: str) -> float:
  """Parse a Matroska tag such as 00:00:02.400000000; return 0 for other texts."""
  try:
    hours, minutes, seconds = text.split(":")
    value = int(hours) * 3600 + int(minutes) * 60 + float(seconds)
  except ValueError:
    return 0.0
  return value if math.isfinite(value) else 0.0


def _segment_is_cut(video: Video) -> bool:
  """Return whether a Matroska file is shorter than its segment (RFC 9559, 4.5)."""
  data = _start(video, 256)
  place = data.find(b"\x18\x53\x80\x67") + 4
  if place < 4 or place >= len(data):
    return False
  width = 9 - data[place].bit_length()  # RFC 8794, section 4
  number = int.from_bytes(data[place : place + width], "big")
  number -= 1 << (7 * width)
  unknown = (1 << (7 * width)) - 1
  return number != unknown and place + width + number > _size(video)


def _pixels(frame: Any) -> np.ndarray:
  """Return a frame as RGB, turned as the file asks players to."""
  turns = round((getattr(frame, "rotation", 0) or 0) / 90) % 4
  pixels = frame.to_ndarray(format="rgb24")
  return np.ascontiguousarray(np.rot90(pixels, turns)) if turns else pixels


def _cut_is_allowed() -> bool:
  value = os.environ.get(ALLOW_CUT, "0")
  if value not in ("", "0", "1"):
    raise errors.UserError(
      f"{ALLOW_CUT}={value!r} in the environment: expected 0 or 1."
    )
  return value == "1"


def _warn(text: str) -> None:
  warnings.warn(text, stacklevel=2)


def _size(video: Video) -> int:
  return len(video) if isinstance(video, bytes) else paths.state(video).size


def _start(video: Video, count: int = 16) -> bytes:
  if isinstance(video, bytes):
    return video[:count]
  with paths.opened(video) as f:
    return f.read(count)


def _named(video: Video) -> str:
  if isinstance(video, bytes):
    return f"A video of {len(video)} bytes"
  return os.fspath(video)
