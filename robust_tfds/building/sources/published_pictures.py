"""The published ImageNet-C and its like: one JPEG file a picture.

Layout: `<corruption>/<severity>/<wnid>/<name>.JPEG` in the set's own folder of the
manual dir, extracted, or inside tar archives as they are: `<folder>.tar` in the
manual dir, or `noise.tar`, `blur.tar`, `weather.tar`, `digital.tar`, `extra.tar`
(Zenodo record 2235448) in the folder. Archives are read in place, member by
member: nothing is unpacked, so no path in an archive can leave its folder.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator, Sequence

from etils import epath

from robust_tfds import conditions, errors
from robust_tfds.building import geometry, pictures
from robust_tfds.building.sources import folders
from robust_tfds.reading import archives
from robust_tfds.storage import paths

# (what messages begin with, wnid, name, the file's bytes)
_File = tuple[str, str, str, bytes]


def find(
  manual_dir: os.PathLike | str,
  set_folders: Sequence[str],
  condition: conditions.Condition,
  wnids: Sequence[str],
  side_px: int | None,
) -> Iterator[pictures.Row]:
  """Rows of one condition: (the file's name, label, its bytes).

  Args:
    manual_dir: where the user put the files.
    set_folders: names of the set's folders there, the first that has the condition
      is used; empty for the manual dir itself.
    condition: which corruption at which severity.
    wnids: the classes in label order.
    side_px: of the square pictures.

  Raises:
    FileNotFoundError: there are none; says where was looked.
    UserError: a broken archive, a folder that is no class, a broken picture or
      one of another size; names it.
  """
  label_of = {wnid: i for i, wnid in enumerate(wnids)}
  root = paths.of(manual_dir)
  class_of: dict[str, str] = {}
  for where, wnid, name, data in _files(root, set_folders, condition):
    if wnid not in label_of:
      raise errors.UserError(
        f"{where}: {wnid!r} is not one of the {len(wnids)} classes. Expected"
        " <corruption>/<severity>/<wnid>/<name>.JPEG."
      )
    if name in class_of:
      raise errors.UserError(
        f"{where}: {name!r} is a picture of {class_of[name]} too; the name of a"
        " file is its id and occurs once in a condition."
      )
    class_of[name] = wnid
    shape = geometry.decode(data, "whole", where).shape
    if shape != (side_px, side_px, 3):
      raise errors.UserError(
        f"{where}: {side_px} px squares expected, got {shape[0]}x{shape[1]}: it"
        " is of another edition of the set."
      )
    yield name, label_of[wnid], data


def group_tar(corruption: str) -> str:
  """Name of ImageNet-C's archive that holds a corruption.

  Raises:
    UserError: an unknown corruption.
  """
  row = conditions.PICTURES.row(corruption)
  return f"{row.group if row.set == 'common' else row.set}.tar"


def _files(
  root: epath.Path, names: Sequence[str], condition: conditions.Condition
) -> Iterator[_File]:
  below = f"{condition.name}/{condition.level}"
  places = [root / name / below for name in names]
  for place in places:
    files = [
      place / wnid / name
      for wnid, name in paths.two_deep(place)
      if not folders.is_hidden(pathlib.PurePath(name))
    ]
    if files:
      yield from (
        (str(p), p.parent.name, p.name, paths.read_bytes(p)) for p in files
      )
      return
  tars = [root / f"{name}.tar" for name in names if name]
  tars += [root / name / group_tar(condition.name) for name in names]
  for tar in tars:
    empty = True
    for file in _members(tar, below) if tar.exists() else ():
      empty = False
      yield file
    if not empty:
      return
  raise FileNotFoundError(
    f"No published images of {condition.name}, severity {condition.level}."
    f" Looked for {', '.join(map(str, places))} with <wnid>/<name>.JPEG, and for"
    f" such members in {', '.join(map(str, tars))}."
  )


def _members(archive: epath.Path, below: str) -> Iterator[_File]:
  """The members `[<folder>/]<corruption>/<severity>/<wnid>/<name>`."""

  def belongs(name: str) -> bool:
    *_, corruption, severity, _, last = "", "", "", *name.split("/")
    ours = f"{corruption}/{severity}" == below
    return ours and not folders.is_hidden(pathlib.PurePosixPath(last))

  for member, data in archives.contents(archive, belongs):
    wnid, name = member.name.split("/")[-2:]
    yield member.where, wnid, name, data
