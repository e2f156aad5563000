"""Locks between processes of one machine; the system frees those of a killed one.

`exclusive` lets one process at a time do a piece of work. `own_folder` is a folder
that goes with its process: what a killed one left, `remove_leftovers` removes.
What the file system refuses is an OSError here; callers put it in words.
"""

import contextlib
import os
import pathlib
import shutil
import socket
import tempfile
from collections.abc import Iterator

import filelock
from absl import logging

_LOCK = "lock"  # the file in a folder that locks it


@contextlib.contextmanager
def exclusive(place: pathlib.Path, work: str) -> Iterator[None]:
  """Hold a lock; wait, with a warning, while another process has it.

  Args:
    place: path of the lock's file, in a folder that is there; nothing lies there if
      no process holds the lock.
    work: what is done under it, for the warning: `a.zip is being fetched`.

  Raises:
    OSError: the file cannot be made.
  """
  lock = file_lock(place)
  if not try_acquire(lock):
    logging.warning("%s by %s; waiting for it.", work, _holder(place))
    lock.acquire()
  try:
    with contextlib.suppress(OSError):  # on Windows it cannot be written
      place.write_text(f"process {os.getpid()} on {socket.gethostname()}")
    yield
  finally:
    free(lock)


@contextlib.contextmanager
def own_folder(above: pathlib.Path, prefix: str) -> Iterator[pathlib.Path]:
  """Make a folder that is locked while it is used, and gone afterwards.

  Args:
    above: the folder that it lies in, which is there.
    prefix: what its name starts with, as `remove_leftovers` is told.

  Raises:
    OSError: it cannot be made.
  """
  while True:
    folder = pathlib.Path(tempfile.mkdtemp(prefix=prefix, dir=above))
    lock = file_lock(folder / _LOCK)
    # Another process may take it for a leftover before it is locked.
    with contextlib.suppress(filelock.Timeout, FileNotFoundError):
      lock.acquire(blocking=False)
      break
  try:
    yield folder
  finally:
    lock.release()
    shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(above: pathlib.Path, prefix: str) -> None:
  """Remove the folders of processes that were killed; others are left alone.

  Args:
    above: the folder that they lie in; it need not be there.
    prefix: what their names start with.
  """
  with contextlib.suppress(OSError):  # a folder that cannot be read
    for left in above.glob(f"{prefix}*"):
      # It lives; is another user's; or is gone by now.
      with contextlib.suppress(filelock.Timeout, OSError):
        lock = file_lock(left / _LOCK)
        with lock.acquire(blocking=False):
          shutil.rmtree(left, ignore_errors=True)
        if os.name == "nt":  # which keeps what is open
          shutil.rmtree(left, ignore_errors=True)


def file_lock(place: pathlib.Path) -> filelock.BaseFileLock:
  """Return the lock of a file, which is not taken yet."""
  # Not of a thread: a build may end in another one than it began in.
  return filelock.FileLock(place, thread_local=False)


def try_acquire(lock: filelock.BaseFileLock) -> bool:
  """Take a lock if it is free; return whether it was taken.

  Raises:
    OSError: its file cannot be made.
  """
  try:
    lock.acquire(blocking=False)
  except filelock.Timeout:
    return False
  return True


def free(lock: filelock.BaseFileLock) -> None:
  """Release a lock and remove its file."""
  # The file goes first: who waits holds another file than who comes next, sees
  # that it is gone, and starts again.
  with contextlib.suppress(OSError):  # Windows keeps what is open
    os.unlink(lock.lock_file)
  lock.release()


def _holder(place: pathlib.Path) -> str:
  """Say who has a lock."""
  with contextlib.suppress(OSError, UnicodeDecodeError):
    return place.read_text() or "another process"
  return "another process"
