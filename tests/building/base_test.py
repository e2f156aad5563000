"""The base of all datasets: names of configs, seeds, options, keys, own rows."""

import dataclasses

import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds import conditions, corruptions, datasets, errors
from robust_tfds.building import (
  base,
  objects,
  pictures,
  sequences,
  source,
  videos,
)

_CORRUPTED = [n for n in datasets.names() if datasets.family(n)]


def _config(name, config, **options):
  return datasets.builder_class(name).config_of(config, **options)


class NamesTest(parameterized.TestCase):
  @parameterized.parameters(
    ("digits_c", "fog_3", {}, "fog_3"),
    ("digits_c", "fog_3", {"seed": 7}, "fog_3_seed7"),
    ("digits_c", "fog_3_seed7", {}, "fog_3_seed7"),
    ("imagenet_c", "fog_3", {"codec": "raw", "seed": 2}, "fog_3_raw_seed2"),
    ("imagenet_c", "fog_3_raw", {"codec": ""}, "fog_3_raw"),
    ("imagenet_c", "fog_3", {"codec": "published"}, "fog_3_published"),
    (
      "imagenet_c",
      "fog_3",
      {"codec": "raw", "geometry": "squash256_crop227"},
      "fog_3_raw_squash256_crop227",
    ),
    (
      "imagenet_c",
      "fog_3",
      {"geometry": "short342_crop299"},
      "fog_3_short342_crop299_inception",
    ),
    (
      "imagenet_c",
      "clean",
      {"geometry": "short342_crop299"},
      "clean_short342_crop299",
    ),
    ("digits_p", "gaussian_noise_1", {}, "gaussian_noise"),
    ("digits_p", "shot_noise_2", {"codec": "h264"}, "shot_noise_2_h264"),
    ("digits_p", "source", {"codec": "h264", "seed": 3}, "source"),
    ("cityscapes_c", "fog_2", {"groups": "drop"}, "fog_2_no_groups"),
    (
      "cityscapes_c",
      "fog_2_no_groups",
      {"codec": "jpeg85", "seed": 7},
      "fog_2_jpeg85_no_groups_seed7",
    ),
    ("cityscapes_c", "fog_2_no_groups", {"groups": "crowd"}, "fog_2"),
    ("digits_vid_robust", "clean", {"seed": 7}, "reviewed"),
    ("ucf101_ds", "clean", {"seed": 7}, "clean"),
  )
  def test_options_in_names(self, name, config, options, expected):
    self.assertEqual(_config(name, config, **options).name, expected)

  @parameterized.parameters(*datasets.names())
  def test_every_config_is_found_under_its_name(self, name):
    cls = datasets.builder_class(name)
    for config in cls.BUILDER_CONFIGS:
      self.assertIs(cls.config_of(config.name), config)

  @parameterized.parameters(*_CORRUPTED)
  def test_every_condition_of_the_family(self, name):
    listed = [c.config for c in datasets.family(name).conditions()]
    self.assertEqual(datasets.conditions(name), listed)

  @parameterized.parameters(
    ("digits", {"codec": "raw"}, "digits takes no codec, got 'raw'"),
    ("digits", {"config": "fog_1"}, "digits takes no config, got 'fog_1'"),
    ("digits_c", {"codec": "png"}, "Unknown codec 'png'"),
    ("digits_c", {"groups": "drop"}, "Unknown option of digits_c 'groups'"),
    ("digits_c", {"geometry": "imagenet"}, "takes no geometry"),
    ("cityscapes_c", {"groups": "dorp"}, "Did you mean 'drop'"),
  )
  def test_refusals(self, name, options, message):
    with self.assertRaisesRegex(errors.UserError, message):
      datasets.builder(name, **{"config": "", **options})


class FactsTest(absltest.TestCase):
  def test_editions_and_families(self):
    self.assertEqual(datasets.edition("digits_c"), "cifar10")
    self.assertIs(datasets.family("digits_c"), conditions.PICTURES)
    self.assertIs(datasets.family("ucf101_p"), conditions.VIDEOS)
    for name in ("digits", "digits_vid_robust", "ucf101_ds"):
      self.assertEqual(datasets.edition(name), "")
      self.assertIsNone(datasets.family(name))

  def test_codecs_default_first(self):
    self.assertEqual(
      datasets.codecs("imagenet_c"), ("jpeg85", "raw", "published")
    )
    self.assertEqual(datasets.codecs("digits"), ())


