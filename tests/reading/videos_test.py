"""Videos from outside: whole ones of every kind are read, cut ones refused."""

import fractions
import io
import os
import struct
import subprocess
import sys
import warnings
from unittest import mock

import av
import numpy as np
from absl.testing import parameterized
from PIL import Image

from robust_tfds import errors, movies
from robust_tfds.reading import limits
from robust_tfds.reading import videos as video_files
from tests import quick

_COUNT = 40
_LOSSLESS = {"codec": "ffv1", "options": {}, "pixel_format": "bgr0"}


def _moving(frames=6, height=48, width=64, seed=0):
  rng = np.random.default_rng(seed)
  small = Image.fromarray(rng.integers(0, 256, (6, 8, 3), np.uint8))
  image = np.asarray(small.resize((width, height), Image.Resampling.BICUBIC))
  return np.stack([np.roll(image, 3 * i, 1) for i in range(frames)])


def _encoded(
  test, container, codec, *, sound_s=0.0, mux=None, pixel_format="yuv420p"
) -> bytes:
  """A video of `_COUNT` frames at 25 fps, with silence beside it."""
  path = test.create_tempfile().full_path
  with av.open(path, "w", format=container, options=mux or {}) as target:
    stream = target.add_stream(codec, rate=25)
    stream.height, stream.width, stream.pix_fmt = 48, 64, pixel_format
    sound = None
    if sound_s:
      kind = "libopus" if container == "webm" else "mp2"
      sound = target.add_stream(kind, rate=48000, layout="mono")
    packets = []
    for pixels in _moving(_COUNT):
      frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
      packets += stream.encode(frame.reformat(format=pixel_format))
    packets += stream.encode()
    if sound is not None:
      packets += _silence(sound, sound_s)
    for packet in sorted(packets, key=lambda p: float(p.dts * p.time_base)):
      target.mux(packet)
  with open(path, "rb") as f:
    return f.read()


def _silence(stream, seconds):
  packets, size = [], stream.codec_context.frame_size or 1152
  kind = stream.codec_context.format.name
  dtype = np.float32 if kind.startswith("flt") else np.int16
  for start in range(0, int(seconds * 48000), size):
    frame = av.AudioFrame.from_ndarray(
      np.zeros((1, size), dtype), format=kind, layout="mono"
    )
    frame.sample_rate, frame.pts = 48000, start
    frame.time_base = fractions.Fraction(1, 48000)
    packets += stream.encode(frame)
  return packets + stream.encode()


def _remuxed(test, data, container, change) -> bytes:
  """The packets of a video in another file; `change(number, packet)` first."""
  path = test.create_tempfile().full_path
  with (
    av.open(io.BytesIO(data)) as source,
    av.open(path, "w", format=container) as target,
  ):
    stream = source.streams.video[0]
    copy = target.add_stream_from_template(stream)
    for number, packet in enumerate(source.demux(stream)):
      if packet.dts is not None and change(number, packet) is not False:
        packet.stream = copy
        target.mux(packet)
  with open(path, "rb") as f:
    return f.read()


