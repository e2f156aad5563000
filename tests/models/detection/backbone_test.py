"""The pyramid's levels: strides and channels; nothing is computed."""

import jax
import jax.numpy as jnp
from absl.testing import parameterized
from flax import nnx

from models.detection import backbone


def _stages() -> list[jax.ShapeDtypeStruct]:
  """Features of strides 4 to 32 of a picture of 64 x 96 px."""
  return [
    jax.ShapeDtypeStruct((2, 64 // s, 96 // s, width), jnp.float32)
    for s, width in ((4, 256), (8, 512), (16, 1024), (32, 2048))
  ]


class PyramidTest(parameterized.TestCase):
  @parameterized.parameters(
    (0, "pool", (4, 8, 16, 32, 64)),
    (1, "p5", (8, 16, 32, 64, 128)),
    (1, "c5", (8, 16, 32, 64, 128)),
  )
  def test_levels(self, first, coarser, strides):
    def levels(stages):
      rngs = nnx.Rngs(0)
      return backbone.Pyramid(first=first, coarser=coarser, rngs=rngs)(stages)

    got = jax.eval_shape(levels, _stages())
    self.assertEqual(
      [level.shape for level in got],
      [(2, -(-64 // s), -(-96 // s), backbone.WIDTH) for s in strides],
    )
