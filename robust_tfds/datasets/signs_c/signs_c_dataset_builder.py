"""Signs under 19 corruptions x 5 severities: ImageNet-C's protocol, embedded."""

from typing import Any, ClassVar

import tensorflow_datasets as tfds

from robust_tfds.building import embedded, pictures
from robust_tfds.datasets.signs import signs_dataset_builder as signs


class Builder(embedded.OfTest, pictures.Builder):
  """The test signs; severities and rules are those for pictures of any size."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "quickstart:signs_c"
  CLEAN: ClassVar[Any] = signs
  EDITION = "any"
  CLASSES = signs.CLASSES
  SIDE_PX = signs.SIDE_PX
  HOMEPAGE = signs.HOMEPAGE
