"""ImageNet-64-P: ImageNet-P's sequences at 64 px."""

import tensorflow_datasets as tfds

from robust_tfds.datasets.imagenet_p import imagenet_p_dataset_builder


class Builder(imagenet_p_dataset_builder.Builder):
  """The validation set squashed to 64x64, as sequences."""

  VERSION = tfds.core.Version("2.0.0")
  RELEASE_NOTES = {
    "1.0.0": "Initial release.",
    "2.0.0": "Resized as Pillow 11 does; some levels were one off.",
  }
  EDITION = "imagenet64"
  SIDE_PX = 64
  OTHER_GEOMETRIES = ()
  EDITIONS = {}
  PUBLISHED_FOLDERS = {"": "ImageNet-64-P"}
  # Motion blur acts on the original (docs/evidence/specs/imagenet_p.md section 4).
  SOURCE_RULES = {"": "whole"}
