"""Position-sensitive RoI pooling against loops and torchvision's."""

import jax
import numpy as np
import pytest
from absl.testing import absltest

from models.detection import ps_roi_pool
from tests.models import extension_ops


def _loops(maps, box, bins, stride):
  """MXNet's kernel for one box: `[bins, bins, C]`."""
  height, width, channels = maps.shape
  outputs = channels // bins**2
  start = np.floor(box[:2] + 0.5) / stride
  end = (np.floor(box[2:] + 0.5) + 1) / stride
  step = np.maximum(end - start, 0.1) / bins
  out = np.zeros((bins, bins, outputs))
  for i, j, c in np.ndindex(bins, bins, outputs):
    top, bottom = (
      np.floor(start[1] + i * step[1]),
      np.ceil(start[1] + (i + 1) * step[1]),
    )
    left, right = (
      np.floor(start[0] + j * step[0]),
      np.ceil(start[0] + (j + 1) * step[0]),
    )
    rows = slice(*np.clip([top, bottom], 0, height).astype(int))
    columns = slice(*np.clip([left, right], 0, width).astype(int))
    part = maps[rows, columns, (c * bins + i) * bins + j]
    out[i, j, c] = part.mean() if part.size else 0
  return out


class PoolTest(absltest.TestCase):
  def test_as_loops(self):
    rng = np.random.default_rng(0)
    maps = rng.standard_normal((2, 9, 12, 3 * 4), np.float32)
    boxes = np.array(
      [
        [3.2, 5.1, 60.7, 80.3],
        [0, 0, 191, 143],
        [40.5, 33, 41, 33.4],  # less than a feature
        [185, 120, 191, 143],  # at the corner
        [250, 10, 260, 20],  # beyond the maps: nothing to read
      ],
      np.float32,
    )
    pool = jax.jit(lambda m, b: ps_roi_pool.pool(m, b, 2, stride=16))
    got = pool(maps, np.stack([boxes, boxes[::-1]]))
    for i, box in enumerate(boxes):
      want = _loops(maps[0], box, 2, 16)
      np.testing.assert_allclose(got[0, i], want, atol=1e-5)
      want = _loops(maps[1], box, 2, 16)
      np.testing.assert_allclose(got[1, -1 - i], want, atol=1e-5)
    self.assertFalse(np.asarray(got[0, 4]).any())
    self.assertTrue(np.asarray(got[0, 2]).any())

  @pytest.mark.slow
  def test_as_torchvision(self):
    """Where the two agree: whole pixels, off the right and lower border.

    Theirs end without the last pixel, never read the maps' last row and column,
    and round bins before they are shifted.
    """
    torch, ops = extension_ops.torchvision()
    rng = np.random.default_rng(0)
    maps = rng.standard_normal((1, 20, 30, 5 * 49), np.float32)
    tensor = torch.from_numpy(maps.transpose(0, 3, 1, 2).copy())
    at_zero = np.pad(rng.integers(0, 18, (20, 2)), ((0, 0), (2, 0)))
    corner = rng.integers(0, 4, (20, 2))
    whole = corner + 7 * rng.integers(1, 3, (20, 2)) - 1  # of whole bins
    boxes = np.concatenate([at_zero, np.concatenate([corner, whole], 1)])
    boxes = boxes.astype(np.float32)
    ends = torch.from_numpy(boxes + np.array([0, 0, 1, 1], np.float32))
    want = ops.ps_roi_pool(tensor, [ends], 7).numpy().transpose(0, 2, 3, 1)
    got = np.asarray(ps_roi_pool.pool(maps, boxes[None], 7, stride=1)[0])
    gap = np.abs(got - want).max()
    print(f"ps_roi_pool: {gap:.1e}")
    self.assertLess(gap, 1e-5)
