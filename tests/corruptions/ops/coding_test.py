"""Ops that code pictures and videos."""

import io
from unittest import mock

import jax
import numpy as np
from absl.testing import parameterized
from PIL import Image

from eval.pipeline import predict
from robust_tfds import corruptions
from robust_tfds.conditions import Condition
from robust_tfds.corruptions.ops import jpeg, layout, platforms, sequential_copy
from tests import quick, tiny_files
from tests.eval.pipeline import one_device

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
  """JPEG as array code against Pillow's libjpeg, bit for bit."""

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


def _dependent(x: jax.Array) -> jax.Array:
  return platforms.dependent(x, cpu=lambda x: x + 1, default=lambda x: x - 1)


def _jaxpr() -> str:
  # A function of its own: JAX remembers what it traced of one.
  return str(jax.make_jaxpr(lambda x: _dependent(x))(1.0))


class PlatformsTest(one_device.TestCase):
  """Branches of platforms: both where nobody knows the devices, else theirs."""

  @parameterized.parameters(("cpu", 2), ("gpu", 0), ("tpu", 0))
  def test_the_known_branch_alone(self, platform, want):
    with platforms.assume(platform):
      self.assertEqual(_dependent(np.float32(1)), want)
      self.assertNotIn("platform_index", _jaxpr())
    self.assertIn("platform_index", _jaxpr())
    self.assertEqual(_dependent(np.float32(1)), 2)

  def test_what_a_run_traced_is_not_taken_for_other_devices(self):
    images, keys = one_device.pixels(2, 32, 32, 3), np.zeros((2, 2), np.uint32)
    see = predict.corruptor(self.mesh, "cifar10", "raw")
    condition = Condition("gaussian_blur", 2)
    with mock.patch.object(jax.lax, "platform_dependent") as both:
      jax.clear_caches()
      forgotten = predict._corrupt_step.__wrapped__
      with mock.patch.object(predict, "_corrupt_step", forgotten):
        got = np.asarray(see(self.put(images), None, condition, keys))
      both.assert_not_called()

    def direct(images: jax.Array) -> jax.Array:
      of = {"edition": "cifar10", "keys": keys}
      return corruptions.corrupt_batch(images, "gaussian_blur", 2, **of)

    text = str(jax.make_jaxpr(direct)(images))
    self.assertIn("platform_index", text)
    np.testing.assert_array_equal(got, direct(images))


def _loop(image, down, right, delta):
  """make_imagenet_c.py's glass_blur: a swap of views, that is, a copy."""
  image = image.copy()
  height, width = image.shape
  for h in range(height - delta, delta, -1):
    for w in range(width - delta, delta, -1):
      image[h, w] = image[h + down[h, w], w + right[h, w]]
  return image


class SequentialCopyTest(parameterized.TestCase):
  """The parallel copy against the loop it stands for."""

  @parameterized.parameters(
    ((23, 31), 1), ((23, 31), 4), ((9, 40), 2), ((8, 8), 4), ((3, 3), 1)
  )
  def test_equals_the_loop(self, shape, delta):
    rng = np.random.default_rng(0)
    image = np.arange(shape[0] * shape[1]).reshape(shape)
    down, right = rng.integers(-delta, delta, (2, *shape)).astype(np.int32)
    want = _loop(image, down, right, delta)
    got = sequential_copy.sources(down, right, delta, shape)
    np.testing.assert_array_equal(np.asarray(got).reshape(shape), want)

  def test_long_chains_and_a_traced_size_in_a_canvas(self):
    down = np.zeros((20, 30), np.int32)
    right = np.full((20, 30), 1, np.int32)  # every pixel copies its right one
    right[5] = -1
    size = (15, 22)
    image = np.arange(600).reshape(20, 30)
    corner = tuple(slice(n) for n in size)
    want = _loop(image[corner], down[corner], right[corner], 2)
    got = jax.jit(sequential_copy.sources)(down, right, 2, size)
    got = np.asarray(got).reshape(20, 30)
    np.testing.assert_array_equal(got[corner], want)
