"""A bucket for tests: `fake://NAME/KEY` is an object of an object store.

Importing this module teaches `etils.epath` the scheme. Objects lie in a local
folder that the environment variable FAKE_BUCKETS names, so that processes share
them; `create` makes one for a test:

  from tests import fake_bucket

  class SomeTest(absltest.TestCase):
    def test_on_a_bucket(self):
      bucket = fake_bucket.create(self)      # FakePath("fake://b1")
      workdir = bucket / "run"               # or the text, f"{bucket}/run"
      fake_bucket.upload("/some/folder", bucket / "data")  # what was local
      fake_bucket.download(bucket / "run", "/some/copy")
      fake_bucket.keys(bucket)               # {"run/config.json": 120, ...}

It is as strict as what epath gives for `gs://`, with TensorFlow or without:

- Keys are flat. `mkdir` makes nothing; `is_dir` is true while an object lies
  below, and an empty folder is not there.
- An object is written whole when its file is closed, also when an error closes
  it; before, nobody sees it, and a killed process leaves nothing.
- `rename` and `replace` copy and delete, object by object. There is no append,
  no `x`, no link, no mode, no time of change finer than a second.
- `open` gives a context manager and no file; the file has no `fileno` and no
  `readinto`. `glob` knows no `**`. `iterdir` has no order.
- Nothing of `os`, `open` or `pathlib` reads it: to them it is no file.

Faults. Every operation passes its steps: `list`, `stat`, `open`, `read`, `write`
(before an object is seen), `wrote`, `copy`, `copied` (before the original is
deleted), `delete`. A fault waits at a step for keys of a pattern:

  with fake_bucket.fault("write", "*.npz", OSError("no quota"), after=2):
    ...                                      # the third such write fails
  with fake_bucket.fault("copied", "*", fake_bucket.Killed()):
    ...                                      # BaseException: as if killed there

  env = fake_bucket.kill_at("write", "*/note.json", after=1)
  subprocess.run([sys.executable, "-m", "tests.fake_bucket",
                  "eval.main", "--config=..."], env=env)

ends that process by SIGKILL at its second such step. `python -m
tests.fake_bucket MODULE FLAGS` runs a command where the scheme is known; so are
the processes that it spawns. `with fake_bucket.counted() as counts:` counts the
steps of this process, and the bytes that were read.

TensorFlow's own readers and writers know no `fake://`, as they know `gs://`:
`with fake_bucket.in_tensorflow():` lets TFRecord files of the bucket be read and
written in this process; commands that are run as above can, too.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import fnmatch
import io
import itertools
import os
import pathlib
import runpy
import shutil
import signal
import sys
import tempfile
import threading
import unittest
import uuid
from collections.abc import Iterator
from typing import Any
from unittest import mock

from etils import epath
from etils.epath import stat_utils

SCHEME = "fake://"
_ROOT = "FAKE_BUCKETS"
_KILL = "FAKE_BUCKETS_KILL"  # step, pattern and count, by spaces
_NUMBERS = itertools.count(1)
_LOCK = threading.Lock()


class Killed(BaseException):
  """What a fault raises in place of a kill: nobody catches it by mistake."""


@dataclasses.dataclass
class _Fault:
  step: str
  pattern: str
  error: BaseException | None  # None: SIGKILL
  after: int  # how many steps pass before it

  def meet(self, step: str, name: str) -> None:
    """Raises, if this is the step that it waits for."""
    if step != self.step or not fnmatch.fnmatchcase(name, self.pattern):
      return
    with _LOCK:
      self.after -= 1
      now = self.after == -1
    if now and self.error is None:
      os.kill(os.getpid(), signal.SIGKILL)
    elif now:
      assert self.error is not None
      raise self.error


_faults: list[_Fault] = []
_counters: list[collections.Counter[str]] = []


def _step(step: str, name: str, count: int = 1) -> None:
  with _LOCK:
    for counter in _counters:
      counter[step] += count
  for fault in list(_faults):
    fault.meet(step, name)


@contextlib.contextmanager
def fault(
  step: str, pattern: str, error: BaseException, *, after: int = 0
) -> Iterator[None]:
  """Raises at one step of the block.

  Args:
    step: a word of the header.
    pattern: of the whole path, `fake://` included; `*` stands for slashes too.
    error: what is raised, once.
    after: how many such steps pass before.
  """
  waiting = _Fault(step, pattern, error, after)
  _faults.append(waiting)
  try:
    yield
  finally:
    _faults.remove(waiting)


def kill_at(step: str, pattern: str, *, after: int = 0) -> dict[str, str]:
  """The environment of a process that is killed at a step; see `fault`."""
  return {**os.environ, _KILL: f"{step} {pattern} {after}"}


@contextlib.contextmanager
def counted() -> Iterator[collections.Counter[str]]:
  """Counts the steps of the block, and `bytes` read."""
  counter: collections.Counter[str] = collections.Counter()
  _counters.append(counter)
  try:
    yield counter
  finally:
    _counters.remove(counter)


def create(case: unittest.TestCase) -> epath.Path:
  """A new, empty bucket that lives as long as a test."""
  folder = tempfile.mkdtemp(prefix="fake_buckets_")
  case.addCleanup(shutil.rmtree, folder, ignore_errors=True)
  patch = mock.patch.dict(os.environ, {_ROOT: folder})
  patch.start()
  case.addCleanup(patch.stop)
  return epath.Path(f"{SCHEME}b{next(_NUMBERS)}")


def upload(source: str | os.PathLike, target: epath.Path) -> epath.Path:
  """Copies a local file, or a folder's files, to a bucket; gives the target."""
  source = pathlib.Path(source)
  if source.is_file():
    target.write_bytes(source.read_bytes())
  for path in source.rglob("*"):
    if path.is_file():
      upload(path, target / path.relative_to(source).as_posix())
  return target


