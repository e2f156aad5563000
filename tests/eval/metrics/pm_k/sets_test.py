"""Anchor sets as index arrays: order and names."""

import numpy as np
from absl.testing import absltest, parameterized

from eval.metrics.pm_k import sets as sets_lib

_IDS = ["b", "a", "a", "b", "a"]
_FRAMES = [0, 3, -2, 1, 0]


class GroupTest(absltest.TestCase):
  def test_indices(self):
    sets = sets_lib.group(_IDS, _FRAMES)
    self.assertLen(sets, 2)
    self.assertEqual(sets.name.tolist(), ["a", "b"])
    self.assertEqual(sets.set_index.tolist(), [1, 0, 0, 1, 0])
    self.assertEqual(sets.anchor.tolist(), [4, 0])
    self.assertEqual(sets.order.tolist(), [2, 4, 1, 0, 3])
    self.assertEqual(sets.start.tolist(), [0, 3])
    self.assertEqual(sets.row(1), "set 'a', offset +3")

  def test_videos(self):
    videos = ["y", "x", "x", "y", "x"]
    sets = sets_lib.group(_IDS, _FRAMES, videos)
    self.assertEqual(sets.video.tolist(), ["x", "y"])
    self.assertEqual(sets.videos(np.array([3, 4])).tolist(), ["y", "x"])
    with self.assertRaisesRegex(ValueError, "'a', offset -2 is of another"):
      sets_lib.group(_IDS, _FRAMES, ["y", "x", "y", "y", "x"])
    with self.assertRaisesRegex(ValueError, r"video must be \[5\] like frame"):
      sets_lib.group(_IDS, _FRAMES, ["y"])


class CheckedTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.sets = sets_lib.group(_IDS, _FRAMES)

  @parameterized.parameters(bool, np.int64, np.float32)
  def test_numbers_become_bool(self, dtype):
    got = sets_lib.checked(np.array([[1, 0, 1, 1, 0]], dtype), self.sets)
    self.assertEqual(got.dtype, bool)
    self.assertEqual(got.tolist(), [[True, False, True, True, False]])

  def test_a_missing_prediction_is_named(self):
    with self.assertRaisesRegex(
      ValueError, r"No prediction for set 'a', offset -2 \(1 in all\)"
    ):
      sets_lib.checked([1.0, 1.0, np.nan, 1.0, 0.0], self.sets)
