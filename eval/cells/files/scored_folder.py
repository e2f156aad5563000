"""The output folder of `eval.score`: written in a temporary place, then moved.

`scored.json` marks such a folder, and names what it was made from. A later
score replaces the files of an earlier one; no other files are touched.
"""

import contextlib
import json
import pathlib
from collections.abc import Iterator, Sequence

from etils import epath

from eval.cells.files import lock
from eval.cells.workdir import Workdir
from robust_tfds import errors, reading
from robust_tfds.records import Record
from robust_tfds.storage import disk, paths

_NOTE = "scored.json"
_TEMPORARY = "unfinished"
_CONFIG = "config.json"  # a workdir's file, written after everything else


class _Record(Record):
  """The content of the note."""

  predictions: list[str]
  written: list[str]


@contextlib.contextmanager
def replacing(
  folder: epath.Path, sources: Sequence[epath.Path]
) -> Iterator[epath.Path]:
  """Yield an empty folder whose content becomes that of `folder` on success.

  Raises:
    UserError: `folder` is a run's workdir, a file, or one of the sources; or
      another score is writing it.
    DiskError: something could not be written.
  """
  folder = paths.resolved(folder)
  _check(folder, sources)
  there = folder.is_dir()
  try:
    with lock.held(folder):
      temporary = folder / _TEMPORARY
      disk.remove(temporary)  # left by a killed score
      try:
        temporary.mkdir()  # in a bucket it is there with its first file
        yield temporary
        _replace(folder, temporary, [str(p) for p in sources])
      finally:
        disk.remove(temporary)
  except BaseException:
    if not there:
      disk.remove_empty(folder)
    raise


def _replace(
  folder: epath.Path, temporary: epath.Path, sources: Sequence[str]
) -> None:
  """Remove what an earlier score wrote and move the new files in its place."""
  names = [p.name for p in disk.below(temporary, 1)]
  names.sort(key=lambda name: (name == _CONFIG, name))
  note = {"predictions": list(sources), "written": names}
  earlier = _written(folder)
  _check_foreign(folder, [n for n in names if n not in earlier])
  # In this order, so that half of a score is no workdir.
  for name in reversed(earlier):
    disk.remove(folder / name)
  disk.write_text(folder / _NOTE, json.dumps(note, indent=1) + "\n")
  for name in names:
    disk.remove(folder / name)
    disk.move(temporary / name, folder / name)


def is_table_alone(folder: epath.Path) -> bool:
  """Return whether a folder is the score of workdirs, whose cells stayed there."""
  note = disk.exists(folder / _NOTE)
  return note and not disk.exists(Workdir(folder).config_path)


def sources(folder: epath.Path) -> list[str]:
  """Return what an earlier score was made from.

  Raises:
    UserError: its note is damaged.
  """
  return _record(folder / _NOTE).predictions


def _check(folder: epath.Path, sources: Sequence[epath.Path]) -> None:
  if disk.exists(folder) and not folder.is_dir():
    raise errors.UserError(f"--out={folder} is a file; name a folder.")
  if folder in [paths.resolved(p) for p in sources]:
    raise errors.UserError(
      f"--out={folder} is what is scored. Name another folder."
    )
  for source in map(paths.resolved, sources):
    if source in folder.parents:
      raise errors.UserError(
        f"--out={folder} lies in {source}, which is scored. Name another folder."
      )
  workdir = Workdir(folder)
  ours = disk.exists(folder / _NOTE)
  if not ours and (disk.exists(workdir.config_path) or workdir.has_cells()):
    raise errors.UserError(
      f"--out={folder} is the workdir of a run, whose cells stay as they are."
      " Name another folder."
    )


def _check_foreign(folder: epath.Path, names: Sequence[str]) -> None:
  """Refuse to replace files that no score wrote."""
  for name in names:
    if disk.exists(folder / name):
      raise errors.UserError(
        f"--out={folder} holds {name}, which no eval.score wrote and which would"
        " be replaced. Move it away, or name another folder."
      )


def _written(folder: epath.Path) -> list[str]:
  """Return the names of what an earlier score wrote."""
  note = folder / _NOTE
  if not disk.exists(note):
    return []
  return [pathlib.PurePath(name).name for name in _record(note).written]


def _record(note: epath.Path) -> _Record:
  try:
    return reading.records(reading.json_file(note), _Record, str(note))
  except errors.UserError as e:
    raise errors.UserError(
      f"{e} This file lists what robust-tfds score wrote here: remove the folder,"
      " or name another --out."
    ) from e
