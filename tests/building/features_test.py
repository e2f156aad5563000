"""Features of data sets: pictures as JPEG files, videos as files."""

import io
import pathlib

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds
from absl.testing import parameterized
from PIL import Image

from robust_tfds import movies
from robust_tfds.building import jpeg_feature, movie_feature
from robust_tfds.reading import videos as video_files
from tests import tiny_files


def _jpeg(mode: str, size: tuple[int, int], **options) -> bytes:
  picture = tiny_files.smooth(*size).convert(mode)
  return tiny_files.encoded(picture, "JPEG", **options)


class JpegFeatureTest(parameterized.TestCase):
  """JPEG files through TFDS: Pillow's pixels, in tf.data and without it."""

  @parameterized.parameters(
    ("RGB", (64, 64), {"quality": 85, "optimize": True}),
    ("RGB", (61, 37), {"quality": 60, "progressive": True}),
    ("RGB", (33, 32), {"quality": 95, "subsampling": 0}),
    ("L", (40, 30), {}),
  )
  def test_pixels_are_pillows(self, mode, size, options):
    data = _jpeg(mode, size, **options)
    expected = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    for shape in ((None, None, 3), (*size[::-1], 3)):
      feature = jpeg_feature.picture(shape, lossless=False)
      by_tf = feature.decode_example(tf.constant(data))
      np.testing.assert_array_equal(by_tf.numpy(), expected)
      if mode == "RGB":
        by_numpy = feature.decode_example_np(data)
        np.testing.assert_array_equal(by_numpy, expected)

  def test_tfds_own_feature_has_others(self):
    data = _jpeg("RGB", (64, 64), quality=85)
    other = tfds.features.Image(encoding_format="jpeg")
    ours = jpeg_feature.picture((None, None, 3), lossless=False)
    tensor = tf.constant(data)
    difference = other.decode_example(tensor) != ours.decode_example(tensor)
    self.assertTrue(difference.numpy().any())

  def test_features_json(self):
    features = tfds.features.FeaturesDict(
      {
        "jpeg": jpeg_feature.picture((None, 7, 3), lossless=False),
        "png": jpeg_feature.picture((8, 8, 3), lossless=True),
      }
    )
    again = tfds.features.FeaturesDict.from_json(features.to_json())
    self.assertIsInstance(again["jpeg"], jpeg_feature.Jpeg)
    self.assertEqual(again["jpeg"].shape, (None, 7, 3))
    self.assertNotIsInstance(again["png"], jpeg_feature.Jpeg)


def _video(frames: int = 3) -> bytes:
  clip = np.zeros((frames, 16, 24, 3), np.uint8)
  clip += 60 * np.arange(frames, dtype=np.uint8)[:, None, None, None]
  return movies.encode(clip)


class MovieTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    pytest.importorskip("av", reason="the extra `video`")

  def test_bytes_are_stored_as_they_are(self):
    feature = movie_feature.Movie((3, 16, 24, 3))
    data = _video()
    self.assertEqual(feature.encode_example(data), data)
    file = pathlib.Path(self.create_tempdir().full_path) / "a.mp4"
    file.write_bytes(data)
    self.assertEqual(feature.encode_example(file), data)

  def test_both_readers_give_the_decoders_frames(self):
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
