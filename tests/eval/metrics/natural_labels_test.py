"""Right or wrong against several labels; predictions matched to frames."""

import numpy as np
from absl.testing import parameterized

from eval.metrics import natural_labels


class LabelsTest(parameterized.TestCase):
  def test_any_of_several(self):
    labels = [[1, -1], [2, 0], [2, 0]]
    got = natural_labels.correct([[1, 0, 1], [0, 2, 2]], labels, 3)
    np.testing.assert_array_equal(
      got, [[True, True, False], [False, True, True]]
    )

  @parameterized.named_parameters(
    ("prediction", [3], [[0]], "Frame 0: unknown prediction 3; .* 0..2"),
    ("negative", [-1], [[0]], "unknown prediction -1"),
    ("label", [0, 0], [[1], [30]], "Frame 1: unknown label 30"),
    ("none", [0, 0], [[1], [-1]], "Frame 1 has no label"),
    ("shapes", [0, 0], [[1]], r"\[2\] and labels \[1, 1\]"),
  )
  def test_refuses(self, predicted, labels, message):
    with self.assertRaisesRegex(ValueError, message):
      natural_labels.correct(predicted, labels, 3)

  def test_aligned(self):
    got = natural_labels.aligned(["b", "a"], ["a", "c", "b"], [[1, 2, 3]])
    np.testing.assert_array_equal(got, [[3, 1]])

  def test_names_missing_frames(self):
    wanted = ["val/v/000001.JPEG", "val/v/000002.JPEG"]
    with self.assertRaisesRegex(
      ValueError, "No prediction for 1 of 2 frames: 'val/v/000002.JPEG'"
    ):
      natural_labels.aligned(wanted, wanted[:1], [1])
    with self.assertRaisesRegex(ValueError, "No prediction for 2 of 2"):
      natural_labels.aligned(wanted, [], [])
    with self.assertRaisesRegex(ValueError, "and 6 more"):
      natural_labels.aligned(list("bcdefghij"), ["a"], [1])

  def test_names_a_frame_predicted_twice(self):
    with self.assertRaisesRegex(ValueError, "More than one .* frame 'a'"):
      natural_labels.aligned(["a"], ["a", "a"], [1, 0])
