"""Soft masks laid into pictures, and their run lengths."""

import numpy as np
from absl.testing import absltest
from absl.testing import parameterized

from robust_tfds.datasets import rle
from robust_tfds.eval.tasks.parts import masks


class PastedTest(parameterized.TestCase):
  def test_a_full_mask_fills_its_box(self):
    got = masks.pasted(np.ones((4, 4)), np.array([2, 1, 6, 5]), 8, 10)
    want = np.zeros((8, 10), bool)
    want[1:5, 2:6] = True
    np.testing.assert_array_equal(got, want)

  def test_cells_are_spread_over_the_box(self):
    mask = np.zeros((2, 2))
    mask[0, 1] = 1  # top right
    got = masks.pasted(mask, np.array([0, 0, 8, 8]), 8, 8)
    self.assertTrue(got[1, 6])
    self.assertFalse(got[6, 1] or got[1, 1] or got[6, 6])

  def test_the_threshold_is_a_half(self):
    box = np.array([0, 0, 2, 2])
    self.assertTrue(masks.pasted(np.full((2, 2), 0.5), box, 2, 2)[0, 0].all())
    self.assertFalse(masks.pasted(np.full((2, 2), 0.49), box, 2, 2).any())

  @parameterized.parameters(
    ([-4, -4, 4, 4], 16), ([4, -2, 12, 6], 24), ([9, 0, 12, 8], 0)
  )
  def test_boxes_beyond_the_picture_are_cut(self, box, pixels):
    got = masks.pasted(np.ones((4, 4)), np.array(box), 8, 8)
    self.assertEqual(got.shape, (8, 8))
    self.assertEqual(got.sum(), pixels)

  def test_a_box_without_area(self):
    got = masks.pasted(np.ones((4, 4)), np.array([3, 3, 3, 3]), 8, 8)
    self.assertFalse(got.any())


class RunLengthsTest(absltest.TestCase):
  def test_one_word_a_detection(self):
    outputs = {
      "boxes": np.array([[[0, 0, 2, 2], [1, 1, 3, 4], [0, 0, 9, 9]]]),
      "classes": np.array([[4, 0, -1]]),
      "masks": np.ones((1, 3, 2, 2)),
    }
    words = masks.run_lengths(outputs, 0, np.array([5, 6])).split(" ")
    want = [
      rle.encode(masks.pasted(np.ones((2, 2)), box, 5, 6)).counts
      for box in outputs["boxes"][0, :2]
    ]
    self.assertEqual(words, want)

  def test_nothing_detected(self):
    outputs = {
      "boxes": np.zeros((1, 1, 4)),
      "classes": np.array([[-1]]),
      "masks": np.ones((1, 1, 2, 2)),
    }
    self.assertEqual(masks.run_lengths(outputs, 0, np.array([5, 6])), "")


if __name__ == "__main__":
  absltest.main()
