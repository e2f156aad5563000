"""Features of data sets."""

import io

import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds
from absl.testing import parameterized
from PIL import Image

from robust_tfds.datasets import jpeg_feature
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
