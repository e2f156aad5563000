"""Commands as a user runs them, in a fork of the warm process."""

import os
import pathlib
import re
import runpy
import sys
import tempfile
import traceback
import warnings

from tests.faults import case


def run(module: str, *args: str | os.PathLike) -> str:
  """Runs `python -m module args`; what it prints to stdout.

  Raises:
    Refused: it ended with a text (or a code), without a traceback.
    Uncaught: it ended with a traceback.
    Crashed: a signal ended it.
  """
  with tempfile.TemporaryDirectory() as place:
    out, err = pathlib.Path(place, "out"), pathlib.Path(place, "err")
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
      _become(module, [os.fspath(a) for a in args], out, err)
    _, status = os.waitpid(pid, 0)
    said, failed = _text(out), _text(err)
  code = os.waitstatus_to_exitcode(status)
  if code < 0:
    raise case.Crashed(f"signal {-code}: {failed[-500:]}")
  if "Traceback (most recent call last)" in failed:
    raise case.Uncaught(_last(failed))
  if code:
    raise case.Refused(_refusal(failed) or said)
  return said


def _refusal(failed: str) -> str:
  """What follows the progress bars."""
  return re.split(r"(?:^|\s)Error: ", failed)[-1].strip()


def _text(path: pathlib.Path) -> str:
  return path.read_text("utf-8", "replace") if path.exists() else ""


def _last(failed: str) -> str:
  """The exception and the last of our lines that it went through."""
  lines = failed.strip().splitlines()
  ours = [x.strip() for x in lines if "/robust_tfds/" in x or "/eval/" in x]
  return f"{lines[-1][:400]} ({ours[-1] if ours else 'no line of ours'})"


def _become(
  module: str, args: list[str], out: pathlib.Path, err: pathlib.Path
) -> None:
  """Turns this process into the command; never returns."""
  code = 1
  try:
    for path, number in ((out, 1), (err, 2)):
      os.dup2(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), number)
    sys.argv = [module, *args]
    warnings.simplefilter("ignore", RuntimeWarning)  # runpy: it was imported
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
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
