"""Damaged cells: how they are detected and reported.

A finished cell is checked each time it is read. Its note must be complete and name
this cell, its files must match the note, and no part of it may be a link. Cells of
one dataset and split must have the same examples.
"""

import collections
import os
import pathlib
from collections.abc import Iterator, Mapping

from etils import epath

from eval.cells.files import examples as examples_lib
from eval.cells.files import note as note_lib
from robust_tfds import errors
from robust_tfds.storage import paths


class DamagedError(errors.UserError):
  """An error for a changed or damaged part of a workdir.

  Attributes:
    reason: what is wrong, without the advice.
  """

  def __init__(self, reason: str, folder: epath.Path):
    """Create the error.

    Args:
      reason: a sentence that begins with the path.
      folder: the damaged part, which can be made again.
    """
    super().__init__(
      f"{reason.rstrip('.')}. Remove {folder} and run the command that wrote it"
      " again."
    )
    self.reason = reason


def check_no_links(root: epath.Path, folder: epath.Path) -> None:
  """Refuse a cell that is a link, lies in a linked folder or contains a link.

  Args:
    root: the workdir, which may be a link itself.

  Raises:
    DamagedError: the message names the link.
  """
  if not paths.is_local(folder):  # buckets have no links
    return
  place, inside = pathlib.Path(folder), pathlib.Path(folder).relative_to(root)
  between = [pathlib.Path(root, p) for p in reversed(inside.parents[:-1])]
  links = [p for p in (*between, place) if p.is_symlink()]
  if not links and place.is_dir():
    with os.scandir(place) as entries:
      links = sorted(pathlib.Path(e) for e in entries if e.is_symlink())
  if links:
    raise DamagedError(
      f"{links[0]}: a symbolic link; a cell lies in its workdir as it was written"
      " (the workdir itself may be a link)",
      folder,
    )


def is_folder(path: epath.Path) -> bool:
  """Return whether a path is a folder, and not a link to one."""
  place = pathlib.Path(path)
  return place.is_dir() and not place.is_symlink()


def find_deviating_examples(
  notes: Mapping[epath.Path, note_lib.Note],
) -> Iterator[tuple[epath.Path, str]]:
  """Yield cells whose examples differ from most cells of their split, with reasons."""
  splits: dict[tuple[str, str], list[epath.Path]] = {}
  for folder, note in notes.items():
    if note.split.name:
      key = note.dataset, note.split.name
      splits.setdefault(key, []).append(folder)
  for folders in splits.values():
    count = collections.Counter(notes[f].split.ids for f in folders)
    usual = count.most_common(1)[0][0]
    typical = next(f for f in folders if notes[f].split.ids == usual)
    for folder in folders:
      split = notes[folder].split
      if split.ids != usual:
        yield (
          folder,
          f"{folder}: its {split.examples:,} examples are not the"
          f" {notes[typical].split.examples:,} of {typical}, though both are of"
          f" {split.name}",
        )


def find_missing_examples(
  folder: epath.Path,
  notes: Mapping[epath.Path, note_lib.Note],
) -> Iterator[tuple[epath.Path, str]]:
  """Yield what has to be made again for damaged files of examples: all cells.

  Args:
    folder: the run's `examples`.
    notes: notes of cells, by folder.
  """
  for file in dict.fromkeys(note.examples for note in notes.values()):
    try:
      note_lib.check_size(examples_lib.path(folder, file), file)
    except errors.UserError as e:
      yield folder.parent / "cells", str(e)
