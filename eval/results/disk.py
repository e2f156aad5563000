"""Writing a workdir's files: each whole or not at all, failures in words."""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import secrets
from collections.abc import Iterator

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
    where = e.filename2 or e.filename or path
    advice = _ADVICE.get(e.errno or 0, "Check the disk")
    raise DiskError(
      f"{where}: could not be written: {e.strerror or e}. {advice}, then run the"
      " same command again; what was finished is untouched."
    ) from e


def write_text(path: pathlib.Path, text: str) -> None:
  """Writes a text file whole, in UTF-8; see `write_bytes`."""
  write_bytes(path, text.encode("utf-8"))


def write_bytes(path: pathlib.Path, data: bytes) -> None:
  """Writes a file whole: under a name of its own, then renamed into place.

  Raises:
    DiskError: see `writing`; the file is as it was.
  """
  name = f".{path.name}.{secrets.token_hex(4)}{_TEMPORARY}"
  temporary = path.with_name(name)
  with writing(path):
    try:
      with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
      os.replace(temporary, path)
    except BaseException:
      with contextlib.suppress(OSError):
        temporary.unlink(missing_ok=True)
      raise


def remove_temporary(folder: pathlib.Path) -> None:
  """Removes what killed processes left of `write_text`, directly in a folder."""
  for path in folder.glob(f".*{_TEMPORARY}"):
    with writing(path):
      path.unlink(missing_ok=True)
