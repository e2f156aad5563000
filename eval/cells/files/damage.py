"""Damaged cells: how they are detected, reported and moved aside.

A finished cell is checked each time it is read. Its note must be complete and name
this cell, its files must match the note, and no part of it may be a link. Cells of
one dataset and split must have the same examples.
"""

import collections
import os
import pathlib
from collections.abc import Callable, Iterator, Mapping

from etils import epath

from eval.cells.files import examples as examples_lib
from eval.cells.files import note as note_lib
from robust_tfds import errors
from robust_tfds.storage import disk, paths

FOLDER = "damaged"
_ADVICE = (
  "Run eval.main again with --repair, which moves it into damaged/ and makes it"
  " again; if eval.score wrote this folder, run eval.score again"
)


class DamagedError(errors.UserError):
  """An error for a changed or damaged part of a workdir.

  Attributes:
    folder: folder of the damaged part.
    reason: what is wrong, without the advice.
  """

  def __init__(self, reason: str, folder: epath.Path):
    """Create the error.

    Args:
      reason: a sentence that begins with the path.
      folder: folder of the damaged part.
    """
    super().__init__(f"{reason.rstrip('.')}. {_ADVICE}.")
    self.folder, self.reason = folder, reason


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
  check: Callable[[epath.Path, note_lib.File], object],
) -> Iterator[tuple[epath.Path, str]]:
  """Yield damaged example files and the cells that need them, with reasons.

  Args:
    folder: the run's `examples`.
    notes: notes of cells, by folder.
    check: raises UserError if a file does not match the note.
  """
  cells_of: dict[note_lib.File, list[epath.Path]] = {}
  for cell, note in notes.items():
    cells_of.setdefault(note.examples, []).append(cell)
  for file, cells in cells_of.items():
    path = examples_lib.path(folder, file)
    try:
      check(path, file)
    except errors.UserError as e:
      if disk.exists(path):
        yield path, str(e)
      for cell in cells:
        yield cell, f"{str(e).rstrip('.')}; {cell} needs it"


def move_aside(root: epath.Path, path: epath.Path) -> epath.Path:
  """Move a part of a workdir into its folder `damaged`; return the new path.

  Raises:
    DiskError: it could not be moved.
  """
  place = root / FOLDER / path.relative_to(root)
  target, number = place, 1
  while disk.exists(target):
    number += 1
    target = place.with_name(f"{place.name}-{number}")
  disk.move(path, target, first=note_lib.FILE)
  return target
