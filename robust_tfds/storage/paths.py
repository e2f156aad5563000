"""Paths of files: on this machine, or in a bucket (`gs://`, `s3://`, ...).

The one home of "text -> path". Whatever a user names (workdir, data dir, manual
dir, checkpoint, frost, predictions) goes through `parse` and is an `epath.Path` from
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

import concurrent.futures
import contextlib
import dataclasses
import errno
import hashlib
import importlib.util
import io
import os
import pathlib
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

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
# Of TensorFlow's errors, which are of much else, those that buckets raise.
_REFUSALS = (
  *_NUMBERS,
  "AbortedError",
  "DeadlineExceededError",
  "FailedPreconditionError",
  "UnavailableError",
  "UnimplementedError",
)
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


def parse(text: str | os.PathLike, name: str = "") -> epath.Path:
  """Parse the path that a user names.

  Args:
    text: path of a file or folder, there or not: on this machine, or `gs://...`.
    name: name of the flag or key that it comes from, for the refusal.

  Raises:
    UserError: an address that nothing here opens; says which are, or which
      package is missing.
  """
  if isinstance(text, epath.Path):
    return text
  text = os.fspath(text)
  if text.startswith("~/"):  # shells leave it behind a colon or equals sign
    text = os.path.expanduser(text)
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


def optional(text: str | None, name: str) -> epath.Path | None:
  """Parse a path like `parse`; None if the user names nothing."""
  return parse(text, name) if text else None


def check_records(path: str | os.PathLike, name: str = "") -> None:
  """Refuse a place for prepared sets where TensorFlow opens no file.

  Their TFRecord files are read and written by TensorFlow itself.

  Args:
    name: name of the flag or key that it comes from, for the refusal.

  Raises:
    UserError: names the schemes that TensorFlow opens; or as `parse`.
  """
  text = os.fspath(parse(path, name))
  if is_local(text):
    return
  try:
    import tensorflow as tf
  except ImportError as e:
    raise errors.missing_package_error(
      "TensorFlow", "tf", f"A set in {text}"
    ) from e
  known = tf.io.gfile.get_registered_schemes()
  if text.partition("://")[0] not in known:
    start = f"{name}={text}" if name else text
    raise errors.UserError(
      f"{start}: prepared data sets are read by TensorFlow, which opens"
      f" {', '.join(f'{k}://' for k in known if k)} and files of this machine."
      " Name a data_dir there; all else of a run may lie here."
    )


def is_local(path: str | os.PathLike) -> bool:
  """Return whether a path is local: `open` and other programs can open it."""
  return "://" not in os.fspath(path)


def resolved(path: str | os.PathLike) -> epath.Path:
  """Return a path that does not depend on the working folder; links are followed."""
  if not is_local(path):
    return parse(path)
  return epath.Path(os.path.realpath(path))


def is_file(path: str | os.PathLike) -> bool:
  """Return whether a path exists and is no folder; pipes and devices count.

  Raises:
    OSError: a bucket refuses.
  """
  with os_errors(path):
    place = parse(path)
    return place.exists() and not place.is_dir()


@dataclasses.dataclass(frozen=True)
class State:
  """The size and times that tell one version of a file from another.

  Attributes:
    size: in bytes.
    changed: times of change in ns, of a bucket's file to the second.
  """

  size: int
  changed: tuple[int, ...]


def state(path: str | os.PathLike) -> State:
  """Return the state of a file.

  Raises:
    OSError: there is none, or it cannot be asked for.
  """
  if is_local(path):
    stat = os.stat(path)
    return State(stat.st_size, (stat.st_mtime_ns, stat.st_ctime_ns))
  with os_errors(path):
    stat_of_bucket = parse(path).stat()
  if stat_of_bucket.is_directory:
    raise IsADirectoryError(errno.EISDIR, "a folder", os.fspath(path))
  seconds = stat_of_bucket.mtime
  return State(stat_of_bucket.length, (seconds * 1_000_000_000,))


def opened(path: str | os.PathLike) -> IO[bytes]:
  """Open a file to read: buffered, with `seek` and `readinto`, for `with`.

  Raises:
    OSError: it cannot be opened; reading raises it too.
  """
  if is_local(path):
    return open(path, "rb")
  return io.BufferedReader(raw(path), _BLOCK)


def raw(path: str | os.PathLike) -> io.RawIOBase:
  """Open a file to read without a buffer; see `opened`."""
  if is_local(path):
    return io.FileIO(path)  # type: ignore[arg-type]
  return _BucketFile(parse(path), state(path).size)


def read_bytes(path: str | os.PathLike) -> bytes:
  """Return all bytes of a file of ours; for files of others use `reading`.

  Raises:
    OSError: it cannot be read.
  """
  with opened(path) as file:
    return file.read()


def sha256(path: str | os.PathLike) -> str:
  """Return the sha256 of a file's bytes, a block of which is held at a time.

  Raises:
    OSError: it cannot be read.
  """
  digest = hashlib.sha256()
  with opened(path) as file:
    while block := file.read(_BLOCK):
      digest.update(block)
  return digest.hexdigest()


def states(many: Iterable[str | os.PathLike]) -> dict[str, State]:
  """Return path -> state of those that exist; of buckets many at once."""

  def state_of(path: str) -> State | None:
    try:
      return state(path)
    except (OSError, errors.UserError):
      return None

  listed = [os.fspath(path) for path in many]
  if all(map(is_local, listed)):
    known = {path: state_of(path) for path in listed}
  else:
    with concurrent.futures.ThreadPoolExecutor(_REQUESTS) as pool:
      known = dict(zip(listed, pool.map(state_of, listed)))
  return {path: at for path, at in known.items() if at is not None}


def write_bytes(path: str | os.PathLike, data: bytes) -> None:
  """Write a file whole or not at all; the folders above it are made.

  Raises:
    OSError: it cannot be written.
  """
  with os_errors(path):
    place = parse(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    if not is_local(path):
      place.write_bytes(data)
      return
    part = place.with_name(f".{place.name}.{os.getpid()}")
    try:
      part.write_bytes(data)
      part.replace(place)
    finally:
      part.unlink(missing_ok=True)


def exist(many: Sequence[str | os.PathLike]) -> list[bool]:
  """Return whether each path exists; of buckets many are asked for at once.

  Raises:
    OSError: a bucket refuses.
  """
  if all(map(is_local, many)):
    return [os.path.exists(path) for path in many]

  def exists(path: str | os.PathLike) -> bool:
    with os_errors(path):
      return parse(path).exists()

  with concurrent.futures.ThreadPoolExecutor(_REQUESTS) as pool:
    return list(pool.map(exists, many))


@contextlib.contextmanager
def local_copy(path: str | os.PathLike) -> Iterator[str]:
  """Yield a local path of a file or folder, for what opens local ones alone.

  Gives the path itself where it is local; else a copy, which goes at the end.

  Raises:
    OSError: it cannot be copied.
  """
  if is_local(path):
    yield os.fspath(path)
    return
  source = parse(path)
  with tempfile.TemporaryDirectory(prefix="robust_tfds_") as folder:
    copy = os.path.join(folder, source.name)
    with os_errors(path):
      is_folder = source.is_dir()
    if is_folder:
      _fetch_folder(source, copy)
    else:
      _fetch(source, copy)
    yield copy


@dataclasses.dataclass(frozen=True)
class Entry:
  """An entry of a bucket's folder, with the names of `os.DirEntry`.

  Attributes:
    name: in the folder.
    path: the whole path.
    folder: whether others lie below it.
  """

  name: str
  path: str
  folder: bool

  def is_dir(self) -> bool:
    """Return whether it is a folder."""
    return self.folder

  def is_file(self) -> bool:
    """Return whether it is a file."""
    return not self.folder

  def is_symlink(self) -> bool:
    """Return False: buckets have no links."""
    return False


@contextlib.contextmanager
def written_locally(path: str | os.PathLike) -> Iterator[str]:
  """Yield a local path for a file or folder that is to lie at a path.

  Gives the path itself where it is local; else what is written there is copied
  at the end, and nothing after an error.

  Raises:
    OSError: it cannot be copied.
  """
  if is_local(path):
    yield os.fspath(path)
    return
  with tempfile.TemporaryDirectory(prefix="robust_tfds_") as folder:
    place = os.path.join(folder, parse(path).name)
    yield place
    if os.path.isdir(place):
      for below, whole in files_below(place):
        _send(whole, parse(path) / below)
    else:
      _send(place, parse(path))


AnyEntry = os.DirEntry[str] | Entry


def scan(folder: str | os.PathLike) -> Sequence[AnyEntry]:
  """List what lies in a folder, by name.

  Of a bucket every entry is asked for its kind, many at once: 50,000 take a
  minute; archives are quicker.

  Raises:
    OSError: there is no such folder, or it cannot be read.
  """
  if is_local(folder):
    with os.scandir(os.fspath(folder)) as local:
      return sorted(local, key=lambda entry: entry.name)
  with os_errors(folder):
    listed = sorted(parse(folder).iterdir(), key=lambda path: path.name)
    with concurrent.futures.ThreadPoolExecutor(_REQUESTS) as pool:
      kinds = list(pool.map(lambda path: path.is_dir(), listed))
  return [
    Entry(path.name, os.fspath(path), kind) for path, kind in zip(listed, kinds)
  ]


def folders(folder: str | os.PathLike) -> list[AnyEntry]:
  """List the folders in a folder, by name; none if it cannot be read."""
  try:
    return [entry for entry in scan(folder) if entry.is_dir()]
  except OSError:
    return []


def names(folder: str | os.PathLike) -> list[str]:
  """List the names in a folder, sorted; none if there is no folder.

  Raises:
    OSError: it cannot be read.
  """
  try:
    if is_local(folder):
      return sorted(os.listdir(folder))
    with os_errors(folder):
      return sorted(path.name for path in parse(folder).iterdir())
  except (FileNotFoundError, NotADirectoryError):
    return []


def two_deep(folder: str | os.PathLike) -> list[tuple[str, str]]:
  """List (name of a folder in the folder, name in that), sorted.

  Raises:
    OSError: one of them cannot be read.
  """
  outer = names(folder)
  with concurrent.futures.ThreadPoolExecutor(_REQUESTS) as pool:
    inner = pool.map(lambda name: names(parse(folder) / name), outer)
    return [(o, name) for o, listed in zip(outer, inner) for name in listed]


def files_below(folder: str | os.PathLike) -> Iterator[tuple[str, str]]:
  """Yield (path below the folder with slashes, whole path) of all files below it.

  Links to folders are not followed. None where there is no folder.

  Raises:
    OSError: a bucket refuses.
  """
  if is_local(folder):
    for place, _, files in os.walk(os.fspath(folder)):
      for name in files:
        whole = os.path.join(place, name)
        yield os.path.relpath(whole, folder).replace(os.sep, "/"), whole
    return
  left = [("", os.fspath(folder))] if names(folder) else []
  while left:
    start, place = left.pop()
    for entry in scan(place):
      if entry.is_dir():
        left.append((f"{start}{entry.name}/", entry.path))
      else:
        yield f"{start}{entry.name}", entry.path


@contextlib.contextmanager
def os_errors(path: str | os.PathLike) -> Iterator[None]:
  """Turn what a bucket's library raises into an OSError; for short blocks."""
  try:
    yield
  except OSError:
    raise
  except Exception as e:
    if is_local(path) or not is_library_error(e):
      raise
    number = _NUMBERS.get(type(e).__name__, errno.EIO)
    lines = str(e).strip().splitlines() or [""]
    reason = f"{type(e).__name__}: {lines[0][:300]}"
    raise OSError(number, reason, os.fspath(path)) from e