def download(source: epath.Path, target: str | os.PathLike) -> pathlib.Path:
  """Copies all objects below a path to a local folder; gives the folder."""
  target = pathlib.Path(target)
  for key in keys(source):
    place = target / key
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes((source / key).read_bytes())
  return target


def keys(path: epath.Path) -> dict[str, int]:
  """The objects below a path: key after it -> size in bytes, sorted."""
  place = _place(os.fspath(path))
  return {
    p.relative_to(place).as_posix(): p.stat().st_size
    for p in sorted(_files(place))
  }


def local_place(path: str | os.PathLike) -> pathlib.Path:
  """Where an object lies, for tests that damage it behind the bucket's back."""
  return _place(os.fspath(path))


@contextlib.contextmanager
def in_tensorflow() -> Iterator[None]:
  """TensorFlow reads and writes TFRecord files of the bucket in this block."""
  import tensorflow as tf

  reader, writer = tf.data.TFRecordDataset, tf.io.TFRecordWriter
  schemes = [*tf.io.gfile.get_registered_schemes(), SCHEME.removesuffix("://")]
  root = f"{os.environ[_ROOT]}/"

  def read(names: Any, *args: Any, **kwargs: Any) -> Any:
    local = tf.strings.regex_replace(names, f"^{SCHEME}", root)
    return reader(local, *args, **kwargs)

  def write(name: str, *args: Any, **kwargs: Any) -> Any:
    if name.startswith(SCHEME):
      place = _place(name)
      place.parent.mkdir(parents=True, exist_ok=True)
      name = str(place)
    return writer(name, *args, **kwargs)

  with (
    mock.patch.object(tf.data, "TFRecordDataset", read),
    mock.patch.object(tf.io, "TFRecordWriter", write),
    mock.patch.object(tf.io.gfile, "get_registered_schemes", lambda: schemes),
  ):
    yield


def _place(name: str) -> pathlib.Path:
  """Where an object of a name lies."""
  if _ROOT not in os.environ:
    raise AssertionError(
      f"{name}: no buckets here; call `fake_bucket.create(self)` first."
    )
  assert name.startswith(SCHEME), name
  return pathlib.Path(os.environ[_ROOT], name.removeprefix(SCHEME))


def _files(folder: pathlib.Path) -> Iterator[pathlib.Path]:
  for root, _, names in os.walk(folder):
    for name in names:
      yield pathlib.Path(root, name)


class _Reader:
  """A file of a bucket that is read, with what TensorFlow's has and no more."""

  def __init__(self, name: str, mode: str):
    try:
      self._file: Any = open(
        _place(name), mode, encoding=None if "b" in mode else "utf-8"
      )
    except (IsADirectoryError, NotADirectoryError):
      raise FileNotFoundError(f"{name}: no such object.") from None
    self.name = name

  def read(self, size: int = -1) -> Any:
    data = self._file.read(size)
    _step("read", self.name)
    _step("bytes", self.name, len(data))
    return data

  def readline(self) -> Any:
    return self._file.readline()

  def readlines(self) -> list[Any]:
    return self._file.readlines()

  def __iter__(self) -> Iterator[Any]:
    return iter(self._file)

  def seek(self, offset: int, whence: int = 0) -> int:
    return self._file.seek(offset, whence)

  def tell(self) -> int:
    return self._file.tell()

  def seekable(self) -> bool:
    return True

  def size(self) -> int:
    return os.fstat(self._file.fileno()).st_size

  def close(self) -> None:
    self._file.close()


