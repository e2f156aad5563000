"""A file system that fails when it is told to: below one folder, at one operation.

  with filesystem.faulty(folder, filesystem.Fault("full", at=3)) as operations:
    ...                       # the third operation that writes says "disk full"
  operations                  # what was written: ["mkdir cells", "open x", ...]

Counts what Python code does below the folder: making, opening for writing,
writing, syncing, renaming and removing. What C code writes by itself (TensorFlow's
records, orbax, OpenCV) goes past it: kill such programs at moments of time.

  full        ENOSPC                    from that operation on: a disk stays full
  io_error    EIO                       once
  read_only   EROFS                     from that operation on
  short       half of the bytes, ENOSPC once; of what is no write the same as full
  kill        SIGKILL before it
  kill_half   SIGKILL after half of the bytes of a write; else before it
"""

import builtins
import contextlib
import dataclasses
import errno
import io
import os
import pathlib
import signal
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

_ERRNO = {
  "full": errno.ENOSPC,
  "short": errno.ENOSPC,
  "io_error": errno.EIO,
  "read_only": errno.EROFS,
}
# Functions of `os` that write to as many paths.
_PATHS = {
  **dict.fromkeys(("mkdir", "rmdir", "remove", "unlink", "truncate"), 1),
  **dict.fromkeys(("symlink", "link", "rename", "replace"), 2),
}
_DESCRIPTORS = ("fsync", "fdatasync", "ftruncate")
# These free space, or need none: a full disk allows them.
_FREE = ("rmdir", "remove", "unlink")


@dataclasses.dataclass(frozen=True)
class Fault:
  """What goes wrong.

  Attributes:
    kind: see the module; "none" counts alone.
    at: of which operation, from 1.
  """

  kind: str = "none"
  at: int = 0


NOTHING = Fault()


class _Disk:
  """Counts the operations below a folder and fails at one."""

  def __init__(self, folder: pathlib.Path, fault: Fault):
    self.folder, self.fault = os.path.realpath(folder), fault
    self.operations: list[str] = []
    self.names: dict[int, str] = {}  # of open descriptors

  def inside(self, path: Any) -> str:
    """A path relative to the folder; empty where it is elsewhere."""
    if isinstance(path, int):
      return self.names.get(path, "")
    text = os.path.abspath(os.fsdecode(path))
    parent = os.path.realpath(os.path.dirname(text))
    real = os.path.join(parent, os.path.basename(text))
    if real != self.folder and not real.startswith(self.folder + os.sep):
      return ""
    return os.path.relpath(real, self.folder)

  def enter(
    self, operation: str, name: str, half: Callable[[], Any] | None = None
  ) -> None:
    """Counts an operation and fails if it is its turn, perhaps half done."""
    self.operations.append(f"{operation} {name}")
    kind, past = self.fault.kind, len(self.operations) - self.fault.at
    lasting = kind in ("full", "read_only") and past > 0 < self.fault.at
    if past and not lasting or (kind == "full" and operation in _FREE):
      return
    if half is not None and kind in ("short", "kill_half"):
      half()
    if kind in ("kill", "kill_half"):
      os.kill(os.getpid(), signal.SIGKILL)
    if kind in _ERRNO:
      number = _ERRNO[kind]
      place = os.path.join(self.folder, name)
      raise OSError(number, os.strerror(number), place)


class _File(io.FileIO):
  """A file whose writes are counted."""

  def __init__(self, disk: _Disk, name: str, path: Any, mode: str, **options):
    super().__init__(path, mode, **options)
    self._disk, self._place = disk, name
    disk.names[self.fileno()] = name

  def write(self, data: Any) -> int:
    view = memoryview(data).cast("B")
    half = view[: len(view) // 2]
    self._disk.enter(
      "write", self._place, lambda: super(_File, self).write(half)
    )
    return super().write(data)

  def close(self) -> None:
    if not self.closed:
      self._disk.names.pop(self.fileno(), None)
    super().close()


@contextlib.contextmanager
def faulty(
  folder: pathlib.Path | str, fault: Fault = NOTHING
) -> Iterator[list[str]]:
  """Patches this process's writing below a folder.

  Args:
    folder: need not be there.
    fault: what goes wrong; nothing by default.

  Yields:
    The operations as they are done, "<operation> <path within the folder>".
  """
  disk = _Disk(pathlib.Path(folder), fault)
  with contextlib.ExitStack() as stack:
    opener = _opener(disk, io.open)
    stack.enter_context(mock.patch.object(builtins, "open", opener))
    stack.enter_context(mock.patch.object(io, "open", opener))
    for name, patched in _functions(disk).items():
      stack.enter_context(mock.patch.object(os, name, patched))
    yield disk.operations


def _opener(disk: _Disk, real: Callable[..., Any]) -> Callable[..., Any]:
  def opener(
    file: Any,
    mode: str = "r",
    buffering: int = -1,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    closefd: bool = True,
    opener: Any = None,
  ) -> Any:
    name = disk.inside(file)
    if not name or not set(mode) & set("wax+"):
      return real(
        file, mode, buffering, encoding, errors, newline, closefd, opener
      )
    disk.enter("open", name)
    plain = mode.replace("b", "").replace("t", "")
    raw = _File(disk, name, file, plain, closefd=closefd, opener=opener)
    if not buffering:
      return raw
    kind = io.BufferedRandom if "+" in mode else io.BufferedWriter
    buffered = kind(raw)
    if "b" in mode:
      return buffered
    text = io.TextIOWrapper(
      buffered, encoding, errors, newline, line_buffering=buffering == 1
    )
    text.mode = mode
    return text

  return opener


def _functions(disk: _Disk) -> dict[str, Callable[..., Any]]:
  """The patched functions of `os`."""
  real_open, real_write, real_close = os.open, os.write, os.close

  def opened(path: Any, flags: int, *args: Any, **options: Any) -> int:
    writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    name = "" if "dir_fd" in options else disk.inside(path)
    if not writes or not name:
      return real_open(path, flags, *args, **options)
    disk.enter("open", name)
    descriptor = real_open(path, flags, *args, **options)
    disk.names[descriptor] = name
    return descriptor

  def write(descriptor: int, data: Any) -> int:
    name = disk.inside(descriptor)
    if name:
      half = memoryview(data).cast("B")[: len(data) // 2]
      disk.enter("write", name, lambda: real_write(descriptor, half))
    return real_write(descriptor, data)

  def close(descriptor: int) -> None:
    disk.names.pop(descriptor, None)
    real_close(descriptor)

  counted = {**_PATHS, **dict.fromkeys(_DESCRIPTORS, 1)}
  return {
    "open": opened,
    "write": write,
    "close": close,
    **{name: _counted(disk, name, count) for name, count in counted.items()},
  }


def _counted(disk: _Disk, name: str, count: int) -> Callable[..., Any]:
  """A function of `os` whose first arguments are paths, or one open file."""
  real = getattr(os, name)

  def patched(*args: Any, **options: Any) -> Any:
    paths = args[:count]
    if options.get("dir_fd") is not None:  # shutil.rmtree, in an open folder
      parent = os.readlink(f"/proc/self/fd/{options['dir_fd']}")
      paths = (os.path.join(parent, os.fsdecode(args[0])),)
    elif name in _DESCRIPTORS and not isinstance(args[0], int):
      paths = (args[0].fileno(),)
    inside = [place for place in map(disk.inside, paths) if place]
    if inside:
      disk.enter(name, inside[-1])
    return real(*args, **options)

  return patched