def is_library_error(error: Exception) -> bool:
  """Return whether a bucket's library raised an error, not our own code."""
  return type(error).__module__.split(".")[0] in _LIBRARIES


def is_refusal(error: Exception) -> bool:
  """Return whether a bucket's library refuses: for rights, network or name."""
  if not is_library_error(error):
    return False
  ours = type(error).__module__.startswith("tensorflow")
  return not ours or type(error).__name__ in _REFUSALS


def _check_address(scheme: str, rest: str, start: str) -> None:
  """Refuse an address without a bucket, or whose package is not installed."""
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
  """Return whether epath asks TensorFlow, as it does if it is installed."""
  use = os.environ.get(_WITHOUT_TENSORFLOW, "").lower()
  if use in ("false", "no", "f", "0"):
    return False
  return importlib.util.find_spec("tensorflow") is not None


class _BucketFile(io.RawIOBase):
  """A bucket's file as Python's own are: `readinto`, and OSErrors alone."""

  def __init__(self, path: epath.Path, size: int):
    super().__init__()
    self._path, self._size = os.fspath(path), size
    self._stack = contextlib.ExitStack()
    with os_errors(path):
      self._file: Any = self._stack.enter_context(path.open("rb"))

  def readable(self) -> bool:
    """Return True: the file was opened to be read."""
    return True

  def seekable(self) -> bool:
    """Return True: buckets read from any byte."""
    return True

  def readinto(self, buffer: Any) -> int:
    """Read up to the buffer's size."""
    view = memoryview(buffer).cast("B")
    with os_errors(self._path):
      data = self._file.read(len(view))
    view[: len(data)] = data
    return len(data)

  def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
    """Move to a byte; from the end by the size that the file had when it was opened."""
    with os_errors(self._path):
      start = {os.SEEK_SET: 0, os.SEEK_END: self._size}
      here = self._file.tell() if whence == os.SEEK_CUR else start[whence]
      self._file.seek(max(0, here + offset))
    return here + offset

  def tell(self) -> int:
    """Return the place of the next byte to read."""
    with os_errors(self._path):
      return self._file.tell()

  def close(self) -> None:
    """Close the library's own file."""
    self._stack.close()
    super().close()


def _send(source: str, target: epath.Path) -> None:
  with os_errors(target), open(source, "rb") as file, target.open("wb") as out:
    while block := file.read(_BLOCK):
      out.write(block)


def _fetch(source: epath.Path, copy: str) -> None:
  with opened(source) as file, open(copy, "wb") as out:
    shutil.copyfileobj(file, out, _BLOCK)


def _fetch_folder(source: epath.Path, copy: str) -> None:
  for below, whole in files_below(source):
    place = pathlib.Path(copy, below)
    place.parent.mkdir(parents=True, exist_ok=True)
    _fetch(parse(whole), str(place))
