"""JPEG as array code against Pillow's libjpeg, bit for bit."""

import io

import jax
import numpy as np
from absl.testing import parameterized
from PIL import Image

from robust_tfds.corruptions.ops import jpeg, layout
from tests import quick, tiny_files

_roundtrip = jax.jit(jpeg.roundtrip)


def _picture(height: int, width: int) -> np.ndarray:
  """A gradient with grain: smooth and rough blocks."""
  y, x = np.mgrid[:height, :width]
  smooth = np.stack([4 * x, 5 * y, 3 * (x + y)], axis=-1)
  grain = np.random.default_rng(0).integers(0, 60, smooth.shape)
  return ((smooth + grain * (x > 9)[..., None]) % 256).astype(np.uint8)


def _encoded(picture: np.ndarray, quality: int) -> Image.Image:
  data = io.BytesIO()
  Image.fromarray(picture).save(data, "JPEG", quality=quality)
  return Image.open(data)


class TablesTest(parameterized.TestCase):
  def test_are_pillows(self):
    qualities = (1, 10, 49, 50, 85, 100)
    tables = jpeg.tables(qualities)
    self.assertEqual((tables.shape, tables.dtype), ((6, 2, 8, 8), np.int32))
    for quality, table in zip(qualities, tables, strict=True):
      file = _encoded(_picture(8, 8), quality)
      for got, expected in zip(table, file.quantization.values(), strict=True):
        np.testing.assert_array_equal(got.ravel(), expected)

  @parameterized.parameters(0, 101)
  def test_refuses(self, quality):
    with self.assertRaisesRegex(ValueError, f"1..100, got {quality}"):
      jpeg.tables([quality])


class RoundtripTest(parameterized.TestCase):
  @parameterized.parameters(
    ((32, 48), 25),
    ((23, 37), 10),
    ((17, 5), 80),
    ((1, 2), 50),
    ((3, 3), 85),  # two columns of chroma: repeated, not triangles
    ((16, 16), 7),
    ((10, 33), 100),
  )
  def test_is_pillows_in_a_canvas(self, shape, quality):
    picture = _picture(*shape)
    canvas = np.full((32, 48, 3), 99, np.uint8)
    canvas[: shape[0], : shape[1]] = picture
    table = jpeg.tables([quality])[0]
    got = _roundtrip(canvas, layout.Size(*shape), table)
    got = np.asarray(got).reshape(32, 48, 3)[: shape[0], : shape[1]]
    np.testing.assert_array_equal(got, np.asarray(_encoded(picture, quality)))

  @quick.cases([(37, 3)], [(32, 48), (31, 47), (5, 3)])
  def test_is_pillows_where_it_fills_the_canvas(self, height, width):
    """A batch of two pictures: noise, and a gradient with grain."""
    noise = tiny_files.noise(height, width)
    pictures = np.stack([noise, _picture(height, width)])
    got = jpeg.roundtrip_batch(pictures, 30)
    for picture, pixels in zip(pictures, got, strict=True):
      np.testing.assert_array_equal(pixels, np.asarray(_encoded(picture, 30)))
