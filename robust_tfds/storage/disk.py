"""Writing a workdir's files: each whole or not at all, failures in words.

On a local disk (or one that hosts share) a file is written under a name of its own
and renamed into place. In a bucket, which has no such rename, an object appears
when all of it is there, so it is written at once under its name.
"""

import contextlib
import errno
import functools
import hashlib
import os
import pathlib
import re
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from typing import IO

from etils import epath

from robust_tfds import errors
from robust_tfds.storage import paths

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
_TEMPORARY = re.compile(
  r"\..+\.(?P<system>[0-9a-f]{8})-(?P<pid>\d+)-[0-9a-f]{8}\.tmp"
)
# Other machines' temporary files are removed after it: no file takes longer.
_STALE_S = 24 * 3600.0


class DiskError(errors.UserError, OSError):
  """Something could not be written; what was finished is untouched."""


@contextlib.contextmanager
def writing(path: epath.PathLike) -> Iterator[None]:
  """Turn what the system refuses into words.

  Args:
    path: what is written, if the system does not name a file itself.

  Raises:
    DiskError: says which path, what the system said and what to do.
  """
  try:
    with paths.os_errors(path):
      yield
  except DiskError:
    raise
  except OSError as e:
    raise _refusal(e, e.filename2 or e.filename or path) from e


def write_text(path: epath.PathLike, text: str, *, sync: bool = True) -> None:
  """Write a text file whole, in UTF-8; see `write_bytes`."""
  write_bytes(path, text.encode("utf-8"), sync=sync)


def write_bytes(
  path: epath.PathLike, data: bytes, *, sync: bool = True
) -> None:
  """Write a file whole; what was there before is replaced.

  Args:
    sync: wait until it is on the disk, so that it outlives a power cut.

  Raises:
    DiskError: see `writing`; the file is as it was.
  """
  if not paths.is_local(path):
    with writing(path):
      epath.Path(path).write_bytes(data)
    return
  try:
    with _renamed(pathlib.Path(path), sync) as file:
      file.write(data)
  except OSError as e:
    raise _refusal(e, path) from e


@contextlib.contextmanager
def _renamed(path: pathlib.Path, sync: bool) -> Iterator[IO[bytes]]:
  """Yield a file whose name says who writes it, and rename it at the end."""
  writer = f"{_system()}-{os.getpid()}-{secrets.token_hex(4)}"
  temporary = path.with_name(f".{path.name}.{writer}.tmp")
  try:
    with open(temporary, "wb") as file:
      yield file
      file.flush()
      if sync:
        os.fsync(file.fileno())
    os.replace(temporary, path)
  finally:
    with contextlib.suppress(OSError):
      temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def whole_file(path: epath.Path) -> Iterator[IO[bytes]]:
  """Open a file that is written bit by bit, and is there whole at the end.

  Raises:
    DiskError: see `writing`; the file is as it was, as after any other error.
  """
  with writing(path):
    if not paths.is_local(path):
      with tempfile.TemporaryFile() as file:
        yield file
        file.seek(0)
        with path.open("wb") as target:
          shutil.copyfileobj(file, target)
      return
    with _renamed(pathlib.Path(path), sync=True) as file:
      yield file


def remove_temporary(folder: epath.PathLike) -> None:
  """Remove the temporary files of killed processes directly in a folder.

  Files stay while their process of this machine is alive; those of other machines
  stay for a day.
  """
  import psutil

  if not paths.is_local(folder):
    return
  for path in pathlib.Path(folder).glob(".*.tmp"):
    match = _TEMPORARY.fullmatch(path.name)
    if not match:
      continue
    if match["system"] == _system():
      is_left = not psutil.pid_exists(int(match["pid"]))
    else:
      is_left = time.time() - path.stat().st_mtime > _STALE_S
    if is_left:
      with writing(path):
        path.unlink(missing_ok=True)


@functools.cache
def _system() -> str:
  """Return a hash of this machine and, on Linux, of its boot and container."""
  parts = [socket.gethostname()]
  boot = pathlib.Path("/proc/sys/kernel/random/boot_id")
  if boot.exists():
    parts += [boot.read_text("ascii"), os.readlink("/proc/self/ns/pid")]
  return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def exists(path: epath.PathLike) -> bool:
  """Return whether anything has that name, a link to nothing included.

  Raises:
    OSError: a bucket does not say.
  """
  if paths.is_local(path):
    return os.path.lexists(path)
  with paths.os_errors(path):
    return epath.Path(path).exists()


def below(folder: epath.Path, depth: int) -> list[epath.Path]:
  """List the paths `depth` folders below one, sorted; skip what has gone meanwhile."""
  level = [epath.Path(folder)]
  for _ in range(depth):
    level = sorted(p for path in level for p in _children(path))
  return level


def _children(folder: epath.Path) -> list[epath.Path]:
  with paths.os_errors(folder):
    try:
      return list(folder.iterdir()) if folder.is_dir() else []
    except FileNotFoundError:  # gone meanwhile
      return []


def move(source: epath.Path, target: epath.Path) -> None:
  """Move a file or a folder to where nothing is.

  A bucket's objects move one after the other.

  Args:
    source: what is there.
    target: its new name; the folders above it are made.

  Raises:
    DiskError: it could not be moved, or not all of it.
  """
  with writing(target):
    target.parent.mkdir(parents=True, exist_ok=True)
    if paths.is_local(source):
      os.replace(source, target)
    elif source.is_dir():
      for child in sorted(source.iterdir()):
        move(child, target / child.name)
    else:
      source.replace(target)


def remove(path: epath.PathLike) -> None:
  """Remove a file, a link, or a folder and all below it; or nothing is there.

  Raises:
    DiskError: it could not be removed.
  """
  with writing(path):
    if paths.is_local(path) and not os.path.islink(path):
      with contextlib.suppress(FileNotFoundError):
        epath.Path(path).rmtree()
    elif paths.is_local(path):
      os.unlink(path)
    else:
      epath.Path(path).rmtree(missing_ok=True)
      epath.Path(path).unlink(missing_ok=True)


def make_folder(folder: epath.PathLike) -> None:
  """Make a folder and those above it.

  Raises:
    DiskError: it could not be made.
  """
  with writing(folder):
    epath.Path(folder).mkdir(parents=True, exist_ok=True)


def remove_empty(folder: epath.PathLike) -> None:
  """Remove a folder if it is empty; buckets have no empty ones."""
  if paths.is_local(folder):
    with contextlib.suppress(OSError):
      os.rmdir(folder)


def _refusal(error: OSError, path: object) -> DiskError:
  advice = _ADVICE.get(error.errno or 0, "Check the disk")
  return DiskError(
    f"{path}: could not be written: {error.strerror or error}. {advice}, then run"
    " the same command again; what was finished is untouched."
  )
