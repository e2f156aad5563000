"""ImageNet-P: the ILSVRC 2012 validation set as perturbation sequences."""

from collections.abc import Collection, Iterator
from typing import Any, ClassVar

import tensorflow_datasets as tfds

from robust_tfds.building import pictures, sequences
from robust_tfds.building.sources import imagenet, published_files


class Builder(sequences.Builder):
  """ImageNet-P at 224 or 299 px, 31 frames a sequence (translate 41).

  Attributes:
    SOURCE_RULES: crop -> how sources are resized.
    PUBLISHED_FOLDERS: crop -> folder of the authors' files.
  """

  VERSION = tfds.core.Version("2.0.0")
  RELEASE_NOTES = {
    "1.0.0": "Initial release.",
    "2.0.0": "Crop inception resized as Pillow 11 does; some levels were one off.",
  }
  RUN_BY = "imagenet_p:model"
  MANUAL_DOWNLOAD_INSTRUCTIONS = f"""{imagenet.INSTRUCTIONS}
The published ImageNet-P (config suffix `_published`), from
https://zenodo.org/record/3565846, in a folder `ImageNet-P`, of 299 px
`ImageNet-P-299`, of 64 px `ImageNet-64-P`: tar archives as they are, or extracted
to <perturbation>/<wnid>/<name>.mp4."""
  EDITION = "imagenet"
  SPLIT = "validation"
  CODECS = (sequences.PNG, sequences.H264, sequences.PUBLISHED)
  CLASSES = tuple(imagenet.wnids())
  SIDE_PX = 224
  OTHER_GEOMETRIES: ClassVar[tuple[str, ...]] = ("inception",)
  EDITIONS = {"inception": "inception"}
  PUBLISHED_FOLDERS = {"": "ImageNet-P", "inception": "ImageNet-P-299"}
  # The shorter side is resized before the conversion to RGB, the geometric
  # perturbations at 299 px act on the original (docs/evidence/specs/imagenet_p.md
  # sections 1 and 4).
  SOURCE_RULES = {"": "short256", "inception": "whole"}
  PUBLISHED_EXAMPLES = imagenet.EXAMPLES
  NAMES_VARY = True
  HOMEPAGE = "https://github.com/hendrycks/robustness"

  @classmethod
  def known_ids(cls) -> Collection[str]:
    """Return the official names."""
    return imagenet.official_names()

  @classmethod
  def known_label(cls, example_id: str) -> int | None:
    """Return the class of the wnid or official number in the file's name."""
    return imagenet.known_label(example_id)

  def _sources(self, dl_manager: Any) -> list[pictures.Source]:
    files = imagenet.clean(dl_manager.manual_dir)
    rule = self.SOURCE_RULES[self.config.geometry]
    return pictures.sources_from_files(files, rule, convert_last=True)

  def _published(self, dl_manager: Any) -> Iterator[sequences.Row]:
    return published_files.find_videos(
      dl_manager.manual_dir,
      self.PUBLISHED_FOLDERS[self.config.geometry],
      self.config.condition.config,
      imagenet.wnids(),
      self.frames_shape(),
    )
