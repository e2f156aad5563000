"""Natural sets that are read from Parquet files as the Hugging Face hub has them.

`<folder>/.../<split>-00000-of-00009*.parquet` in the manual dir, every part of the
split. A row has `image`, a picture's `bytes`, and `label`, the list of its right
classes among ImageNet's 1,000. An example's id is its position.
"""

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from robust_tfds import errors, natural_sets
from robust_tfds.building.sources import folders, imagenet
from robust_tfds.reading import parquet_rows
from robust_tfds.storage import paths
from robust_tfds.user_data import copied_set

_PART = re.compile(r"(?:.*/)?(\w+)-(\d+)-of-(\d+)[^/]*\.parquet")


class Parquet(copied_set.CopiedSet):
  """The pictures of a set's parts, each with a list of right classes."""

  conditions = "none"
  several = True
  image = "image"

  def __init__(self, text: str, manual_dir: str | os.PathLike[str]):
    """List the parts.

    Raises:
      FileNotFoundError: there is no folder; says what to put there.
      UserError: a part is missing, or parts of several downloads are mixed.
    """
    row, _ = natural_sets.parse(text)
    there = folders.find(
      manual_dir, row.folder, (), instructions=instructions(row)
    )
    self._folder = paths.parse(manual_dir) / row.folder
    self.label = row.labels.removesuffix("[]")
    split, self._parts = _parts(row, list(there))
    super().__init__(
      natural_sets.set_name(text),
      text,
      imagenet.wnids(),
      split,
      notes=[f"terms: {row.terms}"],
    )
    self.members = [[i] for i in range(len(self.classes))]

  @property
  def place(self) -> object:
    """The folder of the parts."""
    return self._folder

  def described(self) -> Sequence[str]:
    """Return every picture's right classes."""
    self.files()
    return [f"{i}\t{known}" for i, known in sorted(self.labels.items())]

  def examples(self) -> Iterator[dict[str, Any]]:
    """Yield pictures as bytes with their right classes, part by part.

    Raises:
      UserError: a file that is broken or has other columns, or a class that is none
        of ImageNet's.
    """
    for part in self._parts:
      file = self._folder / part
      rows = parquet_rows.rows(file, (self.image, self.label))
      for number, row in enumerate(rows, 1):
        picture, known = row[self.image], row[self.label]
        data = picture.get("bytes") if isinstance(picture, dict) else None
        wrong = not isinstance(known, list) or not all(
          isinstance(i, int) and 0 <= i < len(self.classes) for i in known
        )
        if not data or wrong:
          held = f"label {known}" if wrong else "no picture's bytes"
          raise errors.UserError(
            f"{file}: row {number} has {held}, expected a picture's bytes and a list"
            f" of classes from 0 to {len(self.classes) - 1}."
          )
        yield {self.image: data, self.label: known}


def instructions(row: natural_sets.Row) -> str:
  """Return what to put into the manual dir."""
  return (
    f"{row.name}: all Parquet files of the set in the folder {row.folder} of the"
    f" manual dir: {row.said_by}"
  )


def _parts(
  row: natural_sets.Row, names: Sequence[str]
) -> tuple[str, list[str]]:
  """Return the split and its parts, in order.

  Raises:
    UserError: no part, some are missing, or parts of several splits or downloads.
  """
  matches = {name: match for name in names if (match := _PART.fullmatch(name))}
  kinds = {(m[1], int(m[3])) for m in matches.values()}
  wrong = f"{len(kinds)} splits or downloads" if kinds else "no part"
  if len(kinds) == 1:
    ((split, count),) = kinds
    numbers = sorted(int(m[2]) for m in matches.values())
    if numbers == list(range(count)):
      return split, sorted(matches, key=lambda name: int(matches[name][2]))
    wrong = f"parts {', '.join(map(str, numbers))} of {count}"
  raise errors.UserError(
    f"{row.folder}: {wrong}, expected all parts of one split, named"
    " validation-00000-of-00009.parquet and so on. Download the folder again, and"
    " remove what an older version of the set left."
  )
