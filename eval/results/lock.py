"""Who is writing in a workdir: every run says so before it writes.

  running/<process>/run.json   who it is and which cells it makes
  running/<process>/cells/     what it has not finished

Runs over other cells of one workdir go on side by side; one that wants a cell of
another is refused, with that one's host and process. A run that was killed leaves
its folder behind. Whoever comes next removes it as soon as it is sure:

* of this machine (the same boot and the same process names, so not another
  container): at once, where no process of that number began at that time;
* of any other: when it gave no sign of life for `STALE_S` seconds. A sign is the
  time of change of `run.json`, which a running process renews every `BEAT_S`;
  ages are differences of two such times, so that only the file system's clock
  counts.

`--break_lock` removes the others at once. A run whose folder was removed sees it
before it finishes its next cell, and stops.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import os
import pathlib
import shutil
import socket
import threading
import time
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence

import pydantic

from robust_tfds import errors
from robust_tfds import reading
from robust_tfds.eval.results import disk
from robust_tfds.eval.results import examples
from robust_tfds.eval.results.process import Process

FOLDER = "running"
BEAT_S = 15.0
STALE_S = 300.0
_POLL_S = 0.05  # between two looks at one who asks at the same time
_WAIT_S = 2.0  # between two looks at one who is waited for
_FILE = "run.json"


class _Record(pydantic.BaseModel):
  """What `run.json` says."""

  model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True)

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

  def __init__(self, root: pathlib.Path, cells: Sequence[str]):
    """Asks for nothing yet; see `held`.

    Args:
      root: the workdir.
      cells: names of what no other may make at the same time.
    """
    self._root, self._cells = root, list(cells)
    self._process = Process.this()
    self._since = datetime.datetime.now().astimezone().isoformat(" ", "seconds")
    self._ended = threading.Event()

  @property
  def name(self) -> str:
    """Of its folder within `running`."""
    return self._process.name

  @property
  def folder(self) -> pathlib.Path:
    """Where the lock and what is not finished lie."""
    return self._root / FOLDER / self.name

  def take(self, breaking: bool) -> None:
    """Asks and takes.

    Of several that ask at once the one whose name comes first waits until the
    others saw it and withdrew, or hold already.

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
    """Removes the lock and all that is not finished."""
    self._ended.set()
    shutil.rmtree(self.folder, ignore_errors=True)
    with contextlib.suppress(OSError):  # others are there
      self.folder.parent.rmdir()

  def alone(self) -> bool:
    """Whether no other run is in the workdir."""
    return not self._others()

  def _write(self, *, holding: bool) -> None:
    record = _Record(
      host=socket.gethostname(),
      pid=self._process.pid,
      since=self._since,
      holding=holding,
      cells=self._cells,
    )
    with disk.writing(self.folder):
      for attempt in range(3):  # another may remove the empty folder above
        try:
          self.folder.mkdir(parents=True, exist_ok=True)
          break
        except FileNotFoundError:
          if attempt == 2:
            raise
    text = record.model_dump_json(indent=1)
    disk.write_text(self.folder / _FILE, text, sync=False)

  def _in_the_way(self, breaking: bool) -> list[_Other]:
    """Others that hold or ask for one of the cells, those that hold first."""
    mine = set(self._cells)
    others = [o for o in self._others() if not mine.isdisjoint(o.record.cells)]
    if breaking:
      for other in others:
        # Its other locks too: one that is gone gives none of them back.
        prefix = other.process.name.removesuffix(other.process.nonce)
        for folder in self.folder.parent.glob(f"{prefix}*"):
          if folder != self.folder:
            shutil.rmtree(folder, ignore_errors=True)
      return []
    return sorted(others, key=lambda o: not o.record.holding)

  def _others(self) -> list[_Other]:
    """Everybody else who is alive; the remains of the dead are removed."""
    os.utime(self.folder / _FILE)
    out = []
    for folder in sorted(self.folder.parent.iterdir()):
      process = Process.parse(folder.name)
      if process is None or process == self._process:
        continue
      if self._dead(process, folder):
        shutil.rmtree(folder, ignore_errors=True)
      elif (folder / _FILE).exists():  # else it has not asked yet
        out.append(_Other(process, self._record(process, folder / _FILE)))
    return out

  def _record(self, process: Process, path: pathlib.Path) -> _Record:
    """What another says of itself; of one that nobody can read the worst."""
    try:
      return reading.records(reading.json_file(path), _Record, str(path))
    except errors.UserError:
      return _Record(
        host="a machine that its damaged lock does not tell",
        pid=process.pid,
        since="an unknown time",
        holding=True,
        cells=self._cells,
      )

  def _dead(self, process: Process, folder: pathlib.Path) -> bool:
    if process.here:
      return not process.alive()
    try:
      path = folder / _FILE
      beat = (path if path.exists() else folder).stat().st_mtime
    except FileNotFoundError:  # it ended meanwhile
      return False
    return (self.folder / _FILE).stat().st_mtime - beat > STALE_S

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
        os.utime(self.folder / _FILE)


@contextlib.contextmanager
def held(
  root: pathlib.Path, cells: Sequence[str], *, breaking: bool = False
) -> Iterator[Lock]:
  """Holds some cells of a workdir; what is not finished at the end is removed.

  Args:
    root: the workdir; made if it is not there.
    cells: their names.
    breaking: take them from others.

  Raises:
    UserError: another run makes one of them; says who.
    DiskError: the workdir cannot be written to.
  """
  lock = Lock(root, cells)
  lock.take(breaking)
  try:
    for folder in (root, root / examples.FOLDER):
      disk.remove_temporary(folder)
    yield lock
    check(root, lock.name)
  finally:
    lock.release()


def check(root: pathlib.Path, name: str) -> None:
  """Refuses to go on where somebody broke this run's lock.

  Args:
    root: the workdir.
    name: of the lock.

  Raises:
    UserError: it is gone, so that nothing may be finished any more.
  """
  folder = root / FOLDER / name
  if not (folder / _FILE).exists():
    raise errors.UserError(
      f"{folder}: this run's lock was removed (by --break_lock, or after no sign"
      f" of life for {STALE_S:.0f} s), so that another run may be making its"
      " cells. Finished cells stay; run the same command again when the other"
      " ended."
    )


@contextlib.contextmanager
def waiting(
  root: pathlib.Path, thing: str, say: Callable[[str], None]
) -> Iterator[None]:
  """Holds something that runs over other cells need too, after the others.

  Args:
    root: the workdir.
    thing: what is held.
    say: is told once whom it waits for.
  """
  told = False
  while True:
    lock = Lock(root, [thing])
    try:
      lock.take(breaking=False)
      break
    except disk.DiskError:
      raise
    except errors.UserError as e:
      if not told:
        say(f"Waiting for {thing}. {e}")
      told = True
      time.sleep(_WAIT_S)
  try:
    yield
  finally:
    lock.release()
