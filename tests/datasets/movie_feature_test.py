"""Videos as files in a TFDS feature: bytes in, frames out, of one shape."""

import pathlib

import numpy as np
import pytest
from absl.testing import absltest

from robust_tfds import movies
from robust_tfds.datasets import movie_feature
from robust_tfds.reading import videos as video_files

pytest.importorskip("av", reason="the extra `video`")


def _video(frames: int = 3) -> bytes:
  clip = np.zeros((frames, 16, 24, 3), np.uint8)
  clip += 60 * np.arange(frames, dtype=np.uint8)[:, None, None, None]
  return movies.encode(clip)


class MovieTest(absltest.TestCase):
  def test_bytes_are_stored_as_they_are(self):
    feature = movie_feature.Movie((3, 16, 24, 3))
    data = _video()
    self.assertEqual(feature.encode_example(data), data)
    file = pathlib.Path(self.create_tempdir().full_path) / "a.mp4"
    file.write_bytes(data)
    self.assertEqual(feature.encode_example(file), data)

  def test_both_readers_give_the_decoders_frames(self):
    import tensorflow as tf

    feature = movie_feature.Movie((None, 16, 24, 3))
    data = _video()
    expected = video_files.decode(data)
    np.testing.assert_array_equal(feature.decode_example_np(data), expected)
    stored = tf.data.Dataset.from_tensors(data)
    (frames,) = stored.map(feature.decode_example).as_numpy_iterator()
    np.testing.assert_array_equal(frames, expected)

  def test_another_length_is_refused(self):
    feature = movie_feature.Movie((5, 16, 24, 3))
    with self.assertRaisesRegex(
      video_files.BrokenVideoError,
      "holds 3 frames of 16x24 px, expected 5 of 16x24",
    ):
      feature.decode_example_np(_video())

  def test_the_shape_outlives_features_json(self):
    feature = movie_feature.Movie((None, 16, 24, 3))
    content = feature.to_json_content()
    self.assertEqual(content, {"shape": [-1, 16, 24, 3]})
    again = movie_feature.Movie.from_json_content(content)
    self.assertEqual(again.get_tensor_info(), feature.get_tensor_info())
    self.assertEqual(feature.get_tensor_info().dtype, np.uint8)
