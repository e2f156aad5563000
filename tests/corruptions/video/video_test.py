"""What every perturbation of videos must do, whoever wrote it."""

import itertools
import pathlib

import numpy as np
from absl.testing import parameterized
from PIL import Image

from robust_tfds import conditions, corruptions, errors
from robust_tfds.corruptions import plugins, seeding, video
from robust_tfds.corruptions.video import random_rotation
from tests import contracts

_NAMES = conditions.VIDEOS.known_names
_TEMPORAL = [n for n in _NAMES if video.is_temporal(n)]
_CODECS = [n for n in _NAMES if video.is_codec(n)]
_PIXELS = [n for n in _NAMES if n not in (*_TEMPORAL, *_CODECS)]
# One of each kind of plugin; the others are slow tests.
_KINDS = ("shot_noise", "random_rotation", "translation")


def _plugin(name: str) -> contracts.Source:
  """The file of a perturbation, or its row if that says it all."""
  if conditions.VIDEOS.row(name).plugin:
    return repr(conditions.VIDEOS.row(name))
  return pathlib.Path(video.__file__).parent / f"{name}.py"


def _key(name="x", severity=1, example="clip"):
  return corruptions.example_key(0, "ucf101_p", name, severity, example)


def _small(frames=5, height=40, width=52):
  rng = np.random.default_rng(0)
  coarse = Image.fromarray(rng.integers(0, 256, (6, 8, 3), np.uint8))
  image = np.asarray(coarse.resize((width, height), Image.Resampling.BICUBIC))
  return np.stack([np.roll(image, 2 * i, 1) for i in range(frames)])


