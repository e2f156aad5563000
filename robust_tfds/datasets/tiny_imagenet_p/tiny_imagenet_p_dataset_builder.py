"""Tiny-ImageNet-P: the validation set of Tiny ImageNet as sequences."""

from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import pictures, sequences
from robust_tfds.building.sources import published_files, tiny_imagenet


class Builder(sequences.Builder):
  """200 classes at 64 px, 31 frames a sequence."""

  VERSION = tfds.core.Version("2.0.0")
  RELEASE_NOTES = {
    "1.0.0": "Initial release.",
    "2.0.0": "Resized as Pillow 11 does; some levels were one off.",
  }
  RUN_BY = "imagenet_p:model"
  MANUAL_DOWNLOAD_INSTRUCTIONS = f"""{tiny_imagenet.INSTRUCTIONS}
The published Tiny-ImageNet-P (config suffix `_published`), from
https://zenodo.org/record/2536630, in a folder `Tiny-ImageNet-P`: tar archives as
they are, or extracted to <perturbation>/<wnid>/<name>.mp4."""
  EDITION = "tiny_imagenet"
  SPLIT = "validation"
  CODECS = (sequences.PNG, sequences.H264, sequences.PUBLISHED)
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
    files = tiny_imagenet.clean(dl_manager.manual_dir)
    return pictures.sources_from_files(files)

  def _published(self, dl_manager: Any) -> Iterator[sequences.Row]:
    return published_files.find_videos(
      dl_manager.manual_dir,
      "Tiny-ImageNet-P",
      self.config.condition.config,
      tiny_imagenet.wnids(dl_manager.manual_dir),
      self.frames_shape(),
    )