class VideosTest(parameterized.TestCase):
  @quick.cases(
    [
      ("mp4", "libx264", {"mux": {"movflags": "faststart"}}),
      ("mp4", "libx264", {"mux": {"movflags": "faststart"}, "sound_s": 3.0}),
      ("avi", "mpeg4", {}),
      ("webm", "libvpx", {}),
    ],
    [
      ("mp4", "libx264", {"mux": {"movflags": "frag_keyframe+empty_moov"}}),
      ("avi", "ffv1", {"pixel_format": "bgr0"}),
      ("avi", "mpeg4", {"sound_s": 3.0}),
      ("webm", "libvpx", {"sound_s": 3.0}),
      ("webm", "libvpx-vp9", {}),
      ("matroska", "libx264", {}),
      ("flv", "flv", {}),
    ],
  )
  def test_cut_files_are_refused_and_whole_ones_read(
    self, container, codec, options
  ):
    data = _encoded(self, container, codec, **options)
    with warnings.catch_warnings():
      warnings.simplefilter("error", UserWarning)
      self.assertLen(video_files.decode(data), _COUNT)
    for share in (0.5, 0.7, 0.9):
      cut = data[: int(len(data) * share)]
      try:
        count = sum(1 for _ in video_files.iterate(cut))
      except video_files.BrokenVideoError as e:
        self.assertRegex(
          str(e), "the container promises (4|1.6)|cannot be read as a video"
        )
      else:
        # Sound that is longer than the pictures may be what was cut.
        self.assertGreaterEqual(count, _COUNT - 2)
        self.assertIn("sound_s", options)

  def test_a_cut_file_is_read_where_the_user_says_so(self):
    data = _encoded(self, "webm", "libvpx")
    cut = data[: len(data) * 7 // 10]
    with mock.patch.dict(os.environ, {video_files.ALLOW_CUT: "1"}):
      with self.assertWarnsRegex(
        UserWarning, "the container promises 1.60 s, they end at"
      ):
        count = len(video_files.decode(cut))
      with self.assertWarnsRegex(UserWarning, "frames are read, then"):
        cut = _encoded(self, "avi", "ffv1", pixel_format="bgr0")[:-50_000]
        self.assertGreater(len(video_files.decode(cut)), 5)
    self.assertBetween(count, 5, _COUNT - 3)
    with mock.patch.dict(os.environ, {video_files.ALLOW_CUT: "yes"}):
      with self.assertRaisesRegex(errors.UserError, "expected 0 or 1"):
        video_files.decode(data[: len(data) // 2])

  @parameterized.parameters("no index", "size 0", "size huge", "count huge")
  def test_odd_headers_of_avi(self, kind):
    data = bytearray(_encoded(self, "avi", "mpeg4"))
    if kind == "no index":
      del data[data.rindex(b"idx1") :]
    elif kind == "count huge":
      place = data.index(b"strh") + 8 + 32  # dwLength
      data[place : place + 4] = struct.pack("<I", 100_000)
    else:
      data[4:8] = b"\0" * 4 if kind == "size 0" else b"\xff" * 4
    self.assertLen(video_files.decode(bytes(data)), _COUNT)

  def test_repeated_frames_of_avi_are_not_missing(self):
    def later(number, packet):  # the muxer fills the gaps with empty chunks
      packet.pts, packet.dts = 3 * packet.pts, 3 * packet.dts

    data = _remuxed(self, _encoded(self, "avi", "mpeg4"), "avi", later)
    self.assertLen(video_files.decode(data), _COUNT)
    with self.assertRaisesRegex(
      video_files.BrokenVideoError, "promises 1[0-9][0-9]"
    ):
      video_files.decode(data[: len(data) * 7 // 10])

  @parameterized.parameters("mp4", "webm", "matroska")
  def test_rates_that_vary(self, container):
    codec = "libvpx" if container == "webm" else "mpeg4"

    def later(number, packet):
      shift = int(number**2 * 0.02 / packet.time_base)
      packet.pts, packet.dts = packet.pts + shift, packet.dts + shift

    whole = _encoded(self, container, codec)
    data = _remuxed(self, whole, container, later)
    self.assertLen(video_files.decode(data), _COUNT)

  def test_times_that_begin_late(self):
    # As of a part that was cut out of a film; its frames are no fewer.
    def later(number, packet):
      shift = int(100 / packet.time_base)
      packet.pts, packet.dts = packet.pts + shift, packet.dts + shift

    whole = _encoded(self, "matroska", "mpeg4")
    data = _remuxed(self, whole, "matroska", later)
    self.assertLen(video_files.decode(data), _COUNT)
    for share in (0.5, 0.7, 0.9):
      with self.assertRaisesRegex(
        video_files.BrokenVideoError, "promises|cannot be read|no frames"
      ):
        video_files.decode(data[: int(len(data) * share)])

  def test_a_cut_in_the_index(self):
    data = _encoded(self, "mp4", "libx264", sound_s=9.0)
    start = data.index(b"moov") - 4
    short = 0
    for share in (0.1, 0.2, 0.3, 0.4, 0.5):
      cut = data[: start + int((len(data) - start) * share)]
      try:
        self.assertLen(video_files.decode(cut), _COUNT)  # of the sound alone
      except video_files.BrokenVideoError as e:
        self.assertRegex(
          str(e), "promises 1.60 s|be read as a video|no picture"
        )
        short += "promises" in str(e)
    self.assertGreater(short, 0)
    self.assertLen(video_files.decode(data[:-50]), _COUNT)

  @parameterized.parameters(
    (2000, 0, 40), (1000, 0, 25), (1000, 12800, 15), (100, 12800, 3)
  )
  def test_edit_lists(self, duration, start, at_most):
    data = bytearray(_encoded(self, "mp4", "mpeg4"))
    place = data.index(b"elst") + 12
    data[place : place + 8] = struct.pack(">Ii", duration, start)
    count = len(video_files.decode(bytes(data)))
    self.assertBetween(count, 1, at_most)

  def test_damage_in_the_middle(self):
    data = bytearray(_encoded(self, "mp4", "mpeg4"))
    start = data.index(b"mdat") + 4
    length = int.from_bytes(data[start - 8 : start - 4], "big")
    data[start + length // 4 : start + length * 3 // 4] = bytes(length // 2)
    with self.assertRaisesRegex(
      video_files.BrokenVideoError, "cannot be read as a video|promises 40"
    ):
      video_files.decode(bytes(data))

  @quick.cases([8], [60])
  def test_no_crash_whatever_is_flipped(self, times):
    # A decoder that crashes takes the process along: in one of its own.
    code = (
      "import sys, warnings, numpy as np\n"
      "from robust_tfds import errors\n"
      "from robust_tfds.reading import videos\n"
      "warnings.simplefilter('ignore')\n"
      "rng = np.random.default_rng(0)\n"
      "for path in sys.argv[1:]:\n"
      "  whole = open(path, 'rb').read()\n"
      f"  for _ in range({times}):\n"
      "    data = np.frombuffer(whole, np.uint8).copy()\n"
      "    places = rng.integers(len(data), size=rng.integers(1, 20))\n"
      "    data[places] ^= np.uint8(1) << rng.integers(8, dtype=np.uint8)\n"
      "    try: videos.decode(data.tobytes())\n"
      "    except errors.UserError: pass\n"
    )
    paths = []
    for container, codec in (
      ("mp4", "libx264"),
      ("avi", "mpeg4"),
      ("webm", "libvpx"),
    ):
      data = _encoded(self, container, codec)
      paths.append(self.create_tempfile(content=data, mode="wb").full_path)
    done = subprocess.run(
      [sys.executable, "-c", code, *paths], check=False, capture_output=True
    )
    self.assertEqual(done.returncode, 0, done.stderr[-2000:])

  @parameterized.parameters("PNG", "JPEG", "GIF", "WEBP", "BMP")
  def test_pictures_are_no_videos(self, kind):
    out = io.BytesIO()
    Image.fromarray(_moving(1)[0]).save(out, kind)
    with self.assertRaisesRegex(
      video_files.BrokenVideoError, "cannot be read as a video.*begins with b'"
    ):
      video_files.decode(out.getvalue())

  @parameterized.parameters(
    b"",
    b"no video at all" * 9,
    b"<!DOCTYPE html><html></html>" * 9,
    bytes(9999),
    # Play lists name files and addresses, which FFmpeg would open.
    b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",
    b"ffconcat version 1.0\nfile /etc/passwd\n",
  )
  def test_no_video(self, data):
    with self.assertRaisesRegex(video_files.BrokenVideoError, "cannot be read"):
      video_files.decode(data)

  def test_sizes_that_change(self):
    raw = {"container": "h264", "pixel_format": "yuv420p"}
    data = movies.encode(_moving(4), **raw)
    data += movies.encode(_moving(4, 96, 128), **raw)
    with self.assertRaisesRegex(
      video_files.BrokenVideoError, "frame 4 has 128 x 96 px, the first 64 x 48"
    ):
      list(video_files.iterate(data))

  def test_limits(self):
    data = movies.encode(_moving(3), **_LOSSLESS, container="avi")
    with mock.patch.object(limits, "FRAME_PIXELS", 64 * 48 - 1):
      with self.assertRaisesRegex(errors.UserError, "3,072 pixels in a frame"):
        video_files.decode(data)
    with mock.patch.object(limits, "VIDEO_BYTES", 64 * 48 * 3 * 2):
      with self.assertRaisesRegex(errors.UserError, "bytes of frames"):
        video_files.decode(data)
      self.assertLen(list(video_files.iterate(data)), 3)

  @parameterized.parameters("yuv420p10le", "gray", "yuva420p", "rgb48le")
  def test_pixel_formats(self, pixel_format):
    if pixel_format == "rgb48le":
      options = {"codec": "ffv1", "options": {}, "pixel_format": "gbrp16le"}
    else:
      options = {"codec": "ffv1", "options": {}, "pixel_format": pixel_format}
    frames = _moving(2)
    data = movies.encode(frames, **options, container="matroska")
    got = video_files.decode(data)
    self.assertEqual((got.shape, got.dtype), (frames.shape, np.uint8))
    self.assertLess(np.abs(got.mean() - frames.mean()), 4)

  def test_one_pixel(self):
    frames = _moving(3)[:, :1, :1]
    data = movies.encode(frames, **_LOSSLESS, container="avi")
    np.testing.assert_array_equal(video_files.decode(data), frames)

  @parameterized.parameters((1, 10**9), (1, 1001))
  def test_rates_that_no_camera_has(self, scale, rate):
    data = bytearray(movies.encode(_moving(3), **_LOSSLESS, container="avi"))
    place = data.index(b"strh") + 8 + 20  # dwScale, dwRate
    data[place : place + 8] = struct.pack("<II", scale, rate)
    with self.assertRaisesRegex(
      video_files.BrokenVideoError, "a rate of .* expected at most 1000"
    ):
      video_files.frame_rate(bytes(data))

  @parameterized.parameters(float("nan"), float("inf"), -1.0, 0.0)
  def test_durations_that_promise_nothing(self, seconds):
    data = bytearray(_encoded(self, "webm", "libvpx"))
    data = data.replace(b"DURATION", b"DURATIOM")  # the tag of the stream
    place = data.index(b"\x44\x89") + 3  # RFC 9559, 5.1.2.10
    data[place : place + 8] = struct.pack(">d", seconds)
    self.assertLen(video_files.decode(bytes(data)), _COUNT)

  def test_iterates_without_keeping(self):
    data = movies.encode(_moving())
    np.testing.assert_array_equal(
      np.stack(list(video_files.iterate(data))), video_files.decode(data)
    )

  @parameterized.parameters(64 << 20, 10_000)
  def test_frames_at(self, held_bytes):
    data = movies.encode(_moving(9))
    seen = []

    def choose(count):
      seen.append(count)
      return [7, 0, 3]

    got = dict(video_files.frames_at(data, choose, held_bytes))
    self.assertEqual(seen, [9])
    self.assertEqual(list(got), [0, 3, 7])
    whole = video_files.decode(data)
    for number, frame in got.items():
      np.testing.assert_array_equal(frame, whole[number])
    with self.assertRaisesRegex(
      ValueError, r"frame numbers 2\.\.9, but .* has 9"
    ):
      list(video_files.frames_at(data, lambda count: [9, 2], held_bytes))

  def test_audio_alone(self):
    out = io.BytesIO()
    with av.open(out, "w", format="wav") as target:
      stream = target.add_stream("pcm_s16le", rate=8000, layout="mono")
      frame = av.AudioFrame.from_ndarray(
        np.zeros((1, 800), np.int16), format="s16", layout="mono"
      )
      frame.sample_rate = 8000
      target.mux(stream.encode(frame))
    with self.assertRaisesRegex(video_files.BrokenVideoError, "has no picture"):
      video_files.decode(out.getvalue())

  def test_no_frames(self):
    data = movies.encode(_moving(1), codec="ffv1", options={}, container="avi")
    empty = data[: data.index(b"movi")] + b"movi"  # cut before the first frame
    for read in (
      video_files.decode,
      lambda d: list(video_files.frames_at(d, lambda count: [0])),
    ):
      with self.assertRaisesRegex(
        video_files.BrokenVideoError, "holds no frames|cannot be read"
      ):
        read(empty)

  def test_variable_frame_rate(self):
    frames, shown = _moving(4), [0, 1, 5, 9]  # in tenths of a second
    out = io.BytesIO()
    with av.open(out, "w", format="matroska") as target:
      stream = target.add_stream("ffv1", rate=10)
      stream.height, stream.width = frames.shape[1:3]
      stream.pix_fmt = "bgr0"
      stream.codec_context.time_base = fractions.Fraction(1, 10)
      for pixels, moment in zip(frames, shown):
        frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
        frame = frame.reformat(format="bgr0")
        frame.pts, frame.time_base = moment, fractions.Fraction(1, 10)
        target.mux(stream.encode(frame))
      target.mux(stream.encode())
    data = out.getvalue()
    # Every frame once, however long it is shown; the rate is an average.
    np.testing.assert_array_equal(video_files.decode(data), frames)
    self.assertGreater(video_files.frame_rate(data), 0)

  @parameterized.parameters((0, 1, -1, 0), (-1, 0, 0, -1), (0, -1, 1, 0))
  def test_turned_as_players_turn_it(self, a, b, c, d):
    frames = _moving(2)
    data = bytearray(movies.encode(frames))
    plain = video_files.decode(bytes(data))
    # ISO/IEC 14496-12 8.3.2: the matrix of a track header of version 0.
    start = data.index(b"tkhd") + 4 + 40
    one = 1 << 16
    data[start : start + 36] = struct.pack(
      ">9i", a * one, b * one, 0, c * one, d * one, 0, 0, 0, 1 << 30
    )
    got = video_files.decode(bytes(data))
    # (x, y) of the picture is shown at (a x + c y, b x + d y).
    turns = {(0, 1): -1, (-1, 0): 2, (0, -1): 1}[a, b]
    np.testing.assert_array_equal(got, np.rot90(plain, turns, axes=(1, 2)))

  def test_files(self):
    path = self.create_tempdir().create_file("a.mp4").full_path
    with open(path, "wb") as f:
      f.write(movies.encode(_moving())[:1500])
    with self.assertRaisesRegex(video_files.BrokenVideoError, "a.mp4"):
      video_files.decode(path)
    with self.assertRaisesRegex(FileNotFoundError, "b.mp4"):
      video_files.decode(path.replace("a.mp4", "b.mp4"))

  def test_without_pyav(self):
    code = (
      "import sys; sys.modules['av'] = None\n"
      "from robust_tfds.reading import videos\n"
      "try: videos.decode(b'')\n"
      "except ImportError as e: assert 'robust_tfds[video]' in str(e)\n"
      "else: raise SystemExit('imported')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
