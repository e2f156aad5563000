"""`python -m eval.leaderboard` as a program, many times at little cost.

Each run is a process of its own, forked from one that has imported everything.
"""

import contextlib
import io
import multiprocessing
import sys
from multiprocessing import connection

_PRELOADED = (
  "eval.leaderboard",
  "eval.submissions.checker",
  "eval.submissions.writer",
  "eval.tasks.classification",
  "robust_tfds.datasets.digits_c.digits_c_dataset_builder",
)


def run(*arguments: str) -> tuple[int, str]:
  """Exit status, and what was printed on both streams."""
  context = multiprocessing.get_context("forkserver")
  context.set_forkserver_preload([*_PRELOADED, __name__])
  ours, theirs = context.Pipe(duplex=False)
  process = context.Process(target=_run, args=(theirs, arguments))
  process.start()
  theirs.close()
  try:
    return ours.recv()
  finally:
    process.join()


def check(folder: object) -> tuple[int, str]:
  """`--check` of a folder."""
  return run(f"--check={folder}")


def _run(answer: connection.Connection, arguments: tuple[str, ...]) -> None:
  from eval import leaderboard
  from robust_tfds import command

  sys.argv = ["eval.leaderboard", *arguments]
  printed = io.StringIO()
  status = 0
  with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
    try:
      command.run(leaderboard.main, leaderboard.define_flags)
    except SystemExit as e:  # Python prints a text and exits with 1
      status = e.code if isinstance(e.code, int) else 1
      printed.write("" if isinstance(e.code, int | None) else str(e.code))
      status = 0 if e.code is None else status
  answer.send((status, printed.getvalue()))
