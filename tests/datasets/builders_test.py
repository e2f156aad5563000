"""What every builder of the registry holds."""

import dataclasses
import subprocess
import sys
from unittest import mock

import tensorflow_datasets as tfds
from absl.testing import absltest, parameterized

import robust_tfds
from robust_tfds import conditions, datasets
from robust_tfds.datasets.digits import digits_dataset_builder
from robust_tfds.datasets.digits_c import digits_c_dataset_builder
from robust_tfds.datasets.digits_p import digits_p_dataset_builder
from robust_tfds.datasets.imagenet_c import imagenet_c_dataset_builder
from robust_tfds.datasets.imagenet_p import imagenet_p_dataset_builder
from robust_tfds.datasets.signs import signs_dataset_builder
from robust_tfds.datasets.signs_c import signs_c_dataset_builder
from robust_tfds.datasets.signs_p import signs_p_dataset_builder

_FEW = 24


class CountTest(absltest.TestCase):
  def test_all_digits(self):
    for split, count in (("train", 1438), ("test", 359)):
      self.assertLen(digits_dataset_builder.sources(split), count)


class DigitsTest(tfds.testing.DatasetBuilderTestCase):
  """Some of the digits: all are as these."""

  DATASET_CLASS = digits_dataset_builder.Builder
  SPLITS = {"train": _FEW, "test": _FEW}
  SKIP_TF1_GRAPH_MODE = True

  @classmethod
  def setUpClass(cls):
    whole = digits_dataset_builder.sources
    few = mock.patch.object(
      digits_dataset_builder, "sources", lambda split: whole(split)[:_FEW]
    )
    few.start()
    cls.addClassCleanup(few.stop)
    # Embedded data: there is no dummy_data to point at.
    cls.EXAMPLE_DIR = str(cls.DATASET_CLASS.code_path.parent)
    super().setUpClass()


class DigitsCTest(DigitsTest):
  DATASET_CLASS = digits_c_dataset_builder.Builder
  SPLITS = {"test": _FEW}
  BUILDER_CONFIG_NAMES_TO_TEST = ["clean", "brightness_3"]


class SignsTest(DigitsTest):
  DATASET_CLASS = signs_dataset_builder.Builder
  SPLITS = {"train": 12, "test": 24}

  @classmethod
  def setUpClass(cls):
    few = mock.patch.dict(signs_dataset_builder.COUNTS, cls.SPLITS)
    few.start()
    cls.addClassCleanup(few.stop)
    cls.addClassCleanup(signs_dataset_builder.labels.cache_clear)
    signs_dataset_builder.labels.cache_clear()
    super().setUpClass()


class SignsCTest(SignsTest):
  DATASET_CLASS = signs_c_dataset_builder.Builder
  SPLITS = {"test": 24}
  BUILDER_CONFIG_NAMES_TO_TEST = ["clean", "brightness_3"]


class SignsPTest(SignsTest):
  DATASET_CLASS = signs_p_dataset_builder.Builder
  SPLITS = {"test": 24}
  BUILDER_CONFIG_NAMES_TO_TEST = ["clean", "source", "translate"]


class ImagenetCTest(tfds.testing.DatasetBuilderTestCase):
  DATASET_CLASS = imagenet_c_dataset_builder.Builder
  SPLITS = {"validation": 3}
  BUILDER_CONFIG_NAMES_TO_TEST = ["clean", "clean_raw", "brightness_3"]
  SKIP_TF1_GRAPH_MODE = True


class PublishedImagenetCTest(tfds.testing.DatasetBuilderTestCase):
  DATASET_CLASS = imagenet_c_dataset_builder.Builder
  SPLITS = {"validation": 1}
  BUILDER_CONFIG_NAMES_TO_TEST = ["fog_3_published"]
  SKIP_TF1_GRAPH_MODE = True


class DigitsPTest(DigitsTest):
  DATASET_CLASS = digits_p_dataset_builder.Builder
  SPLITS = {"test": _FEW}
  BUILDER_CONFIG_NAMES_TO_TEST = ["clean", "source", "translate"]


class ImagenetPTest(tfds.testing.DatasetBuilderTestCase):
  DATASET_CLASS = imagenet_p_dataset_builder.Builder
  SPLITS = {"validation": 3}
  BUILDER_CONFIG_NAMES_TO_TEST = [
    "clean",
    "source",
    "tilt",
    "tilt_h264",
  ]
  SKIP_TF1_GRAPH_MODE = True

  @classmethod
  def setUpClass(cls):
    # The same source files as ImageNet-C.
    folder = imagenet_c_dataset_builder.Builder.code_path.parent
    cls.EXAMPLE_DIR = str(folder / "dummy_data")
    super().setUpClass()


