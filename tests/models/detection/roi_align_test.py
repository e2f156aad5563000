"""RoIAlign against loops over its samples."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized

from models.detection import roi_align
from tests.models.detection import by_hand


class RoIAlignTest(parameterized.TestCase):
  @parameterized.parameters((2, False, 0), (0, True, 0), (2, False, 1))
  def test_against_loops(self, samples, aligned, edge):
    rng = np.random.default_rng(0)
    levels = [
      rng.standard_normal((1, 256 >> i, 128 >> i, 3), np.float32)
      for i in range(4)
    ]
    boxes = np.array(
      [
        [3.2, 5.1, 60.7, 80.3],  # P2
        [10, 300, 200, 480],  # P3
        [0, 0, 512, 700],  # P5
        [509, 40, 512, 90],  # at the right border, thinner than a pixel
        [100, 1020, 130, 1024],  # at the lower border
      ],
      np.float32,
    )
    want_levels = [0, 1, 3, 0, 0]
    self.assertEqual(roi_align.level_of(boxes, 4).tolist(), want_levels)
    just = np.array([[0, 0, 111.5, 111.5]], np.float32)
    self.assertEqual(int(roi_align.level_of(just, 4)[0]), 0)
    self.assertEqual(int(roi_align.level_of(just, 4, edge=1.0)[0]), 1)
    got = jax.jit(
      lambda f, b: roi_align.pool(
        f, b, 7, samples=samples, aligned=aligned, edge=float(edge)
      )
    )(levels, boxes[None])
    for i, (box, level) in enumerate(zip(boxes, want_levels)):
      how = 4 * 2**level, 7, samples, aligned, edge
      want = by_hand.pooled(levels[level][0], box, *how)
      np.testing.assert_allclose(got[0, i], want, atol=2e-4)

  def test_empty_boxes_are_harmless(self):
    levels = [jnp.ones((1, 8 >> i, 8 >> i, 2)) for i in range(4)]
    pool = jax.jit(roi_align.pool, static_argnums=2)
    got = pool(levels, jnp.zeros((1, 3, 4)), 7)
    self.assertTrue(np.isfinite(np.asarray(got)).all())
