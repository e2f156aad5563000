"""Videos in memory: round trips, equal bytes, refusals."""

import io
import struct
import subprocess
import sys

import numpy as np
from absl.testing import absltest
from absl.testing import parameterized
from PIL import Image

from robust_tfds import movies
from robust_tfds.reading import videos as video_files


def _moving(frames=6, height=48, width=64, seed=0):
  rng = np.random.default_rng(seed)
  small = Image.fromarray(rng.integers(0, 256, (6, 8, 3), np.uint8))
  image = np.asarray(small.resize((width, height), Image.Resampling.BICUBIC))
  return np.stack([np.roll(image, i, 1) for i in range(frames)])


class MoviesTest(parameterized.TestCase):
  @parameterized.parameters(
    ({}, 8),
    ({"options": movies.X264_NOISE}, 12),
    ({"codec": "ffv1", "container": "matroska", "options": {}}, 3),
    (
      {
        "codec": "mpeg2video",
        "container": "vob",
        "options": {},
        "pixel_format": "yuv420p",
        "fps": 25,
        "qscale": 5,
      },
      20,
    ),
  )
  def test_round_trip(self, settings, worst):
    frames = _moving()
    got = video_files.decode(movies.encode(frames, **settings))
    self.assertEqual(got.shape, frames.shape)
    error = np.sqrt(np.mean((got.astype(float) - frames) ** 2))
    self.assertLess(error, worst)

  def test_equal_bytes_in_every_run(self):
    frames = _moving(31, 96, 224)
    first = movies.encode(frames)
    for _ in range(9):
      self.assertEqual(movies.encode(frames), first)

  def test_odd_sizes(self):
    frames = _moving(3, 33, 47)
    self.assertEqual(
      video_files.decode(movies.encode(frames)).shape, frames.shape
    )
    with self.assertRaisesRegex(ValueError, "even sides"):
      movies.encode(frames, pixel_format="yuv420p")

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
    with self.assertRaisesRegex(ValueError, r"Frames 2\.\.9 asked for.* has 9"):
      list(video_files.frames_at(data, lambda count: [9, 2], held_bytes))

  @parameterized.parameters(b"", b"no video at all" * 9)
  def test_no_video(self, data):
    with self.assertRaisesRegex(video_files.BrokenVideoError, "cannot be read"):
      video_files.decode(data)

  def test_audio_alone(self):
    import av

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
    import fractions

    import av

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

  def test_frames_are_checked(self):
    with self.assertRaisesRegex(ValueError, "at least one frame"):
      movies.encode(np.zeros((0, 8, 8, 3), np.uint8))
    with self.assertRaisesRegex(ValueError, "uint8"):
      movies.encode(np.zeros((2, 8, 8, 3), np.float32))
    with self.assertRaisesRegex(ValueError, "one size"):
      movies.encode([_moving(1)[0], _moving(1, 32, 32)[0]])
    with self.assertRaisesRegex(ValueError, "no encoder 'h999'"):
      movies.encode(_moving(), codec="h999")

  def test_without_pyav(self):
    code = (
      "import sys; sys.modules['av'] = None\n"
      "from robust_tfds import movies\n"
      "try: video_files.decode(b'')\n"
      "except ImportError as e: assert 'robust_tfds[video]' in str(e)\n"
      "else: raise SystemExit('imported')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
  absltest.main()
