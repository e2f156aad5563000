"""Pictures in a page: which kind of file, whole pixels."""

import base64
import io

import numpy as np
from absl.testing import absltest
from PIL import Image

from robust_tfds.html_pages import pictures

_NOISE = np.random.default_rng(0).integers(0, 256, (80, 100, 3), np.uint8)


def _read(uri: str) -> tuple[str, np.ndarray]:
  head, _, data = uri.partition(",")
  image = Image.open(io.BytesIO(base64.b64decode(data)))
  return head, np.asarray(image)


class PicturesTest(absltest.TestCase):
  def test_small_pictures_are_kept_to_the_pixel(self):
    head, pixels = _read(pictures.uri(_NOISE[:64, :64]))
    self.assertEqual(head, "data:image/png;base64")
    np.testing.assert_array_equal(pixels, _NOISE[:64, :64])

  def test_large_ones_are_jpeg(self):
    head, pixels = _read(pictures.uri(_NOISE))
    self.assertEqual(
      (head, pixels.shape), ("data:image/jpeg;base64", (80, 100, 3))
    )