class _Writer:
  """A file of a bucket that is written: nobody sees it before it is closed."""

  def __init__(self, name: str, mode: str):
    self._name = name
    self._file: Any = io.BytesIO() if "b" in mode else io.StringIO()

  def write(self, data: Any) -> int:
    if isinstance(self._file, io.StringIO):
      return self._file.write(data)
    return self._file.write(bytes(data))

  def flush(self) -> None:
    """Nothing: it is seen when it is closed."""

  def tell(self) -> int:
    return self._file.tell()

  def close(self) -> None:
    data = self._file.getvalue()
    _put(self._name, data if isinstance(data, bytes) else data.encode())


def _put(name: str, data: bytes) -> None:
  """Makes an object at once."""
  _step("write", name)
  place = _place(name)
  if place.is_dir():
    with contextlib.suppress(OSError):  # a folder of nothing is no folder
      _remove_empty(place)
  place.parent.mkdir(parents=True, exist_ok=True)
  uploads = pathlib.Path(os.environ[_ROOT], ".uploads")
  uploads.mkdir(exist_ok=True)
  part = uploads / uuid.uuid4().hex
  part.write_bytes(data)
  os.replace(part, place)
  _step("wrote", name)


def _remove_empty(folder: pathlib.Path) -> None:
  for root, _, _ in os.walk(folder, topdown=False):
    os.rmdir(root)


def _parts(*parts: Any) -> tuple[str, ...]:
  """`fake://b/k` is held as `/fake:/b/k`, which pathlib leaves alone."""
  whole = "/".join(os.fspath(part) for part in parts)
  if whole.startswith(SCHEME):
    return (f"/fake:/{whole.removeprefix(SCHEME)}",)
  return tuple(os.fspath(part) for part in parts)


