"""Views of videos: where they lie, and what temporal perturbations change."""

import numpy as np
from absl.testing import parameterized

from eval.pipeline import views
from robust_tfds.conditions import Condition
from robust_tfds.corruptions import video as perturbations


class ViewsTest(parameterized.TestCase):
  def test_one_view_of_a_long_video_starts_at_its_first_frame(self):
    got = views.view_indices(300, 30.0, 8, 8, 1)
    np.testing.assert_array_equal(got[0], [0, 9, 18, 27, 36, 45, 54, 63])

  def test_views_are_spread_over_what_is_left(self):
    got = views.view_indices(300, 30.0, 8, 8, 10)
    np.testing.assert_array_equal(got[:, 0], [23.6 * v // 1 for v in range(10)])
    self.assertLess(got.max(), 300)

  def test_other_frame_rates_span_the_same_time(self):
    got = views.view_indices(300, 15.0, 8, 8, 1)
    np.testing.assert_array_equal(
      got[0], (np.linspace(0, 1, 8) * 31).astype(int)
    )

  @parameterized.parameters(1, 3, 15)
  def test_short_videos_repeat_their_last_frame(self, frames):
    got = views.view_indices(frames, 30.0, 8, 8, 2)
    self.assertEqual(got.max(), frames - 1)
    self.assertTrue((np.diff(got, axis=1) >= 0).all())

  @parameterized.parameters(1, 2, 8, 100)
  def test_uniform_over_the_whole_video(self, frames):
    got = views.uniform_indices(frames, 8)
    self.assertEqual(got.shape, (1, 8))
    self.assertTrue(((got >= 0) & (got < frames)).all())
    self.assertTrue((np.diff(got) >= 0).all())


class NumbersTest(parameterized.TestCase):
  def _numbers(self, condition, sampling="dense", views_=2):
    key = condition.key(0, "ucf101_p", "v")
    how = views.Views(views_, sampling)
    return how.numbers(50, 30.0, condition, key, views.Clip(4, 3))

  def test_most_conditions_show_what_clean_shows(self):
    want = views.view_indices(50, 30.0, 4, 3, 2)
    for condition in (Condition(), Condition("jpeg", 2), Condition("mpeg1", 1)):
      np.testing.assert_array_equal(self._numbers(condition), want)

  @parameterized.parameters("freezing", "sampling", "jumbling")
  def test_temporal_ones_come_before_the_sampling(self, name):
    condition = Condition(name, 3)
    key = condition.key(0, "ucf101_p", "v")
    order = perturbations.frame_indices(50, name, 3, key=key)
    want = order[views.view_indices(len(order), 30.0, 4, 3, 2)]
    np.testing.assert_array_equal(self._numbers(condition), want)
    (uniform,) = self._numbers(condition, "uniform", 1)
    want = order[views.uniform_indices(len(order), 4)[0]]
    np.testing.assert_array_equal(uniform, want)
