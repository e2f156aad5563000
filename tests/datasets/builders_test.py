"""TFDS's own test case on every builder: registration, features, splits, data."""

from unittest import mock

import tensorflow_datasets as tfds
from absl.testing import absltest

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
