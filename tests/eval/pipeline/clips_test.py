"""Views of videos: where they lie, and which frames are made."""

import types

import numpy as np
from absl.testing import absltest
from absl.testing import parameterized

from robust_tfds import corruptions
from robust_tfds import movies
from robust_tfds.conditions import Condition
from robust_tfds.eval.pipeline import clips
from robust_tfds.eval.pipeline import inputs
from robust_tfds.models.video.spec import VideoSpec
from robust_tfds.reading import videos as video_files

_SPEC = VideoSpec(
  input_px=16, resize="squash", resize_px=16, frames=4, rate=2, num_classes=5
)


def _video(frames=20, seed=0):
  rng = np.random.default_rng(seed)
  return rng.integers(0, 256, (frames, 16, 16, 3), np.uint8)


def _key(name="x"):
  # A clean clip needs a key and does not look at it.
  return corruptions.example_key(0, "digits_video_p", name or "clean", 1, "a")


class ViewsTest(parameterized.TestCase):
  def test_one_view_of_a_long_video_starts_at_its_first_frame(self):
    got = clips.view_indices(300, 30.0, 8, 8, 1)
    np.testing.assert_array_equal(got[0], [0, 9, 18, 27, 36, 45, 54, 63])

  def test_views_are_spread_over_what_is_left(self):
    got = clips.view_indices(300, 30.0, 8, 8, 10)
    np.testing.assert_array_equal(got[:, 0], [23.6 * v // 1 for v in range(10)])
    self.assertLess(got.max(), 300)

  def test_other_frame_rates_span_the_same_time(self):
    got = clips.view_indices(300, 15.0, 8, 8, 1)
    np.testing.assert_array_equal(
      got[0], (np.linspace(0, 1, 8) * 31).astype(int)
    )

  @parameterized.parameters(1, 3, 15)
  def test_short_videos_repeat_their_last_frame(self, frames):
    got = clips.view_indices(frames, 30.0, 8, 8, 2)
    self.assertEqual(got.max(), frames - 1)
    self.assertTrue((np.diff(got, axis=1) >= 0).all())

  @parameterized.parameters(1, 2, 8, 100)
  def test_uniform_over_the_whole_video(self, frames):
    got = clips.uniform_indices(frames, 8)
    self.assertEqual(got.shape, (1, 8))
    self.assertTrue(((got >= 0) & (got < frames)).all())
    self.assertTrue((np.diff(got) >= 0).all())


class MakeTest(parameterized.TestCase):
  def _make(self, video, name, severity=1, views=2):
    return clips.sample_clips(
      video, 30.0, name, severity, "paper", _key(name), _SPEC, views
    )

  def test_clean(self):
    video = _video()
    index = clips.view_indices(20, 30.0, 4, 2, 2)
    np.testing.assert_array_equal(self._make(video, ""), video[index])

  @parameterized.parameters("gaussian_noise", "random_rotation", "zoom_blur")
  def test_only_the_frames_shown_are_made_and_they_are_the_same(self, name):
    video = _video()
    whole = np.asarray(
      corruptions.perturb_video(video, name, 1, key=_key(name))
    )
    index = clips.view_indices(20, 30.0, 4, 2, 2)
    np.testing.assert_array_equal(self._make(video, name), whole[index])

  def test_temporal_ones_come_before_the_sampling(self):
    video = _video()
    order = corruptions.frame_indices(20, "freezing", 2, key=_key("freezing"))
    index = clips.view_indices(len(order), 30.0, 4, 2, 2)
    np.testing.assert_array_equal(
      self._make(video, "freezing", 2), video[order][index]
    )


class FileTest(parameterized.TestCase):
  @parameterized.parameters(
    "",
    "shot_noise",
    "motion_blur",
    "jpeg",
    "mpeg1",
    "mpeg2",
    "sampling",
    "reverse_sampling",
    "jumbling",
    "freezing",
    "translation",
  )
  def test_a_file_gives_what_its_frames_give(self, name):
    # Longer than a part, and of odd sides.
    small = np.random.default_rng(0).integers(0, 256, (45, 6, 7, 3), np.uint8)
    video = small.repeat(6, axis=1).repeat(6, axis=2)[:, :33, :41]
    data = movies.encode(video)
    whole = video_files.decode(data)
    if name:
      made = corruptions.perturb_video(whole, name, 1, key=_key(name), fps=30.0)
      whole = np.asarray(made)
    index = clips.view_indices(len(whole), 30.0, 4, 2, 6)
    want = [clips._cropped(frame, _SPEC) for frame in whole[index.ravel()]]
    for video in (data, video_files.decode(data)):
      got = clips.sample_clips(
        video, 30.0, name, 1, "paper", _key(name), _SPEC, 6
      )
      np.testing.assert_array_equal(got, np.reshape(want, got.shape))

  def test_a_cut_off_file_is_named(self):
    broken = {
      "video": movies.encode(_video())[:400],
      "fps": 30.0,
      "label": 0,
      "example_id": b"v_Archery_g01.avi",
      "group_id": b"g",
    }
    source = types.SimpleNamespace(
      batch_size=1,
      steps=1,
      examples=lambda skipped: iter([broken]),
      prefetch=iter,
    )
    made = clips.Clips(
      source,
      Condition(),
      _SPEC,
      seed=0,
      dataset="d",
      edition="paper",
      views=1,
    )
    with self.assertRaisesRegex(
      video_files.BrokenVideoError, "v_Archery_g01.avi: "
    ):
      list(made.batches())


class ClipsTest(absltest.TestCase):
  def test_batches(self):
    examples = [
      {
        "video": _video(10 + i, i),
        "fps": 30.0,
        "label": i,
        "example_id": f"v{i}".encode(),
        "group_id": b"g",
      }
      for i in range(5)
    ]
    source = types.SimpleNamespace(
      batch_size=2,
      steps=3,
      examples=lambda skipped: iter(examples),
      prefetch=iter,
    )
    made = clips.Clips(
      source,
      Condition("shot_noise", 2),
      _SPEC,
      seed=0,
      dataset="digits_video_p",
      edition="paper",
      views=3,
    )
    batches = list(made.batches())
    self.assertLen(batches, 3)
    for batch in batches:
      self.assertIsInstance(batch, inputs.Batch)
      self.assertEqual(batch.image.shape, (2, 3, 4, 16, 16, 3))
    self.assertEqual(batches[2].mask.tolist(), [True, False])
    self.assertEqual(batches[2].label.tolist(), [4, -1])
    self.assertEqual(batches[1].example_id, ["v2", "v3"])


if __name__ == "__main__":
  absltest.main()
