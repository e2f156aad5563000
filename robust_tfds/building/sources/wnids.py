"""Pictures of ImageNet by wnid: a tar or a folder for each."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from etils import epath

from robust_tfds.building import source
from robust_tfds.building.sources import imagenet
from robust_tfds.reading import archives
from robust_tfds.storage import paths


def find(
  root: epath.Path, folders: Sequence[str], wnids: Collection[str]
) -> dict[str, list[source.File]]:
  """Return the pictures of each wnid, by name, for wnids that have any.

  The first folder that has a wnid counts: as `<wnid>.tar`, which is read in
  place, or as a folder `<wnid>`.

  Args:
    root: the manual dir.
    folders: folders below it.
    wnids: the wnids to find; others are ignored.

  Raises:
    UserError: an incomplete archive.
  """
  out: dict[str, list[source.File]] = {}
  for folder in folders:
    there = set(paths.names(root / folder))
    for wnid in wnids:
      if wnid in out:
        continue
      if f"{wnid}.tar" in there:
        files = _tar_files(root / folder / f"{wnid}.tar")
      elif wnid in there:
        files = _folder_files(root / folder / wnid)
      else:
        continue
      if files:
        out[wnid] = files
  return out


def _tar_files(archive: epath.Path) -> list[source.File]:
  members = archives.members(archive, imagenet.is_picture)
  files = {m.name.rpartition("/")[2]: m for m in members}
  return [
    source.File(name, str(archive), member)
    for name, member in sorted(files.items())
  ]


def _folder_files(folder: epath.Path) -> list[source.File]:
  return [
    source.File(name, str(folder / name))
    for name in paths.names(folder)
    if imagenet.is_picture(name)
  ]
