"""What a mask head is to find, against loops."""

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest

from models.detection import mask_targets
from models.detection.truth import Truth
from tests.models.detection import by_hand

_BINS = 7


class MaskTargetsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    rng = np.random.default_rng(0)
    self.masks = rng.random((1, 2, 20, 30)) > 0.5
    self.size, self.factor = (36, 50), (18 / 36, 25 / 50)
    self.boxes = np.array(
      [[[2.3, 4.1, 40.2, 33.9], [0, 0, 50, 36], [10.5, 3.2, 16.1, 9.9]]],
      np.float32,
    )
    self.index = np.array([[0, 1, 1]])

  def _got(self, style):
    truth = Truth(
      jnp.zeros((1, 2, 4)),
      jnp.zeros((1, 2), jnp.int32),
      jnp.asarray(self.masks),
      None,
      jnp.array([self.factor[::-1] * 2], jnp.float32),
      jnp.array([self.size]),
    )
    got = jax.jit(
      lambda boxes, index: mask_targets.box_targets(
        truth, boxes, index, bins=_BINS, style=style, canvas=(64, 64)
      )
    )(self.boxes, self.index)
    self.assertEqual(got.shape, (1, 3, _BINS, _BINS))
    return np.asarray(got[0])

  def _resized_masks(self):
    """The masks at the network's size: the nearest pixel before."""
    rows = np.floor(np.arange(self.size[0]) * self.factor[0]).astype(int)
    columns = np.floor(np.arange(self.size[1]) * self.factor[1]).astype(int)
    return self.masks[0][:, rows][:, :, columns].astype(np.float64)

  def _pooled(self, aligned):
    masks = self._resized_masks()
    return np.array(
      [
        by_hand.pooled(masks[i][..., None], b, 1, _BINS, 0, aligned, 0)[..., 0]
        for b, i in zip(self.boxes[0], self.index[0])
      ]
    )

  def test_mean_is_torchvisions(self):
    np.testing.assert_allclose(
      self._got("mean"), self._pooled(False), atol=1e-5
    )

  def test_rounded_is_mmdetection_2s(self):
    want = self._pooled(True)
    sure = np.abs(want - 0.5) > 1e-5
    np.testing.assert_array_equal(self._got("rounded")[sure], want[sure] >= 0.5)
    self.assertGreater(sure.mean(), 0.9)

  def test_resized_is_mmdetection_1s(self):
    """Cut out, then OpenCV's bilinear rule, written out."""
    masks, got = self._resized_masks(), self._got("resized")
    for n, (box, which) in enumerate(zip(self.boxes[0], self.index[0])):
      x0, y0, x1, y1 = np.floor(box).astype(int)
      part = masks[which][y0 : y1 + 1, x0 : x1 + 1]
      high, wide = y1 - y0 + 1, x1 - x0 + 1
      # Beyond the picture's last pixel there is none: it is repeated.
      part = np.pad(
        part, ((0, high - part.shape[0]), (0, wide - part.shape[1])), "edge"
      )
      for i, j in np.ndindex(_BINS, _BINS):
        y = np.clip((i + 0.5) * high / _BINS - 0.5, 0, high - 1)
        x = np.clip((j + 0.5) * wide / _BINS - 0.5, 0, wide - 1)
        value = 0.0
        for a in {int(y), min(int(y) + 1, high - 1)}:
          for b in {int(x), min(int(x) + 1, wide - 1)}:
            value += (1 - abs(y - a)) * (1 - abs(x - b)) * part[a, b]
        if abs(value - 0.5) > 1e-4:
          self.assertEqual(got[n, i, j], value >= 0.5)


if __name__ == "__main__":
  absltest.main()
