"""A globally unique process id, used in the names of temporary files."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
import pathlib
import secrets
import socket

_CLOCK_S = 2.0  # two readings of a process's start may differ so much


@dataclasses.dataclass(frozen=True)
class Process:
  """A process, and one of the things that it makes.

  Attributes:
    system: of its machine, boot and container.
    pid: its number there.
    started: when it began, s since 1970.
    nonce: of the thing.
  """

  system: str
  pid: int
  started: int
  nonce: str

  @classmethod
  def this(cls) -> Process:
    """This one, with a new nonce."""
    pid = os.getpid()
    return cls(_system(), pid, _started(pid), secrets.token_hex(4))

  @classmethod
  def parse(cls, name: str) -> Process | None:
    """Parse a process's name; return None for other texts."""
    parts = name.split("-")
    if len(parts) != 4 or not (parts[1].isdecimal() and parts[2].isdecimal()):
      return None
    return cls(parts[0], int(parts[1]), int(parts[2]), parts[3])

  @property
  def name(self) -> str:
    """Of its folder or file."""
    return f"{self.system}-{self.pid}-{self.started}-{self.nonce}"

  @property
  def here(self) -> bool:
    """Whether it is of this machine, so that `alive` knows."""
    return self.system == _system()

  def alive(self) -> bool:
    """Whether it runs; of this machine alone."""
    import psutil

    try:
      process = psutil.Process(self.pid)
      began, status = process.create_time(), process.status()
    except psutil.NoSuchProcess:
      return False
    # Another process may have its number by now.
    same = abs(began - self.started) <= _CLOCK_S
    return same and status != psutil.STATUS_ZOMBIE


@functools.cache  # every file's name has it
def _started(pid: int) -> int:
  import psutil

  return round(psutil.Process(pid).create_time())


@functools.cache
def _system() -> str:
  """Of this machine since it was started, and of this container."""
  parts = [socket.gethostname()]
  boot = pathlib.Path("/proc/sys/kernel/random/boot_id")
  if boot.exists():  # Linux
    parts += [boot.read_text("ascii"), os.readlink("/proc/self/ns/pid")]
  return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]
