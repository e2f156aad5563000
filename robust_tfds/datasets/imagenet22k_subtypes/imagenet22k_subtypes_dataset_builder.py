"""ImageNet-22K's subtypes of 25 broad types, seen and not in ImageNet-1K."""

import functools
import pathlib
from collections.abc import Mapping
from typing import Any

import tensorflow_datasets as tfds

from robust_tfds.building import pictures, source, subtypes
from robust_tfds.building.sources import imagenet, wnids
from robust_tfds.storage import paths

_TRAIN = ("train", "ILSVRC2012_img_train")
_UNSEEN = ("imagenet22k", "fall11_whole", "winter21_whole")


@functools.cache
def rows() -> list[dict[str, str]]:
  """Read `subtypes.tsv`: type_index, type, type_wnid, split and wnid of each row."""
  path = pathlib.Path(__file__).with_name("subtypes.tsv")
  head, *lines = [
    line.split("\t") for line in path.read_text("utf-8").splitlines()
  ]
  return [dict(zip(head, line, strict=True)) for line in lines]


class Builder(subtypes.Builder):
  """542 subtypes of ImageNet-1K and 5,017 others, of 25 types."""

  VERSION = tfds.core.Version("1.0.0")
  RELEASE_NOTES = {"1.0.0": "Initial release."}
  RUN_BY = "subtypes:imagenet"
  MANUAL_DOWNLOAD_INSTRUCTIONS = f"""\
Pictures from https://image-net.org (registration, research use), of every wnid in
subtypes.tsv beside the builder, in the manual dir:
  {" or ".join(_TRAIN)}: ILSVRC 2012's training pictures of the seen wnids, a
    <wnid>.tar (as they lie in ILSVRC2012_img_train.tar) or a folder <wnid> each;
  {imagenet.VALIDATION_TAR}, or its pictures in a folder val: split seen;
  {" or ".join(_UNSEEN)}: ImageNet-22K's pictures of the unseen wnids, a
    <wnid>.tar (as they lie in fall11_whole.tar) or a folder <wnid> each.
Wnids that are not there are listed when the set is built, and in its metadata.
{imagenet.INSTRUCTIONS}"""
  GEOMETRY = "imagenet"
  CODECS = (pictures.RAW,)
  CLASSES = tuple(dict.fromkeys(row["type"] for row in rows()))
  SUBTYPES = {
    row["wnid"]: (int(row["type_index"]), row["split"]) for row in rows()
  }
  HOMEPAGE = "https://github.com/hendrycks/robustness"

  def _split_sources(
    self, dl_manager: Any
  ) -> Mapping[str, list[pictures.Source]]:
    root = paths.parse(dl_manager.manual_dir)
    by_wnid = {
      subtypes.TRAIN: wnids.find(
        root, _TRAIN, self.subtypes_of(subtypes.TRAIN)
      ),
      subtypes.SEEN: _validation(root),
      subtypes.UNSEEN: wnids.find(
        root, _UNSEEN, self.subtypes_of(subtypes.UNSEEN)
      ),
    }
    for split, found in by_wnid.items():
      if not any(wnid in found for wnid in self.subtypes_of(split)):
        raise FileNotFoundError(
          f"{root}: no picture of a subtype of split {split}."
          f"\n{self.MANUAL_DOWNLOAD_INSTRUCTIONS}"
        )
    return {
      s: self._listed_sources(s, files_of_wnid)
      for s, files_of_wnid in by_wnid.items()
    }

  def _listed_sources(
    self, split: str, by_wnid: Mapping[str, list[source.File]]
  ) -> list[pictures.Source]:
    return [
      pictures.Source(
        f"{wnid}/{file.name.rpartition('/')[2]}",
        self.SUBTYPES[wnid][0],
        source.Picture(file, self.config.geometry),
      )
      for wnid in self.subtypes_of(split)
      for file in by_wnid.get(wnid, ())
    ]


def _validation(root: Any) -> dict[str, list[source.File]]:
  """Return wnid -> its pictures in ILSVRC 2012's validation set."""
  out: dict[str, list[source.File]] = {}
  for file in imagenet.clean(root):
    assert file.label is not None  # `clean` refuses others
    out.setdefault(imagenet.wnids()[file.label], []).append(file)
  return out
