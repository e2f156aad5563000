"""ImageNet-C: the ILSVRC 2012 validation set under 19 corruptions x 5."""

from collections.abc import Collection, Iterator
from typing import Any, ClassVar

import tensorflow_datasets as tfds

from robust_tfds.building import base, pictures
from robust_tfds.building.sources import frost, imagenet, published_files


class Builder(pictures.Builder):
  """ImageNet-C as published: crop 224 or 299, corruption, JPEG quality 85.

  Attributes:
    SOURCE_RULE: how pictures are resized where the set has no choice of crops.
    PUBLISHED_FOLDERS: crop -> folders of the authors' files; empty for the
      manual dir itself.
  """

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "imagenet_c:model"
  MANUAL_DOWNLOAD_INSTRUCTIONS = f"""{imagenet.INSTRUCTIONS}
The published ImageNet-C (config suffix `_published`): noise.tar, blur.tar,
weather.tar, digital.tar, extra.tar from https://zenodo.org/record/2235448, as they
are or extracted (<corruption>/<severity>/<wnid>/<name>.JPEG), in the manual dir or
a folder ImageNet-C; of 299 px in ImageNet-C-299 (config suffix `_inception`), of
64 px in ImageNet-64-C.
{frost.INSTRUCTIONS}"""
  EDITION = "imagenet"
  SPLIT = "validation"
  CODECS = (pictures.JPEG85, pictures.RAW, base.PUBLISHED)
  GEOMETRY = "imagenet"
  OTHER_GEOMETRIES: ClassVar[tuple[str, ...]] = ("inception",)
  EDITIONS = {"inception": "inception"}
  CLASSES = tuple(imagenet.wnids())
  SOURCE_RULE = ""
  PUBLISHED_FOLDERS = {
    "imagenet": ("", "ImageNet-C"),
    "inception": ("ImageNet-C-299",),
  }
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
    return pictures.sources_from_files(
      files, self.config.geometry or self.SOURCE_RULE
    )

  def _published(self, dl_manager: Any) -> Iterator[pictures.Row]:
    return published_files.find_pictures(
      dl_manager.manual_dir,
      self.PUBLISHED_FOLDERS[self.config.geometry],
      self.config.condition,
      imagenet.wnids(),
      self.side_px(),
    )
