"""Paths of files: on this machine, or in a bucket (`gs://`, `s3://`, ...).

The one home of "text -> path". Whatever a user names (workdir, data dir, manual
dir, checkpoint, frost, predictions) goes through `of` and is an `epath.Path` from
there on. A bucket differs from a disk, and code that holds an `epath.Path` keeps
to what both can do:

- No folders: `is_dir` is true while a file lies below, `mkdir` may make nothing.
- `rename` copies and deletes; it can be cut off between the two, and of folders
  in the middle. A file appears whole when it is closed.
- `open` gives a context manager, of files without `fileno`, `readinto` and times
  finer than a second. `opened`, `state` and `local_copy` below are for both.
- What a bucket's library raises is not always an OSError; below it is.

Files of this machine are opened by `open`, at no cost. Imports `errors` alone.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import errno
import importlib.util
import io
import os
import pathlib
import re
import shutil
import tempfile
from collections.abc import Iterator
from typing import IO
from typing import Any

from etils import epath

from robust_tfds import errors

# Scheme -> the package that epath opens it with where TensorFlow does not.
_PACKAGES = {
  "gs": "gcsfs",
  "s3": "s3fs",
  "az": "adlfs",
  "hf": "huggingface_hub",
}
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
# `pathlib` joins the slashes of an address.
_JOINED = re.compile(rf"({'|'.join(_PACKAGES)}):/(?!/)")
_WITHOUT_TENSORFLOW = "EPATH_USE_TF"  # etils/epath/gpath.py:_epath_use_tf
_BLOCK = 1 << 20  # bytes of one request
_REQUESTS = 32  # at once, of a bucket
# What the libraries of buckets call what the system has a number for.
_NUMBERS = {
  "NotFoundError": errno.ENOENT,
  "PermissionDeniedError": errno.EACCES,
  "UnauthenticatedError": errno.EACCES,
}
_LIBRARIES = (
  "tensorflow",
  "gcsfs",
  "google",
  "s3fs",
  "botocore",
  "aiohttp",
  "adlfs",
  "azure",
  "huggingface_hub",
  "fsspec",
)


def of(text: str | os.PathLike, name: str = "") -> epath.Path:
  """The path that a user names.

  Args:
    text: of a file or folder, there or not: on this machine, or `gs://...`.
    name: of the flag or key that it comes from, for the refusal.

  Raises:
    UserError: an address that nothing here opens; says which are, or which
      package is missing.
  """
  if isinstance(text, epath.Path):
    return text
  text = os.fspath(text)
  start = f"{name}={text}" if name else text
  if _JOINED.match(text):
    raise errors.UserError(
      f"{start}: one slash after the colon; an address has two:"
      f" {text.replace(':/', '://', 1)}."
    )
  address = _URL.fullmatch(text)
  if address:
    _check_address(address[1], address[2], start)
  try:
    return epath.Path(text)
  except KeyError:
    known = ", ".join(f"{scheme}://" for scheme in _PACKAGES)
    raise errors.UserError(
      f"{start}: nothing here opens {text.partition('://')[0]}://. Known:"
      f" {known} and paths of this machine."
    ) from None


def is_local(path: str | os.PathLike) -> bool:
  """Whether a path is of this machine: `open` and other programs can open it."""
  return "://" not in os.fspath(path)


def absolute(path: str | os.PathLike) -> epath.Path:
  """A path that stays the same when the working folder changes."""
  path = of(path)
  return path.resolve() if is_local(path) else path


@dataclasses.dataclass(frozen=True)
class State:
  """What tells one version of a file from another, without reading it.

  Attributes:
    size: in bytes.
    changed: times of change, of this machine's files in ns, else in s.
  """

  size: int
  changed: tuple[int, ...]


def state(path: str | os.PathLike) -> State:
  """The state of a file.

  Raises:
    OSError: there is none, or it cannot be asked for.
  """
  if is_local(path):
    found = os.stat(path)
    return State(found.st_size, (found.st_mtime_ns, found.st_ctime_ns))
  with os_errors(path):
    told = of(path).stat()
  if told.is_directory:
    raise IsADirectoryError(errno.EISDIR, "a folder", os.fspath(path))
  return State(told.length, (told.mtime,))


@contextlib.contextmanager
def opened(path: str | os.PathLike) -> Iterator[IO[bytes]]:
  """A file to read from: buffered, with `seek` and `readinto`.

  Raises:
    OSError: it cannot be opened; reading raises it too.
  """
  if is_local(path):
    with open(path, "rb") as file:
      yield file
    return
  size = state(path).size
  with contextlib.ExitStack() as stack:
    with os_errors(path):
      raw = stack.enter_context(of(path).open("rb"))
    yield io.BufferedReader(_Raw(raw, os.fspath(path), size), _BLOCK)


@contextlib.contextmanager
def local_copy(path: str | os.PathLike) -> Iterator[str]:
  """A file or folder for what opens those of this machine alone.

  Gives the path itself where it is local; else a copy, which goes at the end.

  Raises:
    OSError: it cannot be copied.
  """
  if is_local(path):
    yield os.fspath(path)
    return
  source = of(path)
  with tempfile.TemporaryDirectory(prefix="robust_tfds_") as folder:
    copy = os.path.join(folder, source.name)
    with os_errors(path):
      is_folder = source.is_dir()
    if is_folder:
      _fetch_folder(source, copy)
    else:
      _fetch(source, copy)
    yield copy


def files_below(folder: str | os.PathLike) -> Iterator[tuple[str, str]]:
  """All files below a folder: (path below it with slashes, whole path).

  Links to folders are not followed. None where there is no folder.

  Raises:
    OSError: a bucket refuses.
  """
  if is_local(folder):
    for place, _, names in os.walk(folder):
      for name in names:
        whole = os.path.join(place, name)
        yield os.path.relpath(whole, folder).replace(os.sep, "/"), whole
    return
  yield from _files_in_bucket(of(folder))


@contextlib.contextmanager
def os_errors(path: str | os.PathLike) -> Iterator[None]:
  """What a bucket's library raises becomes an OSError; for short blocks."""
  try:
    yield
  except OSError:
    raise
  except Exception as e:
    if is_local(path) or not of_library(e):
      raise
    number = _NUMBERS.get(type(e).__name__, errno.EIO)
    lines = str(e).strip().splitlines() or [""]
    reason = f"{type(e).__name__}: {lines[0][:300]}"
    raise OSError(number, reason, os.fspath(path)) from e


