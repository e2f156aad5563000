"""The folder that `eval.score` writes: made within it, then put in its place.

`scored.json` says that a folder is one, and what it was made from. A later score
replaces what an earlier one wrote; nobody else's files are touched.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
from collections.abc import Iterator
from collections.abc import Sequence

import pydantic

from robust_tfds import errors
from robust_tfds import reading
from robust_tfds.eval.results import disk
from robust_tfds.eval.results import lock
from robust_tfds.eval.results.workdir import Workdir

_NOTE = "scored.json"


class _Record(pydantic.BaseModel):
  """What the note says."""

  model_config = pydantic.ConfigDict(extra="forbid", strict=True)

  predictions: list[str]
  written: list[str]


@contextlib.contextmanager
def replacing(
  folder: pathlib.Path, sources: Sequence[pathlib.Path]
) -> Iterator[pathlib.Path]:
  """Gives an empty folder whose content becomes `folder`'s when all went well.

  Args:
    folder: where the result belongs.
    sources: what it is made from.

  Raises:
    UserError: `folder` is a run's workdir, a file, or one of the sources; or
      another score is writing it.
    DiskError: something could not be written.
  """
  folder = folder.resolve()
  _check(folder, sources)
  there = folder.is_dir()
  try:
    with lock.held(folder, [f"the score in {folder.name}"]) as held:
      temporary = held.folder / "new"
      temporary.mkdir()
      yield temporary
      _replace(folder, temporary, [str(p) for p in sources])
  except BaseException:
    if not there:
      with contextlib.suppress(OSError):  # it is not empty
        folder.rmdir()
    raise


def _replace(
  folder: pathlib.Path, temporary: pathlib.Path, sources: Sequence[str]
) -> None:
  """Removes what an earlier score wrote and moves the new in its place."""
  names = sorted(p.name for p in temporary.iterdir())
  note = {"predictions": list(sources), "written": names}
  earlier = _written(folder)
  _check_foreign(folder, [n for n in names if n not in earlier])
  with disk.writing(folder):
    for name in earlier:
      _delete(folder / name)
    disk.write_text(folder / _NOTE, json.dumps(note, indent=1) + "\n")
    for name in names:
      _delete(folder / name)
      os.replace(temporary / name, folder / name)


def is_table_alone(folder: pathlib.Path) -> bool:
  """Whether a folder is the score of workdirs, whose cells stayed there."""
  note = (folder / _NOTE).exists()
  return note and not Workdir(folder).config_path.exists()


def _check(folder: pathlib.Path, sources: Sequence[pathlib.Path]) -> None:
  if folder.exists() and not folder.is_dir():
    raise errors.UserError(f"--out={folder} is a file; name a folder.")
  if folder in [p.resolve() for p in sources]:
    raise errors.UserError(
      f"--out={folder} is what is scored. Name another folder."
    )
  for source in (p.resolve() for p in sources):
    if source in folder.parents:
      raise errors.UserError(
        f"--out={folder} lies in {source}, which is scored. Name another folder."
      )
  workdir = Workdir(folder)
  ours = (folder / _NOTE).exists()
  if not ours and (workdir.config_path.exists() or workdir.has_cells()):
    raise errors.UserError(
      f"--out={folder} is the workdir of a run, whose cells stay as they are."
      " Name another folder."
    )


def _check_foreign(folder: pathlib.Path, names: Sequence[str]) -> None:
  """Refuses to replace what no score wrote."""
  for name in names:
    if (folder / name).exists():
      raise errors.UserError(
        f"--out={folder} holds {name}, which no eval.score wrote and which would"
        " be replaced. Move it away, or name another folder."
      )


def _written(folder: pathlib.Path) -> list[str]:
  """Names of what an earlier score wrote."""
  note = folder / _NOTE
  if note.exists():
    try:
      record = reading.records(reading.json_file(note), _Record, str(note))
    except errors.UserError as e:
      raise errors.UserError(
        f"{e} It said what eval.score wrote here: remove the folder, or name"
        " another --out."
      ) from e
    return [pathlib.PurePath(name).name for name in record.written]
  return []


def _delete(path: pathlib.Path) -> None:
  if path.is_dir() and not path.is_symlink():
    shutil.rmtree(path)
  else:
    path.unlink(missing_ok=True)
