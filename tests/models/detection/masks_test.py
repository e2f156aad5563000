"""Masks pasted into pictures."""

import numpy as np
from absl.testing import absltest

from models.detection import masks


class MasksTest(absltest.TestCase):
  def test_boxes_over_the_border(self):
    soft = np.full((2, 28, 28), 0.9, np.float32)
    boxes = np.array([[-5.0, -4, 6, 5], [14, 9, 30, 30]])
    got = masks.paste(soft, boxes, (12, 20))
    self.assertEqual(got.shape, (2, 12, 20))
    self.assertTrue(got[0, :4, :5].all())
    self.assertFalse(got[0, 8:].any() or got[0, :, 9:].any())
    self.assertTrue(got[1, 10:, 15:].all())
    self.assertFalse(got[1, :7].any() or got[1, :, :12].any())

  def test_refuses_a_batch(self):
    with self.assertRaisesRegex(ValueError, "of one picture"):
      masks.paste(np.zeros((2, 3, 28, 28)), np.zeros((2, 3, 4)), (8, 8))
