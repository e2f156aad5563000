"""Datasets of sequences: names, codecs, sizes, the same frames as on the fly."""

import pathlib
import shutil
import tempfile
from unittest import mock

import numpy as np
import pytest
import tensorflow_datasets as tfds
from absl.testing import parameterized
from PIL import Image

import robust_tfds
from robust_tfds import conditions, corruptions, datasets
from robust_tfds.building import geometry
from robust_tfds.building import sequences as sequence_sets
from robust_tfds.datasets.digits import digits_dataset_builder
from tests import quick, tiny_files

_WNID = "n01440764"


def _examples(builder, split):
  return list(tfds.as_numpy(builder.as_dataset(split=split)))


class NamesTest(parameterized.TestCase):
  @parameterized.parameters(
    ("digits_p", "translte", "Did you mean 'translate'"),
    ("digits_p", "translate_2", "chosen in the metric"),
    ("digits_p", "gaussian_noise_4", "Difficulty must be 1-3, got 4"),
  )
  def test_unknown(self, name, config, message):
    with self.assertRaisesRegex(ValueError, message):
      datasets.builder(name, config)

  def test_unknown_codec(self):
    with self.assertRaisesRegex(ValueError, "Did you mean 'h264'"):
      datasets.builder("digits_p", "translate", codec="h265")
    with self.assertRaisesRegex(ValueError, "no 'clean': take .* .png, h264."):
      datasets.builder("imagenet_p", "clean", codec="published")


class DigitsPTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = tempfile.mkdtemp(prefix="digits_p")
    cls.addClassCleanup(shutil.rmtree, cls.folder)

  def _build(self, config, **options):
    return datasets.prepare(
      "digits_p", config, data_dir=self.folder, limit=6, **options
    )

  @parameterized.parameters("translate", "gaussian_noise_2", "zoom_blur")
  def test_prepared_is_what_the_library_makes(self, config):
    built = self._build(config)
    condition = conditions.SEQUENCES.parse(config)
    sources = {
      e["example_id"]: e["image"]
      for e in _examples(self._build("source"), "test")
    }
    found = _examples(built, "test")
    self.assertLen(found, 6)
    for example in found:
      key = condition.key(0, "digits_p", example["example_id"].decode())
      expected = corruptions.sequence(
        sources[example["example_id"]], config, edition="cifar10", key=key
      )
      np.testing.assert_array_equal(example["frames"], expected)
      self.assertEqual(example["group_id"], example["example_id"])

  def test_clean_is_one_frame_of_the_source(self):
    clean = _examples(self._build("clean"), "test")
    source = _examples(self._build("source"), "test")
    for c, s in zip(clean, source, strict=True):
      np.testing.assert_array_equal(c["frames"], s["image"][None])

  def test_h264_is_lossy_near_and_the_same_again(self):
    raw = _examples(self._build("rotate"), "test")[0]["frames"]
    one = self._build("rotate", codec="h264")
    self.assertEqual(one.builder_config.name, "rotate_h264")
    frames = _examples(one, "test")[0]["frames"]
    self.assertEqual(frames.shape, raw.shape)
    error = np.sqrt(np.mean((frames.astype(float) - raw) ** 2))
    self.assertBetween(error, 0.1, 12)
    np.testing.assert_array_equal(
      frames, sequence_sets.through_h264(raw, "rotate")
    )

  @pytest.mark.slow
  def test_array_record_holds_the_same(self):
    for codec in ("png", "h264"):
      tfrecord = _examples(self._build("tilt", codec=codec), "test")
      other = datasets.prepare(
        "digits_p",
        "tilt",
        data_dir=self.create_tempdir().full_path,
        limit=6,
        codec=codec,
        file_format="array_record",
      )
      by_id = {
        e["example_id"]: np.stack(list(e["frames"]))
        for e in other.as_data_source(split="test")
      }
      for example in tfrecord:
        np.testing.assert_array_equal(
          by_id[example["example_id"]], example["frames"]
        )

  def test_load_takes_a_slash(self):
    folder = self.create_tempdir().full_path
    few = digits_dataset_builder.sources("test")[:2]
    self.enterContext(
      mock.patch.object(digits_dataset_builder, "sources", return_value=few)
    )
    loaded = robust_tfds.load(
      "digits_p/shot_noise/2", split="test[:1]", data_dir=folder, try_gcs=False
    )
    example = next(iter(tfds.as_numpy(loaded)))
    self.assertEqual(example["frames"].shape, (31, 32, 32, 3))
    self.assertTrue((pathlib.Path(folder) / "digits_p/shot_noise_2").is_dir())


