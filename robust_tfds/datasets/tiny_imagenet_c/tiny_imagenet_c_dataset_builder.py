"""Tiny-ImageNet-C: Tiny ImageNet's validation set under 19 corruptions x 5."""

from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import base, pictures
from robust_tfds.building.sources import (
  frost,
  published_files,
  tiny_imagenet,
)


class Builder(pictures.Builder):
  """Tiny-ImageNet-C as published: 64 px, corruption, JPEG quality 85."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "tiny_imagenet_c:model"
  MANUAL_DOWNLOAD_INSTRUCTIONS = f"""{tiny_imagenet.INSTRUCTIONS}
The published Tiny-ImageNet-C (config suffix `_published`), from
https://zenodo.org/record/2536630: Tiny-ImageNet-C.tar and
Tiny-ImageNet-C-extra.tar as they are, or extracted to
Tiny-ImageNet-C/<corruption>/<severity>/<wnid>/<name>.JPEG; it needs the wnids.txt
of {tiny_imagenet.NAME} beside it.
{frost.INSTRUCTIONS}"""
  EDITION = "tiny_imagenet"
  SPLIT = "validation"
  CODECS = (pictures.JPEG85, pictures.RAW, base.PUBLISHED)
  CLASSES = tiny_imagenet.NUM_CLASSES
  SIDE_PX = 64
  PUBLISHED_EXAMPLES = 10_000
  HOMEPAGE = "https://github.com/hendrycks/robustness"

  @classmethod
  def class_names(cls, manual_dir: str = "") -> Sequence[Sequence[str]]:
    """Return the wnids, which the archive lists."""
    wnids = tiny_imagenet.wnids(manual_dir) if manual_dir else []
    return [(wnid,) for wnid in wnids]

  def _sources(self, dl_manager: Any) -> list[pictures.Source]:
    # make_tinyimagenet_c.py: Resize((64, 64)), which squashes larger crops.
    files = tiny_imagenet.clean(dl_manager.manual_dir)
    return pictures.sources_from_files(files, "squash64")

  def _published(self, dl_manager: Any) -> Iterator[pictures.Row]:
    return published_files.find_pictures(
      dl_manager.manual_dir,
      ("Tiny-ImageNet-C", "Tiny-ImageNet-C-extra"),
      self.config.condition,
      tiny_imagenet.wnids(dl_manager.manual_dir),
      self.SIDE_PX,
    )
