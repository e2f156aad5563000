"""Writing a workdir's files: each whole or not at all, failures in words."""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import secrets
from collections.abc import Iterator
from typing import IO

from robust_tfds import errors

_ADVICE = {
  errno.ENOSPC: "The disk is full: free some space",
  errno.EDQUOT: "The quota is used up: free some space",
  errno.EROFS: "The file system is read-only: name a folder elsewhere",
  errno.EACCES: "Its owner allows no writing: change that or name another",
  errno.EPERM: "Its owner allows no writing: change that or name another",
  errno.ENOTDIR: "A file lies where a folder belongs: move it away",
  errno.EEXIST: "A file lies where a folder belongs: move it away",
  errno.EISDIR: "A folder lies where a file belongs: move it away",
}
_TEMPORARY = ".tmp"
Path = pathlib.Path


class DiskError(errors.UserError, OSError):
  """Something could not be written; what was finished is untouched."""


@contextlib.contextmanager
def writing(path: pathlib.Path) -> Iterator[None]:
  """Turns what the system refuses into words.

  Args:
    path: what is written, if the system does not name a file itself.

  Raises:
    DiskError: says which path, what the system said and what to do.
  """
  try:
    yield
  except DiskError:
    raise
  except OSError as e:
    raise _refusal(e, e.filename2 or e.filename or path) from e


def write_text(path: pathlib.Path, text: str, *, sync: bool = True) -> None:
  """Writes a text file whole, in UTF-8; see `write_bytes`."""
  write_bytes(path, text.encode("utf-8"), sync=sync)


def write_bytes(path: pathlib.Path, data: bytes, *, sync: bool = True) -> None:
  """Writes a file whole: under a name of its own, then renamed into place.

  Args:
    path: of the file.
    data: its content.
    sync: wait until it is on the disk, so that it outlives a power cut.

  Raises:
    DiskError: see `writing`; the file is as it was.
  """
  name = f".{path.name}.{secrets.token_hex(4)}{_TEMPORARY}"
  temporary = path.with_name(name)
  try:
    with open(temporary, "wb") as file:
      file.write(data)
      file.flush()
      if sync:
        os.fsync(file.fileno())
    os.replace(temporary, path)
  except OSError as e:
    raise _refusal(e, path) from e
  finally:
    with contextlib.suppress(OSError):
      temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def whole_file(path: pathlib.Path) -> Iterator[IO[bytes]]:
  """A file that is written bit by bit, and is there whole at the end.

  Args:
    path: of the file.

  Raises:
    DiskError: see `writing`; the file is as it was, as after any other error.
  """
  name = f".{path.name}.{secrets.token_hex(4)}{_TEMPORARY}"
  temporary = path.with_name(name)
  try:
    with writing(path):
      with open(temporary, "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
      os.replace(temporary, path)
  finally:
    with contextlib.suppress(OSError):
      temporary.unlink(missing_ok=True)


def remove_temporary(folder: pathlib.Path) -> None:
  """Removes what killed processes left of `write_text`, directly in a folder."""
  for path in folder.glob(f".*{_TEMPORARY}"):
    with writing(path):
      path.unlink(missing_ok=True)


def _refusal(error: OSError, path: object) -> DiskError:
  advice = _ADVICE.get(error.errno or 0, "Check the disk")
  return DiskError(
    f"{path}: could not be written: {error.strerror or error}. {advice}, then run"
    " the same command again; what was finished is untouched."
  )
