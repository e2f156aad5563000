"""Natural sets that are read from their authors' folders, part by part.

`<folder>/<part>/.../<class>/<picture>` in the manual dir, or the same in a tar
archive: `natural_sets` says the folder, its parts and what the classes are
among ImageNet's. The config `all` is all parts.
"""

import collections
import dataclasses
import os
import pathlib
from collections.abc import Mapping, Sequence

from robust_tfds import errors, natural_sets
from robust_tfds.building import own_set, source
from robust_tfds.building.sources import folders, imagenet


class Folders(own_set.OwnSet):
  """The pictures of a set's parts; their folders are the classes."""

  conditions = "none"

  def __init__(self, text: str, manual_dir: os.PathLike[str]):
    """List the pictures.

    Raises:
      FileNotFoundError: there is no folder; says what to put there.
      UserError: a part without a picture, or a folder that is no class.
    """
    row, part = natural_sets.parse(text)
    there = folders.find(
      manual_dir,
      row.folder,
      (_archive(row),),
      instructions=instructions(row),
    )
    files = _part_files(row, part, there)
    self.is_squashed = row.classes == natural_sets.AVERAGED
    self.joined = "mean" if self.is_squashed else "best"
    outputs = _outputs(row, files)
    notes = [f"terms: {row.terms}", _parts_in_words(files)]
    super().__init__(
      natural_sets.set_name(text), text, list(outputs), notes=notes
    )
    self.members = list(outputs.values())
    label_of = {name: label for label, name in enumerate(outputs)}
    self._files = [
      dataclasses.replace(file, label=label_of[_class_of(file)])
      for file in files
    ]

  def files(self) -> Sequence[source.File]:
    """Return the pictures, under their paths below the folder."""
    return self._files


def instructions(row: natural_sets.Row) -> str:
  """Return what to put into the manual dir."""
  parts = ", ".join(_parts(row))
  return (
    f"{row.name}: the folders {parts} in the folder {row.folder} of the manual dir,"
    f" or {_archive(row)} with them: {row.said_by}"
  )


def _archive(row: natural_sets.Row) -> str:
  return f"{row.folder.partition('/')[0]}.tar"


def _parts(row: natural_sets.Row) -> list[str]:
  return [each for each in row.configs.split(",") if each != natural_sets.ALL]


def _part_files(
  row: natural_sets.Row, part: str, there: Mapping[str, source.File]
) -> list[source.File]:
  """Return the pictures of a part, or of all; each must have some."""
  parts = _parts(row) if part == natural_sets.ALL else [part]
  out = []
  for each in parts:
    files = [
      file
      for path, file in there.items()
      if path.startswith(f"{each}/") and imagenet.is_picture(path)
    ]
    if not files:
      raise errors.UserError(
        f"{row.folder}/{each}: no picture. Unpack the whole archive, or name a part"
        f" that is there: {row.name}/{_parts(row)[0]}, ..."
      )
    out += files
  return out


def _outputs(
  row: natural_sets.Row, files: Sequence[source.File]
) -> dict[str, Sequence[int]]:
  """Return class -> its outputs among ImageNet's; every folder must be one."""
  known: dict[str, Sequence[int]] = dict(natural_sets.groups(row.name))
  known = known or {wnid: (i,) for i, wnid in enumerate(imagenet.wnids())}
  first = {_class_of(file): file for file in reversed(files)}
  for name, file in first.items():
    if name not in known:
      unknown = errors.unknown_error(f"class of {row.name}", name, known)
      raise errors.UserError(f"{file.where}: {unknown}")
  if row.classes == natural_sets.OCCURRING:
    return {name: known[name] for name in sorted(first)}
  return known


def _class_of(file: source.File) -> str:
  return pathlib.PurePosixPath(file.name).parent.name


def _parts_in_words(files: Sequence[source.File]) -> str:
  """Return how many pictures the folders of classes have, which a mean weighs."""
  of_part = collections.Counter(
    str(pathlib.PurePosixPath(file.name).parent.parent) for file in files
  )
  least, most = min(of_part.values()), max(of_part.values())
  if least == most:
    return f"{len(of_part)} parts of {most:,} pictures"
  return (
    f"{len(of_part)} parts of {least:,} to {most:,} pictures: the error weighs"
    " pictures alike, not parts"
  )
