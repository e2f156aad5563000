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
_LASTING = ("full", "read_only")
KINDS = (*_ERRNO, "kill", "kill_half")
# Functions of `os` that write -> how many of their arguments are paths.
_PATHS = {
  "mkdir": 1,
  "rmdir": 1,
  "remove": 1,
  "unlink": 1,
  "truncate": 1,
  "symlink": 2,
  "link": 2,
  "rename": 2,
  "replace": 2,
}
# These free space, or need none: a full disk allows them.
_FREE = ("rmdir", "remove", "unlink")


@dataclasses.dataclass(frozen=True)
class Fault:
  """What goes wrong.

  Attributes:
    kind: one of `KINDS`; "none" counts alone.
    at: of which operation, from 1.
    only: of operations of this name alone, e.g. "fsync" or "replace"; empty for
      all. `at` counts these then.
  """

  kind: str = "none"
  at: int = 0
  only: str = ""


NOTHING = Fault()


class _Disk:
  """Counts the operations below a folder and fails at one."""

  def __init__(self, folder: pathlib.Path, fault: Fault):
    self.folder, self.fault = os.path.realpath(folder), fault
    self.operations: list[str] = []
    self._count = 0
    self._names: dict[int, str] = {}  # of open descriptors

  def inside(self, path: Any) -> str:
    """A path relative to the folder; empty where it is elsewhere."""
    if isinstance(path, int):
      return self._names.get(path, "")
    text = os.path.abspath(os.fsdecode(path))
    parent = os.path.realpath(os.path.dirname(text))
    real = os.path.join(parent, os.path.basename(text))
    if real != self.folder and not real.startswith(self.folder + os.sep):
      return ""
    return os.path.relpath(real, self.folder)

  def opened(self, descriptor: int, name: str) -> None:
    self._names[descriptor] = name

  def closed(self, descriptor: int) -> None:
    self._names.pop(descriptor, None)

  def enter(
    self, operation: str, name: str, half: Callable[[], Any] | None = None
  ) -> None:
    """Counts an operation and fails if it is its turn.

    Args:
      operation: its name.
      name: of the file.
      half: does half of it.

    Raises:
      OSError: as the fault says.
    """
    self.operations.append(f"{operation} {name}")
    fault = self.fault
    if fault.only and operation != fault.only:
      return
    self._count += 1
    lasting = fault.kind in _LASTING and self._count > fault.at > 0
    if fault.kind == "full" and operation in _FREE:
      return
    if self._count != fault.at and not lasting:
      return
    if half is not None and fault.kind in ("short", "kill_half"):
      half()
    if fault.kind in ("kill", "kill_half"):
      os.kill(os.getpid(), signal.SIGKILL)
    if fault.kind in _ERRNO:
      number = _ERRNO[fault.kind]
      raise OSError(
        number, os.strerror(number), os.path.join(self.folder, name)
      )


class _File(io.FileIO):
  """A file whose writes are counted."""

  def __init__(self, disk: _Disk, name: str, path: Any, mode: str, **options):
    super().__init__(path, mode, **options)
    self._disk, self._place = disk, name
    disk.opened(self.fileno(), name)

  def write(self, data: Any) -> int:
    view = memoryview(data).cast("B")
    half = view[: len(view) // 2]
    self._disk.enter(
      "write", self._place, lambda: super(_File, self).write(half)
    )
    return super().write(data)

  def close(self) -> None:
    if not self.closed:
      self._disk.closed(self.fileno())
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
  out: dict[str, Callable[..., Any]] = {
    name: _of_paths(disk, name, count) for name, count in _PATHS.items()
  }
  real_open, real_write, real_close = os.open, os.write, os.close

  def opened(path: Any, flags: int, *args: Any, **options: Any) -> int:
    writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    name = "" if "dir_fd" in options else disk.inside(path)
    if not writes or not name:
      return real_open(path, flags, *args, **options)
    disk.enter("open", name)
    descriptor = real_open(path, flags, *args, **options)
    disk.opened(descriptor, name)
    return descriptor

  def write(descriptor: int, data: Any) -> int:
    name = disk.inside(descriptor)
    if name:
      half = memoryview(data).cast("B")[: len(data) // 2]
      disk.enter("write", name, lambda: real_write(descriptor, half))
    return real_write(descriptor, data)

  def close(descriptor: int) -> None:
    disk.closed(descriptor)
    real_close(descriptor)

  out |= {"open": opened, "write": write, "close": close}
  for function in ("fsync", "fdatasync", "ftruncate"):
    out[function] = _of_descriptor(disk, function)
  return out


def _of_paths(disk: _Disk, name: str, count: int) -> Callable[..., Any]:
  real = getattr(os, name)

  def patched(*args: Any, **options: Any) -> Any:
    paths = args[:count]
    if options.get("dir_fd") is not None:  # shutil.rmtree, in an open folder
      parent = os.readlink(f"/proc/self/fd/{options['dir_fd']}")
      paths = (os.path.join(parent, os.fsdecode(args[0])),)
    inside = [place for place in map(disk.inside, paths) if place]
    if inside:
      disk.enter(name, inside[-1])
    return real(*args, **options)

  return patched


def _of_descriptor(disk: _Disk, name: str) -> Callable[..., Any]:
  real = getattr(os, name)

  def patched(file: Any, *args: Any) -> Any:
    descriptor = file if isinstance(file, int) else file.fileno()
    place = disk.inside(descriptor)
    if place:
      disk.enter(name, place)
    return real(file, *args)

  return patched
