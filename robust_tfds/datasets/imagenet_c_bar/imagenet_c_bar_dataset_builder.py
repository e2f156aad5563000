"""ImageNet-C-bar: ImageNet-C's pictures under 10 corruptions unlike its own."""

import tensorflow_datasets as tfds

from robust_tfds import conditions
from robust_tfds.building.sources import imagenet
from robust_tfds.datasets.imagenet_c import imagenet_c_dataset_builder


class Builder(imagenet_c_dataset_builder.Builder):
  """ImageNet-C-bar as published: crop 224, corruption, JPEG quality 85."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "imagenet_c_bar:model"
  FAMILY = conditions.C_BAR
  MANUAL_DOWNLOAD_INSTRUCTIONS = f"""{imagenet.INSTRUCTIONS}
The published ImageNet-C-bar (config suffix `_published`): imagenet_c_bar.tar.gz
from https://github.com/facebookresearch/augmentation-corruption, as it is, as a
plain tar, or extracted to a folder imagenet_c_bar or imagenet-c-bar
(<corruption>/<severity>/<wnid>/<name>.JPEG), in the manual dir."""
  OTHER_GEOMETRIES = ()
  EDITIONS = {}
  PUBLISHED_FOLDERS = {"imagenet": ("imagenet_c_bar", "imagenet-c-bar")}
  HOMEPAGE = "https://github.com/facebookresearch/augmentation-corruption"
