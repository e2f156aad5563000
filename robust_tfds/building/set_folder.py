"""A set on disk: built by one process at a time, and atomically.

TFDS writes into a temporary folder and renames it when the set is complete.
This module adds the rest: concurrent builds, leftovers of killed builds, full
disks, and sets that were damaged later.
"""

import contextlib
import errno
import os
import pathlib
import shutil
from collections.abc import Iterator
from typing import Any

from robust_tfds import errors, missing
from robust_tfds.building import file_formats
from robust_tfds.storage import locks, paths

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LEFTOVERS = "incomplete.??????_"  # TFDS's file_utils.incomplete_dir
_FRAME_BYTES = 16  # a TFRecord's length and checksums, beside its data
_OP_ERROR = "tensorflow.python.framework.errors_impl.OpError"


def check_folder(folder: str | os.PathLike) -> None:
  """Refuse a data folder that cannot be written.

  Raises:
    UserError: it is a file, lies below one, or may not be written.
  """
  if not paths.is_local(folder):
    return
  place = pathlib.Path(folder).expanduser().absolute()
  there = next(p for p in (place, *place.parents) if os.path.lexists(p))
  if not there.is_dir():
    raise errors.UserError(
      f"{folder}: {there} is not a folder; data_dir has to be one, or one that"
      " can be made."
    )
  if not os.access(there, os.W_OK | os.X_OK):
    raise errors.UserError(
      f"{folder}: {there} may not be written; choose another data_dir."
    )


@contextlib.contextmanager
def locked(data_path: str | os.PathLike) -> Iterator[None]:
  """Hold a set's lock, waiting while another process of this machine builds it.

  The system frees the lock when its process ends in any way. Buckets have no
  lock: there the set that is complete first stays.
  """
  if not paths.is_local(data_path):
    yield
    return
  path = pathlib.Path(data_path)
  lock = path.parent.parent / f".{path.parent.name}_{path.name}.lock"
  lock.parent.mkdir(parents=True, exist_ok=True)
  with locks.exclusive(lock, f"{path} is being built"):
    yield


@contextlib.contextmanager
def nothing_of_missing(root: str | os.PathLike, name: str) -> Iterator[None]:
  """Remove the data folder of a build that failed because a source is missing.

  It is only removed if it did not exist before and no other build uses it.
  """
  new = paths.is_local(root) and not os.path.lexists(root)
  try:
    yield
  except missing.MissingError:
    inside = {*paths.names(root), *paths.names(f"{root}/downloads")}
    if new and inside <= {name, "downloads", "extracted"}:
      shutil.rmtree(root, ignore_errors=True)
    raise


def discard_leftovers(data_path: str | os.PathLike) -> None:
  """Remove leftovers of killed builds of a set; the lock must be held."""
  if paths.is_local(data_path):
    path = pathlib.Path(data_path)
    for folder in path.parent.glob(f"{_LEFTOVERS}{path.name}"):
      shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def refusals(data_path: str | os.PathLike) -> Iterator[None]:
  """Turn errors that end a build into a UserError: a full disk, no manual dir.

  Raises:
    UserError: no room, or a file of the set cannot be written.
    FileNotFoundError: TFDS has no manual dir, or an empty one.
  """
  try:
    yield
  except AssertionError as e:  # TFDS's way to say that the manual dir is empty
    if "manual directory" not in str(e).lower():
      raise
    raise FileNotFoundError(str(e)) from e
  except errors.UserError:
    raise
  except Exception as e:
    if not any(_is_write(cause) for cause in _causes(e)):
      raise
    raise _full(data_path, e) from e


def _causes(error: BaseException | None) -> Iterator[BaseException]:
  """Yield an error and its causes; TFDS wraps its writers' errors."""
  while error is not None:
    yield error
    error = error.__cause__


def _is_write(error: BaseException) -> bool:
  """Return whether a file could not be written because the disk is full."""
  if isinstance(error, OSError):
    return error.errno in _FULL
  # TensorFlow's writer, and ArrayRecord's, which has no class for it.
  kinds = [f"{c.__module__}.{c.__name__}" for c in type(error).__mro__]
  return _OP_ERROR in kinds or "write() failed" in str(error)


def _full(data_path: str | os.PathLike, error: Exception) -> errors.UserError:
  return errors.UserError(
    f"{os.fspath(data_path)}: the set cannot be written ({error}). Nothing of it"
    " stays; make room or choose another data_dir, then run the same command"
    " again."
  )


def check_whole(builder: Any) -> None:
  """Refuse a set on disk with missing or truncated files.

  Raises:
    UserError: no description of the set, or a file that is missing or differs
      in size from its records.
  """
  folder = os.fspath(builder.data_path)
  if not builder.is_prepared():
    raise _damaged(folder, "it has no dataset_info.json")
  for split in builder.info.splits.values():
    size = 0
    for path in split.filepaths:
      if not path.exists():
        raise _damaged(folder, f"{path.name} is missing")
      size += path.stat().length
    if file_formats.is_array_record(builder):
      _check_count(folder, split)
      continue
    records = split.num_bytes + _FRAME_BYTES * split.num_examples
    if size != records:
      raise _damaged(
        folder,
        f"the files of split {split.name} have {size:,} bytes, its"
        f" {split.num_examples:,} records {records:,}",
      )


def _check_count(folder: str, split: Any) -> None:
  """Refuse ArrayRecord files that are truncated, or have fewer examples."""
  try:
    records = file_formats.count(split.filepaths)
  except RuntimeError as e:
    raise _damaged(folder, str(e)) from e
  if records != split.num_examples:
    raise _damaged(
      folder,
      f"the files of split {split.name} have {records:,} records, expected"
      f" {split.num_examples:,}",
    )


def _damaged(folder: str, fault: str) -> errors.UserError:
  return errors.UserError(
    f"{folder}: not a whole set: {fault}. Remove the folder and build it again."
  )