class ImportTest(absltest.TestCase):
  """The registry: imports, names, options, refusals of the public functions."""

  def test_import_is_light_and_registers(self):
    code = (
      "import tensorflow_datasets, sys;"
      "before = set(sys.modules);"
      "import robust_tfds;"
      "names = {'tensorflow', 'jax', 'flax', 'models', 'scipy', 'matplotlib'};"
      "heavy = names & (set(sys.modules) - before);"
      "assert not heavy, heavy;"
      "names = robust_tfds.datasets.names();"
      "assert 'imagenet_c' in names and 'digits_c' in names"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class NamesTest(parameterized.TestCase):
  def test_ninety_six_conditions_clean_first(self):
    configs = datasets.builder_class("imagenet_c").condition_names()
    own = conditions.PICTURES.names("own")
    self.assertLen(configs, 96 + 5 * len(own))
    self.assertEqual(configs[:2], ["clean", "gaussian_noise_1"])

  def test_clean_is_the_default(self):
    self.assertEqual(tfds.builder("digits_c").builder_config.name, "clean")

  @parameterized.parameters(
    ("digits_c", "gausian_noise/3", "Did you mean 'gaussian_noise'"),
    ("digits_c", "fog_0", "data that is not corrupted is the config 'clean'"),
    ("digits_c", "fog_6", "must be 1-5, got 6"),
    ("digit_c", "fog_1", "Did you mean 'digits_c'"),
  )
  def test_bad_names(self, name, config, message):
    with self.assertRaisesRegex(ValueError, message):
      robust_tfds.load(f"{name}/{config}")

  def test_options_have_their_own_folder(self):
    folders = {
      datasets.builder("imagenet_c", "clean", data_dir="/x", **o).data_dir
      for o in (
        {},
        {"codec": "raw"},
        {"geometry": "squash256_crop227"},
        {"codec": "raw", "geometry": "squash256_crop227"},
      )
    }
    self.assertLen(folders, 4)

  def test_codecs_of_configs_that_users_make(self):
    config = datasets.builder("digits_c", "fog_3").builder_config
    with self.assertRaisesRegex(ValueError, "Unknown codec 'webp'"):
      datasets.builder_class("digits_c")(
        config=dataclasses.replace(config, name="mine", codec="webp")
      )

  def test_published_codecs(self):
    codecs = {n: datasets.published_codec(n) for n in datasets.names()}
    jpeg = {n for n, c in codecs.items() if c == "jpeg85"}
    names = "imagenet_c imagenet_c_bar imagenet64_c tiny_imagenet_c"
    self.assertEqual(jpeg, {*names.split()})
    self.assertEqual(codecs["imagenet_p"], "h264")
    self.assertEqual(codecs["digits_c"], "")
    self.assertEqual(datasets.published_codec("somebodys_c"), "")

  def test_bad_options(self):
    for seed in (-1, 1.5, 2**70):
      with self.assertRaisesRegex(ValueError, "A seed is a whole number"):
        datasets.builder("digits_c", "fog_3", seed=seed)
    for codec in ("webp", "h264", "jpeg"):
      with self.assertRaisesRegex(ValueError, f"Unknown codec '{codec}'"):
        datasets.builder("imagenet_c", "fog_3", codec=codec)
    with self.assertRaisesRegex(ValueError, "Unknown codec 'png'"):
      datasets.builder("imagenet_c", "clean", codec="png")
    for geometry in ("center", 3, ["imagenet"]):
      with self.assertRaisesRegex(ValueError, "Unknown geometry"):
        datasets.builder("imagenet_c", "clean", geometry=geometry)
    with self.assertRaisesRegex(ValueError, "600 px; they are for"):
      datasets.builder("imagenet_c", "fog_3", geometry="short600_crop600")

  def test_names_that_are_no_texts(self):
    for name in (None, 3, ["digits_c"], b"digits_c"):
      with self.assertRaisesRegex(ValueError, "Unknown dataset"):
        robust_tfds.load(name)
      with self.assertRaisesRegex(ValueError, "Unknown dataset"):
        datasets.builder(name)
      with self.assertRaisesRegex(ValueError, "Unknown config"):
        datasets.builder("digits_c", name)
