"""Parts of the 3-D ResNets: strides of time and of space, names of files."""

import re

import jax
import jax.numpy as jnp
from absl.testing import absltest
from flax import nnx

from models.video import bottleneck


class BottleneckTest(absltest.TestCase):
  def test_a_split_convolution_strides_time_and_space_apart(self):
    def apply(clips):
      return bottleneck.Split(4, (2, 1), rngs=nnx.Rngs(0))(clips)

    clips = jax.ShapeDtypeStruct((1, 8, 6, 10, 4), jnp.float32)
    self.assertEqual(jax.eval_shape(apply, clips).shape, (1, 4, 6, 10, 4))

  def test_pyslowfasts_names(self):
    for theirs, ours in (
      ("s2.branch1.weight", "s2.branch1_conv.weight"),
      ("s2.branch1_bn.bias", "s2.branch1_norm.bias"),
      ("s2.branch2.b.weight", "s2.branch2.conv_b.weight"),
      ("s2.branch2.c_bn.weight", "s2.branch2.norm_c.weight"),
    ):
      name = theirs
      for pattern, replacement in bottleneck.PYSLOWFAST:
        name = re.sub(pattern, replacement, name)
      self.assertEqual(name, ours)
