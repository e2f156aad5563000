"""What editions look at: slices, and boxes that are resized."""

import jax
import numpy as np
from absl.testing import absltest

from robust_tfds import resizing
from robust_tfds.corruptions import spec
from robust_tfds.corruptions.ops import edition_crop, layout
from tests import tiny_files

_crop = jax.jit(edition_crop.crop, static_argnums=2)


def _resized(picture: np.ndarray, side: int) -> np.ndarray:
  taps = [resizing.taps(n, side) for n in picture.shape[:2]]
  return resizing.resized(picture, *taps)


class WindowTest(absltest.TestCase):
  def test_halves_go_to_the_even_number(self):
    heights = np.arange(32, 64)
    got = jax.jit(edition_crop.window, static_argnums=1)(
      layout.Size(heights, heights[::-1]), 32
    )
    expected = [int(round((n - 32) / 2)) for n in heights.tolist()]
    np.testing.assert_array_equal(got[0], expected)
    np.testing.assert_array_equal(got[1], expected[::-1])


class CropTest(absltest.TestCase):
  def test_a_picture_of_the_editions_size_stays(self):
    picture = tiny_files.noise(32, 32)
    cifar = spec.edition("cifar10")
    got = edition_crop.crop(picture, layout.Size(32, 32), cifar)
    self.assertIs(got, picture)

  def test_the_centre_in_any_canvas(self):
    picture = tiny_files.noise(37, 50)
    canvas = np.pad(picture, ((0, 27), (0, 14), (0, 0)))
    got = _crop(canvas, layout.Size(37, 50), spec.edition("cifar10"))
    np.testing.assert_array_equal(got, picture[2:34, 9:41])

  def test_imagenet64_is_the_whole_picture(self):
    picture = tiny_files.noise(80, 100)
    canvas = np.pad(picture, ((0, 48), (0, 28), (0, 0)))
    got = _crop(canvas, layout.Size(80, 100), spec.edition("imagenet64"))
    expected = _resized(picture, 64)
    np.testing.assert_array_equal(got, expected)

  def test_tiny_imagenet_is_the_central_square(self):
    picture = tiny_files.noise(80, 100)
    canvas = np.pad(picture, ((0, 48), (0, 28), (0, 0)))
    got = _crop(canvas, layout.Size(80, 100), spec.edition("tiny_imagenet"))
    expected = _resized(picture[:, 10:90], 64)
    np.testing.assert_array_equal(got, expected)

  def test_inception_is_the_central_seven_eighths(self):
    picture = tiny_files.noise(320, 400)
    size = layout.Size(320, 400)
    got = _crop(picture, size, spec.edition("inception"))
    expected = _resized(picture[20:300, 25:375], 299)
    np.testing.assert_array_equal(got, expected)

  def test_margins_of_inception_go_to_the_even_number(self):
    picture = tiny_files.noise(323, 340)  # margins of 41 and 43
    size = layout.Size(323, 340)
    got = _crop(picture, size, spec.edition("inception"))
    expected = _resized(picture[20:302, 22:319], 299)
    np.testing.assert_array_equal(got, expected)
