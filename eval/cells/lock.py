"""Who is writing in a workdir: every run says so before it writes.

  running/<process>/run.json   who it is and which cells it makes

Runs over other cells of one workdir go on side by side; one that wants a cell of
another is refused, with that one's host and process. A run that was killed leaves
its folder behind. Whoever comes next removes it as soon as it is sure:

* of this machine (the same boot and the same process names, so not another
  container): at once, where no process of that number began at that time;
* of any other: when it gave no sign of life for `STALE_S` seconds. A sign is the
  time of change of `run.json`, which a running process renews every `BEAT_S`: on
  disks by its time alone, in buckets by writing it again. Ages are differences of
  two such times, so that only the file system's or the bucket's clock counts.

`--break_lock` removes the others at once. A run whose lock was removed sees it
before it finishes its next cell, and stops. In a bucket it might write its lock
again at that moment: there a removed lock leaves `removed`, which says that it is
none, until its process is known to be dead.
"""

import contextlib
import dataclasses
import datetime
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from etils import epath

from robust_tfds import errors, reading
from robust_tfds.eval.cells import examples
from robust_tfds.records import Record
from robust_tfds.storage import disk, paths
from robust_tfds.storage.process import Process

FOLDER = "running"
BEAT_S = 15.0
STALE_S = 300.0
_POLL_S = 0.05  # between two looks at one who asks at the same time
_WAIT_S = 2.0  # between two looks at one who is waited for
_FILE = "run.json"
_REMOVED = "removed"  # beside it, in buckets


class _Record(Record):
  """What `run.json` says."""

  host: str
  pid: int
  since: str
  holding: bool  # else it asks
  cells: list[str]


@dataclasses.dataclass(frozen=True)
class _Other:
  """Another's lock as it was read."""

  process: Process
  record: _Record

  def __str__(self) -> str:
    return (
      f"process {self.record.pid} on {self.record.host}, since"
      f" {self.record.since}"
    )


class Lock:
  """This process's hold on some cells of a workdir."""

  def __init__(self, root: epath.Path, cells: Sequence[str]):
    """Asks for nothing yet; see `held`.

    Args:
      cells: names of what no other may make at the same time.
    """
    self._root, self._cells = epath.Path(root), list(cells)
    self._process = Process.this()
    self._since = datetime.datetime.now().astimezone().isoformat(" ", "seconds")
    self._text = ""
    self._ended, self._writing = threading.Event(), threading.Lock()

  @property
  def name(self) -> str:
    """Of its folder within `running`."""
    return self._process.name

  @property
  def folder(self) -> epath.Path:
    """Where the lock and what is not finished lie."""
    return self._root / FOLDER / self.name

  def take(self, breaking: bool) -> None:
    """Asks for the cells, and takes them.

    If several runs ask at the same time, the first by name gets them: it waits
    until the others have given up. They, and all that ask later, are refused.

    Args:
      breaking: remove the locks of others that are in the way.

    Raises:
      UserError: another run makes one of the cells; says who.
      DiskError: the workdir cannot be written to.
    """
    self._write(holding=False)
    try:
      while asking := self._in_the_way(breaking):
        if any(o.record.holding or o.process.name < self.name for o in asking):
          raise errors.UserError(self._refusal(asking[0]))
        time.sleep(_POLL_S)
      self._write(holding=True)
    except BaseException:
      self.release()
      raise
    threading.Thread(target=self._beat, daemon=True).start()

  def release(self) -> None:
    """Removes the lock and what lies in its folder."""
    self._ended.set()
    with self._writing, contextlib.suppress(disk.DiskError):
      disk.remove(self.folder)
    disk.remove_empty(self.folder.parent)  # else others are there

  def _write(self, *, holding: bool) -> None:
    record = _Record(
      host=socket.gethostname(),
      pid=self._process.pid,
      since=self._since,
      holding=holding,
      cells=self._cells,
    )
    disk.make_folder(self.folder)
    self._text = record.model_dump_json(indent=1)
    disk.write_text(self.folder / _FILE, self._text, sync=False)

  def _give_sign(self) -> None:
    """Renews the time of change of this run's lock.

    Raises:
      OSError: it is gone, or cannot be written.
    """
    path = self.folder / _FILE
    if paths.is_local(path):
      os.utime(path)
    else:
      with self._writing:
        if not self._ended.is_set():
          disk.write_text(path, self._text)

  def _in_the_way(self, breaking: bool) -> list[_Other]:
    """Others that hold or ask for one of the cells, those that hold first."""
    mine = set(self._cells)
    others = [o for o in self._others() if not mine.isdisjoint(o.record.cells)]
    if breaking:
      for other in others:
        # Its other locks too: one that is gone gives none of them back.
        prefix = other.process.name.removesuffix(other.process.nonce)
        for folder in disk.below(self.folder.parent, 1):
          if folder.name.startswith(prefix) and folder != self.folder:
            _take_away(folder)
      return []
    return sorted(others, key=lambda o: not o.record.holding)

  def _others(self) -> list[_Other]:
    """Everybody else who is alive; the remains of the dead are removed."""
    check(self._root, self.name)
    self._give_sign()
    out = []
    for folder in disk.below(self.folder.parent, 1):
      process = Process.parse(folder.name)
      if process is None or process == self._process:
        continue
      if self._dead(process, folder):
        _take_away(folder, process)
      elif _holds(folder):  # else it has not asked yet, or was removed
        record = self._record(process, folder / _FILE)
        if record is not None:
          out.append(_Other(process, record))
    return out

  def _record(self, process: Process, path: epath.Path) -> _Record | None:
    """What another says of itself; of one that nobody can read the worst.

    None where it ended meanwhile.
    """
    try:
      return reading.records(reading.json_file(path), _Record, str(path))
    except errors.UserError:
      if not disk.exists(path):
        return None
      return _Record(
        host="a machine that its damaged lock does not tell",
        pid=process.pid,
        since="an unknown time",
        holding=True,
        cells=self._cells,
      )

  def _dead(self, process: Process, folder: epath.Path) -> bool:
    """Whether a process is known to be dead, or gave no sign for long."""
    if process.here:
      return not process.alive()
    signs = [_changed_s(folder / name) for name in (_FILE, _REMOVED)]
    last = max((s for s in signs if s is not None), default=None)
    if last is None and paths.is_local(folder):  # it has not asked yet
      last = _changed_s(folder)
    mine = _changed_s(self.folder / _FILE)
    if last is None or mine is None:  # it ended meanwhile
      return False
    return mine - last > STALE_S

  def _refusal(self, other: _Other) -> str:
    both = sorted(set(self._cells) & set(other.record.cells))
    return (
      f"{self._root}: another run is making {len(both)} of these cells, e.g."
      f" {both[0]}: {other}. Wait until it ended, or stop it. If it is gone"
      f" for good: a dead process of this machine is seen at once, one of"
      f" another {STALE_S:.0f} s after its last sign of life; --break_lock does"
      " not wait."
    )

  def _beat(self) -> None:
    while not self._ended.wait(BEAT_S):
      with contextlib.suppress(OSError):  # `check` says it in time
        self._give_sign()


