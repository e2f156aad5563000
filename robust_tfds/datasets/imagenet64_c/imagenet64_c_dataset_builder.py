"""ImageNet-64-C: ImageNet-C's corruptions at 64 px."""

import tensorflow_datasets as tfds

from robust_tfds.datasets.imagenet_c import imagenet_c_dataset_builder


class Builder(imagenet_c_dataset_builder.Builder):
  """The validation set squashed to 64x64, corruption, JPEG quality 85."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "tiny_imagenet_c:model"
  EDITION = "imagenet64"
  GEOMETRY = ""
  OTHER_GEOMETRIES = ()
  EDITIONS = {}
  SIDE_PX = 64
  SOURCE_RULE = "squash64"  # make_imagenet_64_c.py: Resize((64, 64))
  # make_imagenet_64_c.py writes the second.
  PUBLISHED_FOLDERS = {"": ("ImageNet-64-C", "ImageNet-64x64-C")}
