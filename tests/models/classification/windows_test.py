"""Windows of maps: which tokens lie in one, and how far apart."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest

from models.classification import windows
from robust_tfds import models
from tests.models import drawn


class WindowsTest(absltest.TestCase):
  def test_part_goes_row_by_row(self):
    x = jnp.arange(4 * 6).reshape(1, 4, 6, 1)
    parts = windows.part(x, (2, 2))
    self.assertEqual(parts.shape, (1, 6, 4, 1))
    np.testing.assert_array_equal(parts[0, 1, :, 0], [2, 3, 8, 9])
    np.testing.assert_array_equal(parts[0, 3, :, 0], [12, 13, 18, 19])

  def test_join_is_the_inverse(self):
    x = np.random.default_rng(0).standard_normal((2, 6, 9, 5))
    np.testing.assert_array_equal(
      windows.join(windows.part(x, (3, 3)), (3, 3), (6, 9)), x
    )

  def test_relative_positions(self):
    size = 3
    pairs = windows.relative_positions((size, size))
    self.assertEqual(pairs.shape, (9, 9))
    # From the last token (2, 2) to the first (0, 0): offsets -2 and -2.
    self.assertEqual(pairs[0, 8], 0)
    self.assertEqual(pairs[8, 0], (2 * size - 1) ** 2 - 1)
    self.assertEqual(set(np.diag(pairs)), {12})  # the middle of 5 x 5
    self.assertLen(np.unique(pairs), 25)

  def test_clips_as_pictures(self):
    x = np.random.default_rng(0).standard_normal((2, 4, 6, 9, 5))
    parts = windows.part(x, (2, 3, 3))
    self.assertEqual(parts.shape, (2, 12, 18, 5))
    np.testing.assert_array_equal(
      parts[:, 1].reshape(2, 2, 3, 3, 5), x[:, :2, :3, 3:6]
    )
    back = windows.join(parts, (2, 3, 3), (4, 6, 9))
    np.testing.assert_array_equal(back, x)
    pairs = windows.relative_positions((2, 3, 3))
    # From (1, 2, 2) to (0, 0, 0): the first of 3 x 5 x 5 offsets.
    self.assertEqual((pairs[0, 17], pairs[17, 0]), (0, 74))
    np.testing.assert_array_equal(
      pairs[:9, :9] - pairs[0, 0], windows.relative_positions((3, 3)) - 12
    )


class SizesTest(absltest.TestCase):
  def test_swin_takes_any_size_and_maxvit_its_own(self):
    model = models.get("swin_t", num_classes=4)
    variables = drawn.abstract(model)
    batch = jax.ShapeDtypeStruct((2, 61, 90, 3), np.uint8)
    got = jax.eval_shape(model.apply, variables, batch)
    self.assertEqual(got.shape, (2, 4))
    with self.assertRaisesRegex(ValueError, "expected 224 x 224"):
      models.get("maxvit_t").apply({}, np.zeros((1, 256, 256, 3), np.uint8))