@epath.register_path_cls(SCHEME)
class FakePath(epath.Path):
  """An object, or what objects below it make look like a folder."""

  if sys.version_info < (3, 12):

    def __new__(cls, *parts: Any) -> FakePath:
      return super().__new__(cls, *_parts(*parts))

  else:

    def __init__(self, *parts: Any):
      super().__init__(*_parts(*parts))

  def __fspath__(self) -> str:
    parts = self.parts
    if parts[:2] == ("/", "fake:"):
      return SCHEME + "/".join(parts[2:])
    return "/".join(parts).replace("//", "/", 1)

  def __str__(self) -> str:
    return self.__fspath__()

  def __repr__(self) -> str:
    return f"FakePath({str(self)!r})"

  def as_uri(self) -> str:
    return str(self)

  def relative_to(self, other: Any) -> Any:
    # Of no scheme any more, as of epath's own.
    return super().relative_to(type(self)(other))

  def exists(self) -> bool:
    return self._is_object() or self.is_dir()

  def is_dir(self) -> bool:
    _step("list", str(self))
    return next(_files(_place(str(self))), None) is not None

  def _is_object(self) -> bool:
    _step("stat", str(self))
    return _place(str(self)).is_file()

  def is_file(self) -> bool:
    return self._is_object()

  def iterdir(self) -> Iterator[FakePath]:
    _step("list", str(self))
    place = _place(str(self))
    names = {p.relative_to(place).parts[0] for p in _files(place)}
    if not names:
      raise FileNotFoundError(f"{self}: no object has this prefix.")
    # Neither sorted nor in the order of creation.
    for name in sorted(names, key=lambda name: name[::-1]):
      yield self / name

  def glob(self, pattern: str) -> Iterator[FakePath]:
    if "**" in pattern:
      raise NotImplementedError(f"{pattern}: no `**` on buckets.")
    _step("list", str(self))
    place = _place(str(self))
    names = {
      name
      for path in _files(place)
      for name in [path.relative_to(place), *path.relative_to(place).parents]
    }
    want = pattern.split("/")
    for name in sorted(n.parts for n in names):
      if len(name) == len(want) and all(map(fnmatch.fnmatchcase, name, want)):
        yield self.joinpath(*name)

  def walk(
    self, *, top_down: bool = True, on_error: Any = None
  ) -> Iterator[tuple[FakePath, list[str], list[str]]]:
    del on_error
    _step("list", str(self))
    place = _place(str(self))
    for root, folders, names in os.walk(place, topdown=top_down):
      folders[:] = [f for f in folders if next(_files(_join(root, f)), None)]
      if names or folders:
        inner = pathlib.Path(root).relative_to(place)
        yield self / inner.as_posix(), folders, names

  def expanduser(self) -> FakePath:
    return self

  def resolve(self, strict: bool = False) -> FakePath:
    del strict
    return self

  @contextlib.contextmanager  # type: ignore[override]
  def open(
    self, mode: str = "r", encoding: str | None = None, errors: Any = None
  ) -> Iterator[Any]:
    if mode not in ("r", "rb", "w", "wb") or errors:
      raise ValueError(f"{self}: mode {mode!r}: objects are read or written.")
    if (encoding or "utf-8").lower() not in ("utf-8", "utf8"):
      raise ValueError(f"{self}: encoding {encoding}.")
    _step("open", str(self))
    file = (_Reader if "r" in mode else _Writer)(str(self), mode)
    try:
      yield file
    except Killed:
      raise
    except BaseException:
      file.close()  # what was written is seen, as on real ones
      raise
    file.close()

  def stat(self) -> stat_utils.StatResult:
    if not self._is_object():
      if not self.is_dir():
        raise FileNotFoundError(f"{self}: no such object.")
      return stat_utils.StatResult(is_directory=True, length=0, mtime=0)
    state = _place(str(self)).stat()
    return stat_utils.StatResult(
      is_directory=False, length=state.st_size, mtime=int(state.st_mtime)
    )

  def mkdir(
    self,
    mode: int | None = None,
    parents: bool = False,
    exist_ok: bool = False,
  ) -> None:
    del mode, parents
    if self._is_object() or (not exist_ok and self.is_dir()):
      raise FileExistsError(f"{self} exists.")

  def rmdir(self) -> None:
    if self.is_dir():
      raise ValueError(f"{self} is not empty.")
    raise NotADirectoryError(f"{self} is no folder.")

  def rmtree(self, missing_ok: bool = False) -> None:
    objects = self._objects()
    if not objects and not missing_ok:
      raise FileNotFoundError(f"{self}: no object has this prefix.")
    for path in objects:
      path.unlink()

  def unlink(self, missing_ok: bool = False) -> None:
    _step("delete", str(self))
    try:
      _place(str(self)).unlink()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
      if not missing_ok:
        raise FileNotFoundError(f"{self}: no such object.") from None

  def rename(self, target: Any) -> FakePath:
    target = type(self)(target)
    if target.exists():
      raise FileExistsError(f"{target} exists.")
    return self.replace(target)

  def replace(self, target: Any) -> FakePath:
    target = type(self)(target)
    if self._is_object():
      moves = [(self, target)]
    else:
      moves = [
        (path, target / path.relative_to(self).as_posix())
        for path in self._objects()
      ]
    if not moves:
      raise FileNotFoundError(f"{self}: no such object.")
    for source, place in moves:
      source.copy(place, overwrite=True)
      _step("copied", str(source))
      source.unlink()
    return target

  def copy(self, dst: Any, overwrite: bool = False) -> FakePath:
    dst = type(self)(dst)
    if not overwrite and dst.exists():
      raise FileExistsError(f"{dst} exists.")
    _step("copy", str(self))
    with self.open("rb") as file:
      _put(str(dst), file.read())
    return dst

  def _objects(self) -> list[FakePath]:
    place = _place(str(self))
    _step("list", str(self))
    if place.is_file():
      return [self]
    return [
      self / path.relative_to(place).as_posix()
      for path in sorted(_files(place))
    ]


def _join(root: str, name: str) -> pathlib.Path:
  return pathlib.Path(root, name)


if _KILL in os.environ:
  _words = os.environ[_KILL].split(" ")
  _faults.append(_Fault(_words[0], _words[1], None, int(_words[2])))

if __name__ == "__main__":
  # The module that others import is not this one but its twin of the full name,
  # in processes that are spawned too.
  from tests import fake_bucket

  sys.argv = sys.argv[1:]
  with fake_bucket.in_tensorflow():
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=False)
