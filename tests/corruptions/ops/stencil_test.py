"""3x3 neighbourhoods against slices of a picture that numpy pads."""

import jax
import numpy as np
from absl.testing import parameterized

from robust_tfds.corruptions.ops import border, layout, stencil


class StencilTest(parameterized.TestCase):
  @parameterized.parameters(
    (border.reflect101, "reflect"), (border.nearest, "edge")
  )
  def test_nine_shifts_that_never_read_beyond_the_picture(self, rule, mode):
    picture = np.random.default_rng(0).integers(0, 256, (4, 5)).astype(np.int32)
    canvas = np.full((6, 8), -1, np.int32)
    canvas[:4, :5] = picture
    padded = np.pad(picture, 1, mode=mode)
    neighbours = jax.jit(stencil.neighbours, static_argnums=3)
    near = neighbours(canvas, layout.Size(4, 5), np.int32(0), rule)
    self.assertLen(near, 9)
    for (y, x), got in near.items():
      self.assertEqual(got.shape, (6, 8))
      expected = padded[1 + y : 5 + y, 1 + x : 6 + x]
      np.testing.assert_array_equal(got[:4, :5], expected, err_msg=f"{y} {x}")

  @parameterized.parameters(
    (border.reflect101, "reflect"), (border.nearest, "edge")
  )
  def test_a_picture_that_fills_its_canvas(self, rule, mode):
    canvas = np.random.default_rng(0).integers(0, 256, (4, 5)).astype(np.int32)
    padded = np.pad(canvas, 1, mode=mode)
    size = layout.Size(4, 5)
    near = jax.jit(
      lambda c, n: list(stencil.neighbours(c, size, n, rule).values())
    )
    for i, got in enumerate(near(canvas, np.int32(0))):
      y, x = divmod(i, 3)
      np.testing.assert_array_equal(got, padded[y : y + 4, x : x + 5])

  def test_inside(self):
    got = np.asarray(stencil.inside((4, 5), layout.Size(2, 3)))
    expected = np.zeros((4, 5), bool)
    expected[:2, :3] = True
    np.testing.assert_array_equal(got, expected)
