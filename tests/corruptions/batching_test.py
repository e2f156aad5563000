"""Which batches of pictures are refused, and grey ones."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds import errors
from robust_tfds.corruptions import batching
from robust_tfds.corruptions.ops import layout


class ImagesTest(parameterized.TestCase):
  @parameterized.parameters(
    (np.zeros((32, 32, 3), np.float32), "must be uint8"),
    (np.zeros((32, 32, 3), np.uint16), "x >> 8"),
    (np.zeros((32, 32, 4), np.uint8), r"an alpha channel.*\[..., :3\]"),
    (np.zeros((32, 32, 2), np.uint8), r"an alpha channel.*\[..., :1\]"),
    (np.zeros((32, 32, 3), bool), "must be uint8"),
    (np.zeros((32, 32, 3), np.int64), "must be uint8"),
    (np.zeros(32, np.uint8), r"\[H, W, 3\]"),
    (np.zeros((3, 32, 32), np.uint8), r"channels first.*\(1, 2, 0\)"),
    (np.zeros((2, 3, 32, 32), np.uint8), r"channels first.*\(0, 2, 3, 1\)"),
    (np.zeros((2, 32, 32, 3), np.uint8), "a batch. Use corruptions.corrupt_b"),
    (np.zeros((32, 32, 5), np.uint8), r"got shape \[32, 32, 5\]\.$"),
    (np.zeros((0, 32, 3), np.uint8), "Empty image"),
    (np.zeros((2, 32, 32, 3), np.uint8), r"\[H, W, 3\]"),
  )
  def test_refused(self, image, message):
    with self.assertRaisesRegex(errors.UserError, message):
      batching.three_channels(image)

  @parameterized.parameters(
    ((2, 3, 32, 32), r"channels first.*\(0, 2, 3, 1\)"),
    ((32, 32, 3), r"one picture.*images\[None\]"),
    ((2, 32, 32), r"grey ones.*images\[..., None\]"),
    ((2, 32, 32, 4), "an alpha channel"),
  )
  def test_refused_as_batches(self, shape, message):
    with self.assertRaisesRegex(errors.UserError, message):
      batching.three_channels(np.zeros(shape, np.uint8), batch=True)

  @parameterized.parameters(np.asarray, jnp.asarray, np.ndarray.tolist)
  def test_grey_has_three_equal_channels(self, form):
    grey = np.arange(6, dtype=np.uint8).reshape(2, 3)
    if form is np.ndarray.tolist:
      with self.assertRaisesRegex(errors.UserError, "must be uint8"):
        batching.three_channels(form(grey))
      return
    colour = batching.three_channels(form(grey))
    np.testing.assert_array_equal(colour, np.stack([grey] * 3, axis=-1))
    self.assertEqual(isinstance(colour, jax.Array), form is jnp.asarray)


class KeysAndSizesTest(absltest.TestCase):
  def test_keys(self):
    with self.assertRaisesRegex(errors.UserError, "One key per image"):
      batching.checked_keys(np.zeros((2, 2), np.uint32), 1)
    with self.assertRaisesRegex(errors.UserError, "example_key"):
      batching.checked_keys(np.zeros((2, 2)), 2)

  def test_sizes(self):
    canvases = (2, 8, 9, 3)
    self.assertIsNone(batching.checked_sizes(None, canvases))
    for sizes in (
      [(3, 4)],
      [(3.0, 4.0)] * 2,
      [("3", "4")] * 2,
      [(True, True)] * 2,
      [(np.nan, 4)] * 2,
      [(3, 4, 3)] * 2,
      [3, 4, 3, 4],
      "x",
      32,
    ):
      sizes = np.array(sizes)
      message = r"sizes must be integers \[2, 2\]"
      with self.assertRaisesRegex(errors.UserError, message):
        batching.checked_sizes(sizes, canvases)
    for size in ((0, 4), (-1, 4), (9, 9), (8, 10), (2**40, 3)):
      for form in (list, np.array):
        with self.assertRaisesRegex(errors.UserError, "row 1: .* got"):
          batching.checked_sizes(form([(8, 9), size]), canvases)
    with self.assertRaisesRegex(errors.UserError, "row 0"):
      batching.checked_sizes([(8, 9), (8, 9)], canvases, least=9)
    for form in (list, lambda sizes: np.array(sizes, np.uint8)):
      got = batching.checked_sizes(form([(8, 9), (1, 1)]), canvases)
      np.testing.assert_array_equal(got, [(8, 9), (1, 1)])


class OverPicturesTest(absltest.TestCase):
  def test_sizes_and_rows_belong_to_their_pictures(self):
    images = np.arange(24, dtype=np.uint8).reshape(2, 2, 2, 3)
    sizes = jnp.array([[1, 2], [2, 1]])

    def described(image, size, row):
      return jnp.stack([image[0, 0, 0], size.h, size.w, row])

    got = batching.over_pictures(described, images, sizes, jnp.array([7, 8]))
    np.testing.assert_array_equal(got, [[0, 1, 2, 7], [12, 2, 1, 8]])

  def test_without_sizes_they_fill_their_canvases(self):
    seen = []

    def sizes(image, size):
      seen.append(size)
      return image

    images = np.zeros((2, 4, 5, 3), np.uint8)
    got = batching.over_pictures(sizes, images, None)
    self.assertEqual(got.shape, images.shape)
    self.assertIn(layout.Size(4, 5), seen)
