"""3x3 neighbourhoods against slices of a picture that numpy pads."""

import jax
import numpy as np
from absl.testing import absltest
from absl.testing import parameterized

from robust_tfds.corruptions.ops import border
from robust_tfds.corruptions.ops import layout
from robust_tfds.corruptions.ops import stencil


class StencilTest(parameterized.TestCase):
  @parameterized.parameters(
    (border.reflect101, "reflect"), (border.nearest, "edge")
  )
  def test_nine_shifts_that_never_read_beyond_the_picture(self, rule, mode):
    picture = np.random.default_rng(0).integers(0, 256, (4, 5)).astype(np.int32)
    canvas = np.full((6, 8), -1, np.int32)
    canvas[:4, :5] = picture
    padded = np.pad(picture, 1, mode=mode)
    neighbours = jax.jit(stencil.neighbours, static_argnums=2)
    near = neighbours(canvas, layout.Size(4, 5), rule)
    self.assertLen(near, 9)
    for (y, x), got in near.items():
      self.assertEqual(got.shape, (6, 8))
      expected = padded[1 + y : 5 + y, 1 + x : 6 + x]
      np.testing.assert_array_equal(got[:4, :5], expected, err_msg=f"{y} {x}")

  def test_inside(self):
    got = np.asarray(stencil.inside((4, 5), layout.Size(2, 3)))
    expected = np.zeros((4, 5), bool)
    expected[:2, :3] = True
    np.testing.assert_array_equal(got, expected)


if __name__ == "__main__":
  absltest.main()
