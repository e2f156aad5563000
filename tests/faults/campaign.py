"""Runs cases, each in a forked child with limits of memory and time.

The parent imports everything once and computes nothing: JAX starts its threads at
its first computation, and a process with threads must not be forked.
"""

import collections
import dataclasses
import gc
import importlib
import json
import os
import pathlib
import pkgutil
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence

from tests import faults
from tests.faults.case import Case, Class, Outcome, judge

_SUFFIX = "_cases"
# What cases and the doors behind them import: once here, not in every child.
_WARM = (
  "jax",
  "PIL.Image",
  "matplotlib.figure",
  "pycocotools.mask",
  "tensorflow",
  "tensorflow_datasets",
  "robust_tfds.corruptions",
  "robust_tfds.datasets",
  "eval.readers",
  "eval.report.reports",
  "eval.run.results.rescore",
  "eval.run.runner",
  "models",
)


@dataclasses.dataclass
class _Child:
  case: Case
  door: str
  pid: int
  folder: pathlib.Path
  until: float


def doors() -> list[str]:
  """Names of all doors: the files `<door>_cases.py` of this folder."""
  names = (m.name for m in pkgutil.iter_modules(faults.__path__))
  return [n.removesuffix(_SUFFIX) for n in names if n.endswith(_SUFFIX)]


def cases(door: str) -> list[Case]:
  """The cases of a door."""
  module = importlib.import_module(f"{faults.__name__}.{door}{_SUFFIX}")
  listed = list(module.cases())
  counts = collections.Counter(c.kind for c in listed)
  twice = [kind for kind, n in counts.items() if n > 1]
  assert not twice, f"{door}: {twice} more than once"
  return listed


def warm() -> None:
  """Imports what children would import one by one."""
  for name in _WARM:
    importlib.import_module(name)
  gc.collect()
  gc.freeze()


def run(
  of_doors: Sequence[tuple[str, Case]], jobs: int = 2
) -> Iterator[Outcome]:
  """The outcomes, in the order in which they end.

  Args:
    of_doors: (door, case) pairs.
    jobs: children at a time.
  """
  waiting = list(reversed(of_doors))
  root = pathlib.Path(tempfile.mkdtemp(prefix="faults_"))
  live: list[_Child] = []
  try:
    while waiting or live:
      while waiting and len(live) < jobs:
        live.append(_start(*waiting.pop(), root))
      time.sleep(0.005)
      for child in list(live):
        outcome = _outcome(child)
        if outcome is not None:
          live.remove(child)
          shutil.rmtree(child.folder, ignore_errors=True)
          yield outcome
  finally:
    for child in live:
      os.killpg(child.pid, signal.SIGKILL)
    shutil.rmtree(root, ignore_errors=True)


def _start(door: str, case: Case, root: pathlib.Path) -> _Child:
  folder = pathlib.Path(tempfile.mkdtemp(dir=root))
  sys.stdout.flush()
  pid = os.fork()
  if pid == 0:
    _live(case, folder)
  return _Child(case, door, pid, folder, time.monotonic() + case.seconds)


def _live(case: Case, folder: pathlib.Path) -> None:
  """A child's whole life; never returns."""
  try:
    os.setpgid(0, 0)
    log = os.open(folder / "log", os.O_CREAT | os.O_WRONLY)
    os.dup2(log, 1)
    os.dup2(log, 2)
    _limit(case.gib)
    place = folder / "in"
    place.mkdir()
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = str(folder)
    result, text = judge(case, place)
    (folder / "outcome").write_text(json.dumps([result.name, text]))
  finally:
    os._exit(0)


def _limit(gib: float) -> None:
  pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
  size = pages * resource.getpagesize() + int(gib * 2**30)
  resource.setrlimit(resource.RLIMIT_AS, (size, size))
  resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _outcome(child: _Child) -> Outcome | None:
  """None while the child lives and has time left."""
  ended, status = os.waitpid(child.pid, os.WNOHANG)
  name = child.door, child.case.kind
  if not ended:
    if time.monotonic() < child.until:
      return None
    os.killpg(child.pid, signal.SIGKILL)
    os.waitpid(child.pid, 0)
    return Outcome(*name, Class.CRASH, f"hung for {child.case.seconds} s")
  try:
    result, text = json.loads((child.folder / "outcome").read_text())
  except (OSError, ValueError):
    log = (child.folder / "log").read_text("utf-8", "replace")[-500:]
    return Outcome(*name, Class.CRASH, f"status {status}: {log}")
  return Outcome(*name, Class[result], text)
