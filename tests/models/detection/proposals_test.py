"""Proposals: thinned within their level, clipped, none without area."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest

from robust_tfds.models.detection import proposals
from robust_tfds.models.detection.rules import RULES


class ThinnedTest(absltest.TestCase):
  def test_best_first_within_levels(self):
    boxes = np.array(
      [
        [0, 0, 10, 10],
        [0, 0, 10, 9],  # the first one again, worse
        [0, 0, 10, 9],  # the same, of another level
        [90, 0, 120, 10],  # beyond the picture in part
        [110, 0, 120, 10],  # beyond it: no area is left
      ],
      np.float32,
    )
    logits = np.array([1, 0, -1, 3, 5], np.float32)
    level = np.array([0, 0, 1, 0, 0], np.int32)
    size = np.array([[50, 100]], np.int32)

    def thinned(logits, boxes):
      each = logits[None], boxes[None], jnp.asarray(level), size
      return proposals.thinned(*each, RULES["torchvision"], 5)

    got, valid = jax.jit(thinned)(logits, boxes)
    np.testing.assert_array_equal(
      np.asarray(got)[np.asarray(valid)],
      [[90, 0, 100, 10], [0, 0, 10, 10], [0, 0, 10, 9]],
    )
