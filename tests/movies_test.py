"""Encoding videos: round trips, equal bytes, refusals."""

import numpy as np
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

  def test_frames_are_checked(self):
    with self.assertRaisesRegex(ValueError, "at least one frame"):
      movies.encode(np.zeros((0, 8, 8, 3), np.uint8))
    with self.assertRaisesRegex(ValueError, "uint8"):
      movies.encode(np.zeros((2, 8, 8, 3), np.float32))
    with self.assertRaisesRegex(ValueError, "one size"):
      movies.encode([_moving(1)[0], _moving(1, 32, 32)[0]])
    with self.assertRaisesRegex(ValueError, "no encoder 'h999'"):
      movies.encode(_moving(), codec="h999")
