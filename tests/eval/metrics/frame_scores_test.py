"""One model's sets of frames, in every way of the task `frames`."""

import numpy as np
from absl.testing import absltest

from eval.metrics import frame_scores


def _columns(**changes):
  columns = {
    "group_id": np.array(["a", "a", "a", "b", "b"]),
    "frame": np.array([0, 1, -2, 0, 4]),
    "labels": np.array([[1, 2], [1, -1], [1, -1], [0, -1], [0, -1]]),
    "top5": np.array([[2], [1], [0], [0], [0]]),
    "reviewed": np.ones(5, bool),
    "frame_type": np.array(["I", "", "", "P", ""]),
    "fps": np.array([29.97, 29.97, 29.97, 25.0, 25.0]),
    "linf": np.array([0, 0.2, 0.4, 0, 0.6], np.float32),
  }
  return {**columns, **changes}


def _metrics(**changes):
  return dict(frame_scores.Frames.from_columns(_columns(**changes)).metrics())


class FrameScoresTest(absltest.TestCase):
  def test_right(self):
    got = frame_scores.right(_columns())
    self.assertEqual(got.tolist(), [True, True, False, True, True])
    beyond = _columns(top5=np.full((5, 1), 99))
    self.assertFalse(frame_scores.right(beyond).any())

  def test_headlines(self):
    got = _metrics()
    self.assertEqual([got["acc_orig"][0][0], got["acc_orig"][1]], [1.0, 2])
    self.assertEqual(got["acc_pmk"][0][0], 0.5)
    self.assertEqual(got["drop"][0][0], 0.5)
    self.assertEqual(got["acc_pmk/k=1"][0][0], 1.0)
    self.assertEqual(got["acc_pmk/k=2"][0][0], 0.5)

  def test_breakdowns(self):
    got = _metrics()
    self.assertEqual(got["acc_orig/class=2"][1], 1)
    self.assertEqual(got["acc_pmk/frame_type=I"][0][0], 0.0)
    self.assertEqual(got["acc_pmk/without_frame_type=I"][0][0], 1.0)
    self.assertEqual(got["acc_pmk/fps=29"][0][0], 0.0)
    self.assertEqual(got["error/offset=-2"][0][0], 1.0)

  def test_what_is_unknown_has_no_metric(self):
    names = _metrics(
      frame_type=np.full(5, ""), fps=np.zeros(5), linf=np.full(5, np.nan)
    )
    for start in ("frame_type", "fps", "linf"):
      self.assertEmpty([n for n in names if start in n])

  def test_distances_are_compared_in_levels(self):
    got = _metrics()
    self.assertAlmostEqual(got["linf_cdf/pairs=0.20"][0][0], 1 / 3)
    self.assertEqual(got["linf_cdf/mistakes=0.35"][0][0], 0.0)
    self.assertEqual(got["linf_cdf/mistakes=0.40"][0][0], 1.0)

  def test_review_removes_frames_and_whole_sets(self):
    got = _metrics(reviewed=np.array([1, 1, 0, 0, 1], bool))
    self.assertEqual((got["acc_pmk"][0][0], got["acc_pmk"][1]), (1.0, 1))
    self.assertEqual(got["acc_pmk/unreviewed"][1], 2)
    self.assertEqual(got["acc_pmk/same_anchors"][0][0], 0.0)
    self.assertNotIn("acc_pmk/unreviewed", _metrics())
    with self.assertRaisesRegex(ValueError, "accepted no anchor"):
      _metrics(reviewed=np.zeros(5, bool))