def of_library(error: Exception) -> bool:
  """Whether a bucket's library raised an error, not our own code."""
  return type(error).__module__.split(".")[0] in _LIBRARIES


def _check_address(scheme: str, rest: str, start: str) -> None:
  """Refuses an address without a bucket, or whose package is not installed."""
  if scheme not in _PACKAGES:
    return  # epath knows those that a program registered
  if not rest.strip("/"):
    raise errors.UserError(f"{start}: names no bucket: {scheme}://BUCKET/PATH.")
  package = _PACKAGES[scheme]
  if _tensorflow_opens():
    import tensorflow as tf

    if scheme not in tf.io.gfile.get_registered_schemes():
      raise errors.UserError(
        f"{start}: TensorFlow has no {scheme}:// here. Set"
        f" {_WITHOUT_TENSORFLOW}=0 in the environment and pip install {package}:"
        " then everything but prepared data sets can lie there."
      )
  elif importlib.util.find_spec(package) is None:
    raise errors.MissingPackageError(
      f"{start}: {scheme}:// needs {package}, which is not installed:"
      f" pip install {package}."
    )


def _tensorflow_opens() -> bool:
  """Whether epath asks TensorFlow, which it does where it is installed."""
  use = os.environ.get(_WITHOUT_TENSORFLOW, "").lower()
  if use in ("false", "no", "f", "0"):
    return False
  return importlib.util.find_spec("tensorflow") is not None


class _Raw(io.RawIOBase):
  """A bucket's file as Python's own are: `readinto`, and OSErrors alone."""

  def __init__(self, file: Any, path: str, size: int):
    super().__init__()
    self._file, self._path, self._size = file, path, size

  def readable(self) -> bool:
    """True."""
    return True

  def seekable(self) -> bool:
    """True."""
    return True

  def readinto(self, buffer: Any) -> int:
    """Reads up to the buffer's size."""
    view = memoryview(buffer).cast("B")
    with os_errors(self._path):
      data = self._file.read(len(view))
    view[: len(data)] = data
    return len(data)

  def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
    """Moves; from the end by the size that the file had when it was opened."""
    start = {os.SEEK_SET: 0, os.SEEK_END: self._size}
    with os_errors(self._path):
      here = self._file.tell() if whence == os.SEEK_CUR else start[whence]
      self._file.seek(max(0, here + offset))
    return here + offset

  def tell(self) -> int:
    """Where the next byte is read."""
    with os_errors(self._path):
      return self._file.tell()


def _fetch(source: epath.Path, copy: str) -> None:
  with opened(source) as file, open(copy, "wb") as out:
    shutil.copyfileobj(file, out, _BLOCK)


def _fetch_folder(source: epath.Path, copy: str) -> None:
  for below, whole in files_below(source):
    place = pathlib.Path(copy, below)
    place.parent.mkdir(parents=True, exist_ok=True)
    _fetch(of(whole), str(place))


def _files_in_bucket(folder: epath.Path) -> Iterator[tuple[str, str]]:
  """As `files_below`; asks for the kind of many entries at once."""
  with concurrent.futures.ThreadPoolExecutor(_REQUESTS) as pool:
    left = [("", folder)]
    while left:
      start, place = left.pop()
      with os_errors(place):
        try:
          entries = list(place.iterdir())
        except FileNotFoundError:
          continue
        kinds = list(pool.map(lambda entry: entry.is_dir(), entries))
      for entry, is_folder in zip(entries, kinds, strict=True):
        below = f"{start}{entry.name}"
        if is_folder:
          left.append((f"{below}/", entry))
        else:
          yield below, os.fspath(entry)
