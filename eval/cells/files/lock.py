"""The lock of a workdir: one run at a time.

On a disk it is a file lock, which the system frees when a process ends in any
way. In a bucket it is an object, which a killed run leaves behind:
`--break_lock` replaces it. A run whose object was replaced notices before it
finishes its next cell, and stops.
"""

import contextlib
import datetime
import os
import pathlib
import secrets
import socket
from collections.abc import Iterator

from etils import epath

from eval.cells.files import examples
from robust_tfds import errors, reading
from robust_tfds.records import Record
from robust_tfds.storage import disk, locks, paths

FILE = "running.json"


class _Record(Record):
  """The content of the file: the run that holds the lock."""

  host: str
  pid: int
  since: str
  nonce: str


class Lock:
  """The hold of this process on a workdir."""

  def __init__(self, root: epath.PathLike):
    """Create the lock; `take` takes it."""
    self._path = epath.Path(root) / FILE
    self._file_lock = locks.file_lock(_lock_path(self._path))
    self.nonce = secrets.token_hex(8)

  def take(self, *, breaking: bool = False) -> None:
    """Take the lock.

    Args:
      breaking: whether to replace another run's object in a bucket.

    Raises:
      UserError: another run holds it; says which.
      DiskError: the workdir cannot be written to.
    """
    disk.make_folder(self._path.parent)
    if paths.is_local(self._path):
      with disk.writing(self._path):
        if not locks.try_acquire(self._file_lock):
          raise errors.UserError(
            self._refusal("Wait until it ends, or stop it.")
          )
    elif disk.exists(self._path) and not breaking:
      raise errors.UserError(
        self._refusal(
          f"Wait until it ends, or stop it; if it was killed, remove {self._path}"
          " (a run does so by --break_lock)."
        )
      )
    record = _Record(
      host=socket.gethostname(),
      pid=os.getpid(),
      since=datetime.datetime.now().astimezone().isoformat(" ", "seconds"),
      nonce=self.nonce,
    )
    disk.write_text(self._path, record.model_dump_json(indent=1), sync=False)

  def release(self) -> None:
    """Free the lock, if this process still holds it."""
    if paths.is_local(self._path):
      if self._file_lock.is_locked:
        with contextlib.suppress(disk.DiskError):
          disk.remove(self._path)
        locks.free(self._file_lock)
    elif _nonce(self._path) == self.nonce:
      with contextlib.suppress(disk.DiskError):
        disk.remove(self._path)

  def _refusal(self, remedy: str) -> str:
    return (
      f"{self._path.parent}: another run is writing here: {_holder(self._path)}."
      f" {remedy}"
    )


@contextlib.contextmanager
def held(root: epath.PathLike, *, breaking: bool = False) -> Iterator[Lock]:
  """Hold a workdir, and remove temporary files of killed runs.

  Args:
    root: the workdir; made if missing.
    breaking: see `Lock.take`.

  Raises:
    UserError: another run holds it; says which.
    DiskError: the workdir cannot be written to.
  """
  lock = Lock(root)
  lock.take(breaking=breaking)
  try:
    for folder in (epath.Path(root), epath.Path(root) / examples.FOLDER):
      disk.remove_temporary(folder)
    yield lock
    check(root, lock.nonce)
  finally:
    lock.release()


def check(root: epath.PathLike, nonce: str) -> None:
  """Refuse to continue after another run replaced this one's lock in a bucket.

  Raises:
    UserError: no more cells may be finished.
  """
  path = epath.Path(root) / FILE
  if not paths.is_local(path) and _nonce(path) != nonce:
    raise errors.UserError(
      f"{path}: this run's lock is gone, so that another run may be writing here"
      " (--break_lock). Finished cells stay; run the same command again when the"
      " other ended."
    )


def _lock_path(path: epath.Path) -> pathlib.Path:
  """Return the path of the file lock, next to the record."""
  return pathlib.Path(os.fspath(path)).with_name("running.lock")


def _read(path: epath.Path) -> _Record | None:
  """Return the content of a lock; None if it is missing or damaged."""
  try:
    return reading.records(reading.json_file(path), _Record, str(path))
  except (errors.UserError, OSError):
    return None


def _nonce(path: epath.Path) -> str:
  record = _read(path)
  return record.nonce if record else ""


def _holder(path: epath.Path) -> str:
  """Return who holds a lock, in words."""
  record = _read(path)
  if record is None:
    return "a process that its lock does not name"
  return f"process {record.pid} on {record.host}, since {record.since}"
