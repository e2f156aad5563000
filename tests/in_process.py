"""A command run in this process: what it says, without another program's start.

Its flags are defined for it and gone after it. That a command is a program too is
for a test of its own, which starts one by `program`.
"""

import contextlib
import io
import logging as python_logging
import pathlib
import subprocess
import sys
import types
from typing import Any
from unittest import mock

from absl import app, flags, logging
from absl.testing import absltest

from robust_tfds import command, stopping, tensorflow_lines

_ROOT = pathlib.Path(__file__).resolve().parents[1]


def run(
  module: types.ModuleType, *arguments: str
) -> subprocess.CompletedProcess:
  """Runs `main` of a command's module, as `command.run` does.

  Args:
    module: with `main` and `define_flags`.
    *arguments: of the command, without the program's name.

  Returns:
    What a program would: its exit status and both streams.
  """
  argv, code = [module.__name__, *arguments], 0
  before, out, err = set(flags.FLAGS), io.StringIO(), io.StringIO()
  callbacks = python_logging.getLogger("jax._src.callback")
  level = callbacks.level
  after: set[str] = set()  # what is defined later is a library's, and stays

  def app_run(main, flags_parser) -> None:
    """`app.run` without what it changes in a whole process."""
    try:
      words = flags_parser(list(sys.argv))
    finally:
      after.update(flags.FLAGS)
    main(words)

  try:
    with (
      mock.patch.object(sys, "argv", argv),
      mock.patch.object(app, "run", app_run),
      mock.patch.object(logging, "set_verbosity"),
      mock.patch.object(stopping, "listen"),
      mock.patch.object(tensorflow_lines, "leave_out"),
      contextlib.redirect_stdout(out),
      contextlib.redirect_stderr(err),
    ):
      command.run(module.main, module.define_flags)
  except SystemExit as e:
    code = e.code or 0
    if isinstance(code, str):  # as the interpreter does
      err.write(f"{code}\n")
      code = 1
  finally:
    for name in after - before:
      delattr(flags.FLAGS, name)
    callbacks.setLevel(level)
  return subprocess.CompletedProcess(argv, code, out.getvalue(), err.getvalue())


def python(*arguments: object, **options: Any) -> subprocess.CompletedProcess:
  """Runs Python as a program of its own, from the project's folder.

  Args:
    *arguments: of the interpreter.
    **options: of `subprocess.run`.
  """
  return subprocess.run(
    [sys.executable, *map(str, arguments)],
    **{"cwd": _ROOT, "check": False, **options},
    capture_output=True,
    text=True,
  )


def program(
  name: str, *arguments: object, **options: Any
) -> subprocess.CompletedProcess:
  """Runs a module so."""
  return python("-m", name, *arguments, **options)


def check_refused(
  test: absltest.TestCase, done: subprocess.CompletedProcess, words: str
) -> None:
  """Holds that a command failed, with these words and no traceback."""
  test.assertNotEqual(done.returncode, 0)
  test.assertIn(words, done.stderr)
  test.assertNotIn("Traceback", done.stderr)
