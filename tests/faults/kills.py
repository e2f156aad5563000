"""Commands that are killed or fail to write, and are run again.

A row of the tests is a `Program`: what it reads, its command, and what of its
result must come out the same whatever happened before. Each command runs in a
process of its own, forked from one that has imported everything and computed
nothing yet, so that a run of seconds does not pay for imports.
"""

import dataclasses
import functools
import hashlib
import multiprocessing
import os
import pathlib
import runpy
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from tests.faults import filesystem

# What the commands import: once, in the process that all are forked from.
_WARM = (
  "jax.experimental.multihost_utils",
  "matplotlib.figure",
  "orbax.checkpoint",
  "tensorflow",
  "tensorflow_datasets",
  "robust_tfds.build",
  "robust_tfds.corrupt_folder",
  "robust_tfds.datasets",
  "eval.compare.pairs.compare",
  "eval.report.reports",
  "eval.run.results.rescore",
  "eval.run.runner",
  "models.convert",
  "tests.faults.kills",
)


@dataclasses.dataclass(frozen=True)
class Program:
  """One command.

  Attributes:
    name: of the row.
    module: what `python -m` runs.
    arguments: the flags, for a folder of this run's own; it writes to `out` in
      it.
    prepare: makes what it reads in a folder that all runs share.
    same: patterns of files below `out` that every way must write alike.
    never: patterns below `out` of what may not be left when it ended well.
  """

  name: str
  module: str
  arguments: Callable[[pathlib.Path, pathlib.Path], Sequence[str]]
  prepare: Callable[[pathlib.Path], None]
  same: Sequence[str]
  never: Sequence[str] = (
    "**/*.tmp",
    "**/*unfinished*",
    "**/parts",
    "**/running.*",
  )


@dataclasses.dataclass(frozen=True)
class Ended:
  """How a command ended.

  Attributes:
    code: its exit code; minus the signal that ended it.
    said: what it wrote to stdout and stderr.
    operations: that wrote below its folder.
  """

  code: int
  said: str
  operations: Sequence[str]

  @property
  def refusal(self) -> str:
    """What follows the progress bars."""
    return self.said.rpartition("Error: ")[2].strip()


@functools.cache
def _context() -> Any:
  context = multiprocessing.get_context("forkserver")
  context.set_forkserver_preload(list(_WARM))
  return context


def run(
  program: Program,
  shared: pathlib.Path,
  folder: pathlib.Path,
  fault: filesystem.Fault = filesystem.NOTHING,
  *,
  seconds: float | None = None,
  number: int = signal.SIGKILL,
) -> Ended:
  """Runs a command.

  Args:
    program: what.
    shared: what it reads, made by `program.prepare`.
    folder: of this run; it may hold what an earlier run left.
    fault: what goes wrong when it writes below `folder`.
    seconds: when it is killed; None: not by the clock.
    number: the signal that it gets then.
  """
  folder.mkdir(parents=True, exist_ok=True)
  log, trace = folder.with_name("log"), folder.with_name("operations")
  arguments = list(program.arguments(shared, folder / "out"))
  process = _context().Process(
    target=_become,
    args=(program.module, arguments, folder, fault, log, trace),
  )
  process.start()
  process.join(seconds)
  if process.is_alive():
    os.kill(process.pid, number)
    process.join()
  operations = trace.read_text("utf-8").splitlines() if trace.exists() else []
  trace.unlink(missing_ok=True)
  return Ended(process.exitcode, log.read_text("utf-8", "replace"), operations)


def timed(
  program: Program, shared: pathlib.Path, folder: pathlib.Path
) -> float:
  """Seconds that a whole run takes, which has to end well."""
  start = time.monotonic()
  ended = run(program, shared, folder)
  assert ended.code == 0, ended.said
  return time.monotonic() - start


def result(program: Program, folder: pathlib.Path) -> dict[str, str]:
  """Name -> sha256 of what must come out the same; nothing else may be left."""
  out = folder / "out"
  files = {
    p.relative_to(out).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
    for pattern in program.same
    for p in out.glob(pattern)
    if p.is_file()
  }
  remains = [
    p.relative_to(out).as_posix() for n in program.never for p in out.glob(n)
  ]
  assert files, f"{program.name} wrote nothing below {out}"
  assert not remains, f"{program.name} left {remains}"
  return files


def _become(
  module: str,
  arguments: Sequence[str],
  folder: pathlib.Path,
  fault: filesystem.Fault,
  log: pathlib.Path,
  trace: pathlib.Path,
) -> None:
  """Turns this process into the command; never returns."""
  code = 1
  descriptor = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
  os.dup2(descriptor, 1)
  os.dup2(descriptor, 2)
  sys.stdout = os.fdopen(1, "w", buffering=1)
  sys.stderr = os.fdopen(2, "w", buffering=1)
  sys.argv = [module, *arguments]
  warnings.simplefilter("ignore", RuntimeWarning)  # runpy: it was imported
  operations: list[str] = []
  try:
    with filesystem.faulty(folder, fault) as operations:
      runpy.run_module(module, run_name="__main__", alter_sys=True)
    code = 0
  except SystemExit as e:
    if isinstance(e.code, str):
      print(e.code, file=sys.stderr)
    else:
      code = int(e.code or 0)
  except BaseException:
    traceback.print_exc()
  finally:
    trace.write_text("\n".join(operations), "utf-8")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