class SeedTest(parameterized.TestCase):
  def test_another_seed_is_built_apart(self):
    folder = self.create_tempdir().full_path
    pixels = {}
    for seed in (0, 7):
      built = datasets.prepare(
        "digits_c", "gaussian_noise_3", seed=seed, data_dir=folder, limit=2
      )
      rows = list(built.as_dataset("test"))
      pixels[seed] = {
        r["example_id"].numpy().decode(): r["image"].numpy() for r in rows
      }
    self.assertEqual(built.builder_config.name, "gaussian_noise_3_seed7")
    clean = datasets.prepare("digits_c", "clean", seed=7, data_dir=folder)
    self.assertEqual(clean.builder_config.name, "clean")
    (row, *_) = [
      r
      for r in clean.as_dataset("test")
      if r["example_id"].numpy().decode() in pixels[7]
    ]
    name = row["example_id"].numpy().decode()
    for seed in (0, 7):
      expected = corruptions.corrupt(
        row["image"].numpy(),
        "gaussian_noise",
        3,
        edition="cifar10",
        key=corruptions.example_key(
          seed, "digits_c", "gaussian_noise", 3, name
        ),
      )
      np.testing.assert_array_equal(pixels[seed][name], expected)

  def test_published_data_has_no_seed(self):
    with self.assertRaisesRegex(
      errors.UserError, "have no seed, got seed 7: leave it out"
    ):
      datasets.builder("imagenet_c", "fog_3", codec="published", seed=7)
    with self.assertRaisesRegex(errors.UserError, "hold no 'clean'"):
      datasets.builder("imagenet_c", "clean", codec="published")


class KeysTest(parameterized.TestCase):
  @parameterized.product(name=_CORRUPTED, seed=(0, 7))
  def test_of_every_builder(self, name, seed):
    family = datasets.family(name)
    levels = family.levels("gaussian_noise")
    for condition in family.select("common,extra", levels)[1::7]:
      built = datasets.builder(name, condition.config, seed=seed, data_dir="/x")
      ids = ["a", "b/000294.png"]
      np.testing.assert_array_equal(
        built._recipe().keys(ids),
        conditions.raw_keys(seed, name, condition.name, condition.level, ids),
      )

  @parameterized.parameters(0, 294)
  def test_a_frames_number_is_no_part_of_them(self, frame):
    image = np.random.default_rng(0).integers(0, 256, (40, 48, 3), np.uint8)
    example = objects.Source(
      "a.png",
      image_id=1,
      picture=source.Pixels(image),
      annotation=objects.KnownObjects([]),
      frame=frame,
    )
    built = datasets.builder("cityscapes_c", "gaussian_noise_3", data_dir="/x")
    (row,) = objects.encode_chunk([example], recipe=built._recipe())
    key = corruptions.example_key(
      0, "cityscapes_c", "gaussian_noise", 3, "a.png"
    )
    expected = corruptions.corrupt(
      image, "gaussian_noise", 3, edition="any", key=key
    )
    self.assertEqual(row[2], pictures.encode(expected, "raw"))
    example = objects.example(row, masks=True, difficult=False)[1]
    self.assertEqual(example["frame"], frame)


class OwnConditionsTest(parameterized.TestCase):
  @parameterized.parameters(
    (pictures.Builder, ("raw", base.PUBLISHED), "own_one_5"),
    (sequences.Builder, ("png", base.PUBLISHED), "own_one"),
    (videos.Builder, ("lossless", base.PUBLISHED), "own_one_5"),
  )
  def test_a_row_is_a_config(self, kind, codecs, config):
    family = dataclasses.replace(
      kind.FAMILY,
      rows=(*kind.FAMILY.rows, conditions.Row("own_one", "digital", "own")),
    )

    class Builder(kind, skip_registration=True):
      VERSION = "1.0.0"
      name = "mine"
      FAMILY = family
      CODECS = codecs

    self.assertIn(config, Builder.condition_names())
    self.assertEqual(Builder.config_of(config).condition.name, "own_one")
    self.assertNotIn(
      f"{config}_published", [c.name for c in Builder.BUILDER_CONFIGS]
    )
    with self.assertRaisesRegex(errors.UserError, f"hold no '{config}'"):
      Builder.config_of(config, codec=base.PUBLISHED)
