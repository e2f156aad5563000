"""SlowFast takes a multiple of four frames."""

import jax
import numpy as np
from absl.testing import absltest

from robust_tfds import models


class FramesTest(absltest.TestCase):
  def test_refuses_other_lengths(self):
    model = models.get("slowfast_r50")
    variables = jax.eval_shape(model.init, jax.random.key(0))
    clips = jax.ShapeDtypeStruct((1, 6, 64, 64, 3), np.uint8)
    with self.assertRaisesRegex(ValueError, "6 frames, expected a multiple"):
      jax.eval_shape(model.apply, variables, clips)