class ImagenetPTest(parameterized.TestCase):
  """Pictures of several sizes, as `<wnid>/<name>.JPEG`."""

  def setUp(self):
    super().setUp()
    self.manual = pathlib.Path(self.create_tempdir().full_path)
    self.data = self.create_tempdir().full_path
    folder = self.manual / "val" / _WNID
    folder.mkdir(parents=True)
    for i, size in enumerate([(320, 240), (240, 400), (256, 256)]):
      (folder / f"ILSVRC2012_val_0000000{i + 1}.JPEG").write_bytes(
        tiny_files.encoded(tiny_files.smooth(*size, seed=i), "JPEG")
      )

  def _build(self, name, config, **options):
    return datasets.prepare(
      name, config, data_dir=self.data, manual_dir=self.manual, **options
    )

  @quick.cases(["brightness"], ["rotate"])
  @pytest.mark.slow
  def test_sequences_of_any_size(self, config):
    sources = _examples(self._build("imagenet_p", "source"), "validation")
    self.assertEqual(
      sorted(s["image"].shape for s in sources),
      [(256, 256, 3), (256, 341, 3), (426, 256, 3)],
    )
    by_id = {s["example_id"]: s["image"] for s in sources}
    for example in _examples(self._build("imagenet_p", config), "validation"):
      key = corruptions.example_key(
        0, "imagenet_p", config, 1, example["example_id"].decode()
      )
      expected = corruptions.sequence(
        by_id[example["example_id"]], config, key=key
      )
      np.testing.assert_array_equal(example["frames"], expected)
      self.assertEqual(example["frames"].shape, (31, 224, 224, 3))
    for example in _examples(self._build("imagenet_p", "clean"), "validation"):
      path = self.manual / "val" / _WNID / example["example_id"].decode()
      crop = geometry.decode(path.read_bytes(), "imagenet", path.name)
      np.testing.assert_array_equal(example["frames"], crop[None])

  def test_imagenet64(self):
    clean = _examples(self._build("imagenet64_p", "clean"), "validation")
    for example in clean:
      path = self.manual / "val" / _WNID / example["example_id"].decode()
      small = geometry.decode(path.read_bytes(), "squash64", path.name)
      np.testing.assert_array_equal(example["frames"], small[None])
    translate = self._build("imagenet64_p", "translate")
    shape = _examples(translate, "validation")[0]["frames"].shape
    self.assertEqual(shape, (31, 64, 64, 3))

  @parameterized.parameters("gaussian_noise", "rotate")
  @pytest.mark.slow  # of 64 px it is a quick one
  def test_at_299_px(self, config):
    sources = _examples(
      self._build("imagenet_p", "source", geometry="inception"), "validation"
    )
    by_id = {s["example_id"]: s["image"] for s in sources}
    self.assertIn((240, 320, 3), [i.shape for i in by_id.values()])
    built = self._build("imagenet_p", f"{config}_inception")
    for example in _examples(built, "validation"):
      example_id = example["example_id"]
      key = corruptions.example_key(
        0, "imagenet_p", config, 1, example_id.decode()
      )
      expected = corruptions.sequence(
        by_id[example_id], config, edition="inception", key=key
      )
      np.testing.assert_array_equal(example["frames"], expected)
      self.assertEqual(example["frames"].shape, (31, 299, 299, 3))

  def test_palette_pictures_are_resized_before_rgb(self):
    path = self.manual / "palette.png"
    picture = tiny_files.smooth(300, 200).quantize(16)
    picture.save(path)
    ours = geometry.decode(
      path.read_bytes(), "short100", path.name, convert_last=True
    )
    nearest = picture.convert("RGB").resize(
      (150, 100), Image.Resampling.NEAREST
    )
    np.testing.assert_array_equal(ours, np.asarray(nearest))

  def test_missing_sources(self):
    with self.assertRaisesRegex(
      FileNotFoundError, "No ImageNet validation|empty"
    ):
      datasets.prepare(
        "imagenet_p",
        "clean",
        data_dir=self.data,
        manual_dir=self.create_tempdir().full_path,
      )
