"""Programs that decode: their names and versions."""

from unittest import mock

import av
import PIL
import tensorflow as tf
from absl.testing import absltest
from PIL import features

from robust_tfds.reading import decoders


class DecodersTest(absltest.TestCase):
  def test_versions(self):
    pictures = decoders.of_pictures()
    self.assertStartsWith(pictures, f"Pillow {PIL.__version__}, libjpeg")
    self.assertStartsWith(
      decoders.of_videos(), f"PyAV {av.__version__}, FFmpeg"
    )
    self.assertEqual(decoders.of_tensorflow(), f"TensorFlow {tf.__version__}")

  def test_another_libjpeg(self):
    versions = {"pil": "11.0.0", "libjpeg_turbo": None, "jpg": "9.6"}
    with mock.patch.object(features, "version", versions.get):
      self.assertEqual(decoders.of_pictures(), "Pillow 11.0.0, libjpeg 9.6")


if __name__ == "__main__":
  absltest.main()
