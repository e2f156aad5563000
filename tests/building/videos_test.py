"""Perturbed videos on disk: names, codecs, equal frames, parts of a video."""

import shutil
import tempfile

import numpy as np
import pytest
import tensorflow_datasets as tfds
from absl.testing import parameterized

from robust_tfds import conditions, corruptions, datasets
from robust_tfds.building import base, videos
from robust_tfds.datasets.digits_video import (
  digits_video_dataset_builder as own,
)
from robust_tfds.reading import videos as video_files
from tests import quick


def _examples(config, folder, **options):
  built = datasets.prepare(
    "digits_video_p", config, data_dir=folder, limit=3, **options
  )
  found = tfds.as_numpy(built.as_dataset(split="test"))
  return {e["example_id"].decode(): e for e in found}


def _recipe(name):
  config = base.Config(name="", condition=conditions.VIDEOS.condition(name, 3))
  return base.Recipe("set", "paper", config)


class CodecTest(parameterized.TestCase):
  def test_names(self):
    config = datasets.builder("digits_video_p", "jpeg_2", codec="h264")
    self.assertEqual(config.builder_config.name, "jpeg_2_h264")
    self.assertIn("clean_h264", datasets.builder("ucf101_ds").builder_configs)
    self.assertEqual(
      datasets.builder("ucf101_p", "source", codec="h264").builder_config.name,
      "source",
    )
    with self.assertRaisesRegex(ValueError, "Did you mean 'h264'"):
      datasets.builder("digits_video_p", "jpeg_2", codec="h265")

  def test_h264(self):
    folder = self.create_tempdir().full_path
    lossless = _examples("motion_blur_1", folder)
    lossy = _examples("motion_blur_1", folder, codec="h264")
    for example_id, example in lossy.items():
      want = lossless[example_id]["video"].astype(float)
      self.assertEqual(example["video"].shape, want.shape)
      error = np.sqrt(np.mean((example["video"] - want) ** 2))
      self.assertBetween(error, 0.1, 5)

  @parameterized.parameters("lossless", "h264")
  def test_equal_bytes_and_odd_sizes(self, codec):
    video = np.random.default_rng(0).integers(0, 256, (5, 33, 47, 3), np.uint8)
    first = videos.encode(iter(video), 25.0, codec)
    self.assertEqual(videos.encode(iter(video), 25.0, codec), first)
    self.assertEqual(video_files.decode(first).shape, video.shape)


class PerturbedVideosTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = tempfile.mkdtemp(prefix="digits_video_p")
    cls.addClassCleanup(shutil.rmtree, cls.folder)

  def test_ninety_conditions_and_clean(self):
    self.assertLen(datasets.conditions("digits_video_p"), 91)

  @quick.cases(
    ["clean_0", "freezing_3"], ["shot_noise_2", "mpeg2_1", "translation_4"]
  )
  def test_prepared_is_what_the_library_makes(self, config):
    name, severity = config.rsplit("_", 1)
    config = "clean" if name == "clean" else config
    sources = _examples("source", self.folder)
    found = _examples(config, self.folder)
    self.assertLen(found, 3)
    for example_id, example in found.items():
      want = sources[example_id]["video"]
      if name != "clean":
        key = corruptions.example_key(
          0, "digits_video_p", name, int(severity), example_id
        )
        want = corruptions.perturb_video(
          want, name, int(severity), key=key, fps=own.FPS
        )
      np.testing.assert_array_equal(example["video"], want)
      self.assertEqual(example["fps"], own.FPS)
      self.assertEqual(example["label"], sources[example_id]["label"])

  def test_source_holds_the_files(self):
    built = datasets.prepare(
      "digits_video_p", "source", data_dir=self.folder, limit=3
    )
    raw = built.as_dataset(
      split="test", decoders={"video": tfds.decode.SkipDecoding()}
    )
    for example in tfds.as_numpy(raw):
      number = int(example["example_id"].decode()[5:9])
      self.assertEqual(example["video"], own.Encoded("test", number).data())

  @pytest.mark.slow
  def test_a_long_video_in_parts_is_the_whole(self):
    rng = np.random.default_rng(0)
    video = rng.integers(0, 256, (150, 16, 16, 3), np.uint8)
    data = videos.encode(iter(video), 30.0)
    np.testing.assert_array_equal(video_files.decode(data), video)
    parts = list(videos.perturbed(data, "a", _recipe("gaussian_noise"), 30.0))
    key = corruptions.example_key(0, "set", "gaussian_noise", 3, "a")
    whole = corruptions.perturb_video(video, "gaussian_noise", 3, key=key)
    np.testing.assert_array_equal(np.stack(parts), whole)

  @parameterized.parameters("box_jumbling", "reverse_sampling", "mpeg1")
  def test_what_moves_frames_streams_too(self, name):
    rng = np.random.default_rng(0)
    video = rng.integers(0, 256, (70, 17, 16, 3), np.uint8)
    data = videos.encode(iter(video), 25.0)
    got = videos.perturbed(data, "a", _recipe(name), 25.0)
    key = corruptions.example_key(0, "set", name, 3, "a")
    want = corruptions.perturb_video(video, name, 3, key=key, fps=25.0)
    np.testing.assert_array_equal(np.stack(list(got)), want)

  def test_frames_are_gathered_in_parts(self):
    rng = np.random.default_rng(0)
    video = rng.integers(0, 256, (20, 16, 16, 3), np.uint8)
    data = videos.encode(iter(video), 25.0)
    index = rng.integers(0, 20, 50)
    got = videos.frames_at(data, index, held_bytes=7 * video[0].nbytes)
    np.testing.assert_array_equal(np.stack(list(got)), video[index])

  def test_refusals(self):
    with self.assertRaisesRegex(ValueError, "Did you mean 'jpeg'"):
      datasets.builder("digits_video_p", "jpg_3")