class IndexTest(parameterized.TestCase):
  @parameterized.parameters(*_TEMPORAL)
  def test_perturb_video_gathers(self, name):
    clip = _small(20)
    for severity in (1, 5):
      index = corruptions.frame_indices(20, name, severity, key=_key(name))
      got = corruptions.perturb_video(clip, name, severity, key=_key(name))
      np.testing.assert_array_equal(got, clip[index])

  def test_paper_segments(self):
    for severity, segment in enumerate((4, 8, 16, 32, 64), 1):
      got = corruptions.frame_indices(100, "jumbling", severity, key=_key())
      np.testing.assert_array_equal(got // segment, np.arange(100) // segment)
      self.assertFalse((got == np.arange(100)).all())
    for severity, segment in enumerate((64, 32, 16, 8, 4), 1):
      got = corruptions.frame_indices(256, "box_jumbling", severity, key=_key())
      starts = got[::segment]
      self.assertTrue((starts % segment == 0).all())
      np.testing.assert_array_equal(np.sort(got), np.arange(256))

  @parameterized.parameters(*_TEMPORAL)
  def test_the_shortest_clips(self, name):
    for length, severity in itertools.product((1, 2, 3), (1, 5)):
      got = corruptions.frame_indices(length, name, severity, key=_key())
      self.assertNotEmpty(got)
      self.assertTrue(((got >= 0) & (got < length)).all())

  def test_draws_differ_between_keys_and_repeat(self):
    one, two, again = (
      corruptions.frame_indices(300, "jumbling", 5, key=_key(example=e))
      for e in ("a", "b", "a")
    )
    np.testing.assert_array_equal(one, again)
    self.assertFalse((one == two).all())


class VideoTest(parameterized.TestCase):
  def test_names(self):
    self.assertEqual(corruptions.video_names(), conditions.VIDEOS.names())
    self.assertContainsSubset(corruptions.video_names("temporal"), _TEMPORAL)
    self.assertLen(
      [n for g in conditions.VIDEOS.groups for n in corruptions.video_names(g)],
      18,
    )

  def test_kinds(self):
    published = conditions.VIDEOS.names()
    temporal = [n for n in _TEMPORAL if n in published]
    self.assertSequenceEqual(corruptions.video_names("temporal"), temporal)
    self.assertEqual([n for n in _CODECS if n in published], ["mpeg1", "mpeg2"])

  @contracts.cases(_PIXELS, _plugin, quick=_KINDS)
  def test_padding_changes_nothing(self, name):
    sizes = np.array([(40, 52), (33, 64), (64, 31), (1, 5)])
    canvases = np.random.default_rng(0).integers(
      0, 256, (4, 64, 64, 3), np.uint8
    )
    keys = conditions.raw_keys(0, "ucf101_p", name, 3, list("abcd"))
    numbers = np.array([0, 3, 1, 2])
    for edition in video.EDITIONS:
      drawn = video.draws(
        name, 3, edition=edition, sizes=sizes, keys=keys, numbers=numbers
      )
      padded = np.asarray(
        video.perturb_canvases(canvases, name, 3, drawn, sizes=sizes)
      )
      after = video.sizes_after(name, edition, sizes)
      for i, (height, width) in enumerate(sizes):
        alone = video.perturb_frames(
          canvases[i : i + 1, :height, :width],
          name,
          3,
          edition=edition,
          key=keys[i],
          first=numbers[i],
        )
        tall, wide = after[i]
        self.assertEqual(alone.shape, (1, tall, wide, 3))
        np.testing.assert_array_equal(
          padded[i, :tall, : 3 * wide].reshape(tall, wide, 3), alone[0]
        )

  @contracts.cases(_PIXELS, _plugin, quick=_KINDS)
  def test_parts_of_a_clip_are_those_of_the_whole(self, name):
    clip = _small(20)
    key = _key(name)
    whole = np.asarray(corruptions.perturb_video(clip, name, 2, key=key))
    self.assertEqual(whole.dtype, np.uint8)
    for first, last in ((0, 3), (3, 20), (17, 18)):
      part = video.perturb_frames(
        clip[first:last], name, 2, key=key, first=first
      )
      np.testing.assert_array_equal(part, whole[first:last])
    some = np.array([2, 5, 11])
    part = video.perturb_frames(clip[some], name, 2, key=key, first=some)
    np.testing.assert_array_equal(part, whole[some])

  @parameterized.parameters("gaussian_noise", "random_rotation", "translation")
  def test_every_frame_has_its_own_draw(self, name):
    still = np.repeat(_small(1), 8, axis=0)
    got = np.asarray(corruptions.perturb_video(still, name, 5, key=_key()))
    self.assertGreater(len({f.tobytes() for f in got}), 4)

  def test_the_released_translation_has_one_crop_for_the_clip(self):
    still = np.repeat(_small(1, 256, 300), 4, axis=0)
    got = np.asarray(
      corruptions.perturb_video(
        still, "translation", 5, edition="code", key=_key()
      )
    )
    self.assertEqual(got.shape, (4, 224, 224, 3))
    self.assertLen({f.tobytes() for f in got}, 1)
    wide = np.zeros((2, 288, 288, 3), np.uint8)
    got = corruptions.perturb_video(
      wide, "translation", 1, edition="code", key=_key()
    )
    self.assertEqual(got.shape, (2, 256, 256, 3))

  def test_rotation_angles(self):
    keys = seeding.frame_keys(seeding.raw(_key()), np.arange(5000))
    drawn = random_rotation.degrees(2, keys)
    self.assertEqual((drawn.min(), drawn.max()), (-13, 13))
    counts = np.bincount(drawn + 13)
    self.assertLess(counts.max() / counts.min(), 1.8)

  def test_mpeg_of_odd_sides(self):
    clip = _small(6, 41, 53)
    got = corruptions.perturb_video(clip, "mpeg2", 1, key=_key())
    self.assertEqual(got.shape, clip.shape)

  @parameterized.parameters(*_CODECS)
  def test_mpeg_of_any_frame_rate(self, name):
    clip = _small(4)
    want = corruptions.perturb_video(clip, name, 1, key=_key())
    for fps in (5, 12, 14.985, 24000 / 1001, 29.97, 30, 59.94, 240, 1000):
      got = corruptions.perturb_video(clip, name, 1, key=_key(), fps=fps)
      np.testing.assert_array_equal(got, want, err_msg=f"{fps}")

  @parameterized.parameters(*_CODECS)
  def test_a_stream_is_the_whole(self, name):
    clip = _small(6)
    whole = corruptions.perturb_video(clip, name, 3, key=_key(), fps=30.0)
    np.testing.assert_array_equal(
      np.stack(list(video.stream(iter(clip), name, 3, 30.0))), whole
    )

  def test_streams_are_of_codecs(self):
    with self.assertRaisesRegex(errors.UserError, "codecs are mpeg1, mpeg2"):
      next(video.stream(_small(), "freezing", 1))

  def test_images_and_editions_exist(self):
    for plugin in map(plugins.video, _NAMES):
      if isinstance(plugin, conditions.OfImage):
        severities = plugins.picture(plugin.image).severities
        self.assertIn(plugin.edition, severities)

  @parameterized.parameters(
    ({"name": "jpg"}, "Did you mean 'jpeg'"),
    ({"edition": "papr"}, "Did you mean 'paper'"),
    ({"video": np.zeros((4, 4, 3), np.uint8)}, "uint8"),
    ({"video": np.zeros((2, 4, 4, 4), np.uint8)}, "uint8"),
    ({"video": np.zeros((2, 4, 4, 3))}, "uint8"),
    ({"video": np.zeros((0, 4, 4, 3), np.uint8)}, "at least one frame"),
  )
  def test_refusals(self, change, message):
    arguments = {"video": _small(), "name": "jpeg", "severity": 1, **change}
    with self.assertRaisesRegex(ValueError, message):
      corruptions.perturb_video(
        arguments.pop("video"),
        arguments.pop("name"),
        arguments.pop("severity"),
        key=_key(),
        **arguments,
      )

  def test_one_frame(self):
    got = corruptions.perturb_video(_small(1), "jumbling", 3, key=_key())
    np.testing.assert_array_equal(got, _small(1))

  def test_what_needs_the_whole_clip(self):
    for name in ("mpeg1", "freezing"):
      with self.assertRaisesRegex(ValueError, "needs the whole clip"):
        video.perturb_frames(_small(), name, 1, key=_key())
    with self.assertRaisesRegex(ValueError, "is not temporal"):
      corruptions.frame_indices(5, "jpeg", 1, key=_key())
    for count in (0, -1, 2.5, 8.0, float("nan"), "8", True, None, 10**13):
      with self.assertRaisesRegex(errors.UserError, "num_frames .* got"):
        corruptions.frame_indices(count, "freezing", 1, key=_key())
    for fps in (0, -1, float("nan"), float("inf"), "25", True, [25], 1j, 1e300):
      with self.assertRaisesRegex(errors.UserError, "fps .* got"):
        corruptions.perturb_video(_small(), "mpeg2", 1, key=_key(), fps=fps)
    with self.assertRaisesRegex(ValueError, "Did you mean 'camera'"):
      corruptions.video_names("camra")
