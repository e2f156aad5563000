"""Signs under ImageNet-P's perturbations: Tiny-ImageNet-P's protocol, embedded."""

from typing import Any, ClassVar

import tensorflow_datasets as tfds

from robust_tfds.building import embedded, sequences
from robust_tfds.datasets.signs import signs_dataset_builder as signs


class Builder(embedded.OfTest, sequences.Builder):
  """The test signs as sequences, with Tiny-ImageNet-P's parameters."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "quickstart:signs_p"
  CLEAN: ClassVar[Any] = signs
  EDITION = "tiny_imagenet"
  CLASSES = signs.CLASSES
  SIDE_PX = signs.SIDE_PX
  SOURCE_SHAPE = (signs.SIDE_PX, signs.SIDE_PX, 3)
  HOMEPAGE = signs.HOMEPAGE
