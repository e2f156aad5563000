"""Cells that are not what was written: told, named, moved aside.

A finished cell is checked each time it is read: its note is whole and of the cell
whose place it is in, its files are those of the note, no part of it is a link, and
cells of one dataset and split hold the same examples.
"""

from __future__ import annotations

import collections
import os
import pathlib
from collections.abc import Iterator
from collections.abc import Mapping

from robust_tfds import errors
from robust_tfds.eval.results import disk
from robust_tfds.eval.results import note as note_lib

FOLDER = "damaged"
_ADVICE = (
  "Run eval.main again with --repair, which moves it into damaged/ and makes it"
  " anew; if eval.score wrote this folder, run eval.score again"
)


class DamagedError(errors.UserError):
  """Something in a workdir is not what was written there.

  Attributes:
    folder: of what is damaged as a whole.
    reason: what is wrong, without what to do about it.
  """

  def __init__(self, reason: str, folder: pathlib.Path):
    """See the class.

    Args:
      reason: a sentence that begins with the path.
      folder: of what is damaged as a whole.
    """
    super().__init__(f"{reason.rstrip('.')}. {_ADVICE}.")
    self.folder, self.reason = folder, reason


def check_no_links(root: pathlib.Path, folder: pathlib.Path) -> None:
  """Refuses a cell that is a link, lies behind one or holds one.

  Args:
    root: the workdir, which may be a link itself.
    folder: of the cell.

  Raises:
    DamagedError: names the link.
  """
  between = [p for p in folder.parents if p.is_relative_to(root) and p != root]
  within = sorted(folder.iterdir()) if folder.is_dir() else []
  for path in (*reversed(between), folder, *within):
    if path.is_symlink():
      raise DamagedError(
        f"{path}: a symbolic link; a cell lies in its workdir as it was written"
        " (the workdir itself may be a link)",
        folder,
      )


def check_same_examples(notes: Mapping[pathlib.Path, note_lib.Note]) -> None:
  """Refuses cells that are of other examples than the cells beside them.

  Args:
    notes: of cells of one workdir, by folder.

  Raises:
    DamagedError: names the first.
  """
  for folder, reason in of_other_examples(notes):
    raise DamagedError(reason, folder)


def of_other_examples(
  notes: Mapping[pathlib.Path, note_lib.Note],
) -> Iterator[tuple[pathlib.Path, str]]:
  """Cells that most cells of their dataset and split differ from, and why."""
  splits: dict[tuple[str, str], list[pathlib.Path]] = {}
  for folder, note in notes.items():
    if note.split.name:
      key = note.dataset, note.split.name
      splits.setdefault(key, []).append(folder)
  for folders in splits.values():
    count = collections.Counter(notes[f].split.ids for f in folders)
    usual = count.most_common(1)[0][0]
    model = next(f for f in folders if notes[f].split.ids == usual)
    for folder in folders:
      split = notes[folder].split
      if split.ids != usual:
        yield (
          folder,
          f"{folder}: of {split.examples:,} examples that are not the"
          f" {notes[model].split.examples:,} of {model}, though both are of"
          f" {split.name}",
        )


def move_aside(root: pathlib.Path, path: pathlib.Path) -> pathlib.Path:
  """Moves something of a workdir into its folder `damaged`; gives the new place.

  Raises:
    DiskError: it could not be moved.
  """
  wanted = root / FOLDER / path.relative_to(root)
  target, number = wanted, 1
  while os.path.lexists(target):
    number += 1
    target = wanted.with_name(f"{wanted.name}-{number}")
  with disk.writing(target):
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(path, target)
  return target
