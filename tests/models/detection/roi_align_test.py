"""RoIAlign against loops over its samples."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized

from robust_tfds.models.detection import roi_align


def _sample(level, y, x):
  """A bilinear sample as the extension's kernel takes it."""
  height, width = level.shape[:2]
  if y < -1 or y > height or x < -1 or x > width:
    return np.zeros(level.shape[2])
  total = 0.0
  y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
  for row in {int(y), min(int(y) + 1, height - 1)}:
    for column in {int(x), min(int(x) + 1, width - 1)}:
      weight = (1 - abs(y - row)) * (1 - abs(x - column))
      total = total + weight * level[row, column]
  return total


def _pooled(level, box, stride, bins, samples, aligned):
  start = box / stride - (0.5 if aligned else 0.0)
  size = start[2:] - start[:2]
  if not aligned:
    size = np.maximum(size, 1)
  step = size / bins
  across, down = (
    (samples, samples) if samples else np.maximum(np.ceil(step), 1).astype(int)
  )
  out = np.zeros((bins, bins, level.shape[2]))
  for i, j in np.ndindex(bins, bins):
    for a, b in np.ndindex(down, across):
      y = start[1] + (i + (a + 0.5) / down) * step[1]
      x = start[0] + (j + (b + 0.5) / across) * step[0]
      out[i, j] += _sample(level, y, x) / (down * across)
  return out


class RoIAlignTest(parameterized.TestCase):
  @parameterized.parameters((2, False), (0, True))
  def test_against_loops(self, samples, aligned):
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
    got = jax.jit(
      lambda f, b: roi_align.pool(f, b, 7, samples=samples, aligned=aligned)
    )(levels, boxes[None])
    for i, (box, level) in enumerate(zip(boxes, want_levels)):
      want = _pooled(levels[level][0], box, 4 * 2**level, 7, samples, aligned)
      np.testing.assert_allclose(got[0, i], want, atol=2e-4)

  def test_empty_boxes_are_harmless(self):
    levels = [jnp.ones((1, 8 >> i, 8 >> i, 2)) for i in range(4)]
    pool = jax.jit(roi_align.pool, static_argnums=2)
    got = pool(levels, jnp.zeros((1, 3, 4)), 7)
    self.assertTrue(np.isfinite(np.asarray(got)).all())