def _holds(folder: epath.Path) -> bool:
  """Whether a lock is there and nobody removed it."""
  there = disk.exists(folder / _FILE)
  return there and not disk.exists(folder / _REMOVED)


def _take_away(folder: epath.Path, dead: Process | None = None) -> None:
  """Removes another's lock.

  Args:
    dead: its process, where that is dead or gave no sign for long.
  """
  mark = folder / _REMOVED
  with contextlib.suppress(disk.DiskError):
    if paths.is_local(folder) or dead and (dead.here or disk.exists(mark)):
      disk.remove(folder)
    elif not disk.exists(mark):
      disk.write_text(mark, "")


def _changed_s(path: epath.Path) -> float | None:
  """When something was last changed, by its own system's clock."""
  try:
    if paths.is_local(path):
      return os.stat(path).st_mtime
    with paths.os_errors(path):
      return path.stat().mtime
  except FileNotFoundError:
    return None


@contextlib.contextmanager
def held(
  root: epath.Path, cells: Sequence[str], *, breaking: bool = False
) -> Iterator[Lock]:
  """Holds some cells of a workdir.

  Args:
    root: the workdir; made if it is not there.
    breaking: take them from others.

  Raises:
    UserError: another run makes one of them; says who.
    DiskError: the workdir cannot be written to.
  """
  lock = Lock(root, cells)
  lock.take(breaking)
  try:
    for folder in (epath.Path(root), epath.Path(root) / examples.FOLDER):
      disk.remove_temporary(folder)
    yield lock
    check(root, lock.name)
  finally:
    lock.release()


def check(root: epath.Path, name: str) -> None:
  """Refuses to go on where somebody broke this run's lock.

  Raises:
    UserError: it is gone, so that nothing may be finished any more.
  """
  folder = epath.Path(root) / FOLDER / name
  if not _holds(folder):
    raise errors.UserError(
      f"{folder}: this run's lock was removed (by --break_lock, or after no sign"
      f" of life for {STALE_S:.0f} s), so that another run may be making its"
      " cells. Finished cells stay; run the same command again when the other"
      " ended."
    )


@contextlib.contextmanager
def waiting(
  root: epath.Path, thing: str, say: Callable[[str], None]
) -> Iterator[None]:
  """Holds something that runs over other cells need too, after the others.

  Args:
    thing: what is held.
    say: is told once whom it waits for.
  """
  waits = False
  while True:
    lock = Lock(root, [thing])
    try:
      lock.take(breaking=False)
      break
    except disk.DiskError:
      raise
    except errors.UserError as e:
      if not waits:
        say(f"Waiting for {thing}. {e}")
      waits = True
      time.sleep(_WAIT_S)
  try:
    yield
  finally:
    lock.release()
