"""Commands: flags, refusals, what they print, how they are stopped."""

import ast
import functools
import io
import json
import pathlib
import re
import signal
import subprocess
import sys
import time
import types
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest
from absl import app
from absl.testing import absltest, parameterized

from robust_tfds import __main__ as script
from robust_tfds import (
  command,
  config_flag,
  durations,
  errors,
  step_lines,
  strings,
)
from tests import in_process, quick

_PROGRAM = """
import os
from absl import flags
from robust_tfds import command
from robust_tfds import errors, missing

def define_flags():
  flags.DEFINE_string("out", None, "Folder.", required=True)
  flags.DEFINE_bool("quick", False, "Less.")

def main(argv):
  assert flags.FLAGS.out == "x" and os.environ["TF_CPP_MIN_LOG_LEVEL"]
  {body}
"""


def _run(body, *arguments):
  """The command as a program of its own."""
  program = f"{_PROGRAM.format(body=body)}\ncommand.run(main, define_flags)"
  return in_process.python("-c", program, *(arguments or ["--out=x"]))


def _run_here(body, *arguments):
  """The command in this process."""
  module = types.ModuleType("program")
  exec(_PROGRAM.format(body=body), vars(module))
  return in_process.run(module, *(arguments or ["--out=x"]))


def _raises(module: str, name: str) -> str:
  """A program that raises an error of a library."""
  made = f"type({name!r}, (Exception,), dict(__module__={module!r}))"
  return f'raise {made}("no right")'


def _refused(argv):
  raise errors.UserError("Bad.")


class RunTest(parameterized.TestCase):
  """The frame of every command: refusals in words, bugs with their traceback."""

  @parameterized.parameters(
    ('raise errors.UserError("Bad name. Use another.")', "Bad name. Use anot"),
    (
      'raise errors.missing_package_error("a", "b", "This")',
      "This needs a, which",
    ),
    ('open("/nowhere/x")', r"\[Errno 2\] .*/nowhere/x"),
    (
      'raise missing.MissingError(missing.Lack("a", "No a.", get="b"))',
      r"a: not here. No a.\n  1. b\n  2. .*python",
    ),
    (_raises("gcsfs.retry", "HttpError"), "a bucket refuses: no right"),
    (_raises("tensorflow.x", "PermissionDeniedError"), "a bucket refuses: no"),
  )
  def test_refusals_have_no_traceback(self, body, message):
    done = _run_here(body)
    self.assertEqual(done.returncode, 1)
    self.assertRegex(done.stderr, f"^Error: {message}")

  @parameterized.parameters(
    (
      ["/v/python", "-m", "eval.main", "--workdir=/a b"],
      "python -m eval.main '--workdir=/a b'",
    ),
    (["/v/python", "/v/robust-tfds", "run"], "robust-tfds run"),
    (["/v/python", "mine.py"], "python mine.py"),
  )
  def test_as_typed(self, argv, expected):
    with mock.patch.object(sys, "orig_argv", argv):
      self.assertEqual(command.typed(), expected)

  def test_a_refusal_of_a_program_has_no_traceback(self):
    done = _run('raise errors.UserError("Bad name.")')
    self.assertEqual((done.returncode, done.stderr), (1, "Error: Bad name.\n"))

  @parameterized.parameters(
    ('raise ValueError("a bug")', "ValueError: a bug"),
    ('{}["key"]', "KeyError: 'key'"),
    (_raises("tensorflow.x", "InvalidArgumentError"), "InvalidArgumentError"),
  )
  def test_bugs_are_raised(self, body, message):
    with self.assertRaises(Exception) as caught:
      _run_here(body)
    error = caught.exception
    self.assertIn(message, f"{type(error).__name__}: {error}")

  def test_bugs_of_a_program_show_their_traceback(self):
    done = _run('raise ValueError("a bug")')
    self.assertEqual(done.returncode, 1)
    self.assertRegex(done.stderr, "(?s)Traceback.*ValueError: a bug")

  def test_all_went_well(self):
    done = _run('print("done", argv[1:])', "--out=x", "word")
    self.assertEqual((done.returncode, done.stderr), (0, ""))
    self.assertEqual(done.stdout, "done ['word']\n")

  def test_a_stop_by_hand(self):
    done = _run_here("raise KeyboardInterrupt")
    self.assertEqual(done.returncode, 130)
    self.assertEqual(done.stderr, "stopped; the same command goes on\n")

  def test_a_flag_that_is_missing(self):
    done = _run_here("pass", "--nothing=1")
    self.assertNotEqual(done.returncode, 0)
    self.assertIn("Unknown command line flag 'nothing'", done.stderr)

  def test_a_flag_with_a_value_that_it_does_not_take(self):
    done = _run_here("pass", "--noquick=1")
    self.assertEqual(done.returncode, 1)
    self.assertRegex(done.stderr, "^Error: --noquick=1 does not take an arg")

  def test_another_way_to_fail(self):
    said = []
    with mock.patch.object(app, "run", lambda main, flags_parser: main(["x"])):
      command.run(_refused, lambda: None, fail=said.append)
    self.assertEqual(said, ["Error: Bad."])


class ArgumentsTest(absltest.TestCase):
  def test_words_that_are_no_flags(self):
    command.no_arguments(["program"])
    with self.assertRaisesRegex(app.UsageError, "arguments: a b"):
      command.no_arguments(["program", "a", "b"])


_ROOT = pathlib.Path(__file__).resolve().parents[1]
_FOLDERS = ("robust_tfds", "eval", "models", "configs")


def _is_command(path: pathlib.Path) -> bool:
  """Whether a file runs as a program."""
  runs = re.search("(?m)^if .*__main__", path.read_text("utf-8"))
  return path.name == "__main__.py" or bool(runs)


@functools.cache
def _commands() -> list[str]:
  paths = []
  for folder in _FOLDERS:
    paths += [
      p for p in sorted((_ROOT / folder).rglob("*.py")) if _is_command(p)
    ]
  return [".".join(p.relative_to(_ROOT).with_suffix("").parts) for p in paths]


class CommandsTest(parameterized.TestCase):
  def test_there_are_some(self):
    self.assertContainsSubset(
      {
        "eval.main",
        "eval.score",
        "eval.compare.__main__",
        "eval.run.rmse",
        "models.convert.__main__",
        "robust_tfds.build",
        "robust_tfds.corrupt_folder",
      },
      _commands(),
    )

  def test_all_in_one_process_without_a_flag(self):
    program = "\n".join(
      [
        "from absl import flags",
        "import absl.app, absl.logging",
        "before = set(flags.FLAGS)",
        *(f"import {name}" for name in _commands()),
        "ours = [n for n in set(flags.FLAGS) - before",
        "  if flags.FLAGS.find_module_defining_flag(n).startswith(",
        f"    {_FOLDERS!r})]",
        "print(sorted(ours))",
      ]
    )
    done = in_process.python("-c", program)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertEqual(done.stdout.strip(), "[]")

  @parameterized.parameters(*_commands())
  def test_flags_are_defined_in_functions(self, name):
    path = _ROOT.joinpath(*name.split(".")).with_suffix(".py")
    for statement in ast.parse(path.read_text("utf-8")).body:
      if not isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.Expr)):
        self.assertNotIn("DEFINE_", ast.unparse(statement), name)


# Commands in one process, and what was loaded for their help.
_COMMANDS = """
import contextlib, io, json, sys
from absl import flags
from robust_tfds import __main__ as script
before, done = set(flags.FLAGS), []
for words in json.loads(sys.argv[1]):
  out, err, code = io.StringIO(), io.StringIO(), 0
  sys.argv = ["robust-tfds", *words]
  with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
    try:
      script.main()
    except SystemExit as end:
      code = end.code or 0
  if isinstance(code, str):  # as the interpreter does
    code = err.write(f"{code}\\n") and 1
  for flag in set(flags.FLAGS) - before:
    delattr(flags.FLAGS, flag)
  loaded = sorted({"jax", "tensorflow", "matplotlib"} & set(sys.modules))
  done.append((code, out.getvalue(), err.getvalue(), loaded))
print(json.dumps(done))
"""
_HELP = [(name, "--help") for name in script.COMMANDS]
_LISTS = (
  ("run", False, "\nimagenet_c[:MODEL=resnet50] "),
  ("train", True, "\ntrain_standard[:digits|cifar|imagenet|segmentation] "),
)
_REFUSED = (
  (("rum",), "Unknown command 'rum'. Did you mean 'run'"),
  (("help",), "See robust-tfds --help."),
  (("score",), "--predictions and --out must be given. See --help."),
  (("compare",), "--out must be given. See --help."),
  (("board",), "robust-tfds board does one thing at a time: RUNs"),
  (("run", "--config=quikstart"), "Unknown config 'quikstart'. Did you mean"),
  (("run", "--config=my/quickstart.py"), "shipped config: --config=quicks"),
  (("run", "--config=quickstart:foo"), "expected one of signs_c, signs_p"),
  (("run", "--nothing"), "Unknown command line flag 'nothing'"),
  (("run",), "Say what is run: --config=quickstart"),
  (("run", "--config=train_pixmix"), "train --config=train_pixmix"),
  (("train", "--config=coco_c:x"), "robust-tfds run --config=coco_c:x"),
)


class _Said(NamedTuple):
  """A command's exit status and streams, and packages that are loaded then."""

  returncode: int
  stdout: str
  stderr: str
  loaded: list[str]


@functools.cache
def _said() -> dict[tuple[str, ...], _Said]:
  """Return what commands say, of one process for all: each start takes long."""
  every = [*_HELP, ("--help",), ("-h",), ("run", "--version")]
  every += [(name, "--list") for name, *_ in _LISTS]
  every += [words for words, _ in _REFUSED]
  done = in_process.python("-c", _COMMANDS, json.dumps(every))
  assert done.returncode == 0, done.stderr
  return {w: _Said(*s) for w, s in zip(every, json.loads(done.stdout))}


# Ctrl-C while a command's modules are imported.
_STOPPED = """
import os, signal, sys, time
class Stops:
  def find_spec(self, name, path=None, target=None):
    if name == "{module}":
      os.kill(os.getpid(), signal.SIGINT)
      time.sleep(5)
sys.argv = ["/bin/robust-tfds", *{words}]
from robust_tfds.__main__ import main
sys.meta_path.insert(0, Stops())
main()
"""


class ScriptTest(parameterized.TestCase):
  """`robust-tfds`: one program for all commands, and their help."""

  @quick.cases(
    [("robust_tfds.config_flag", "run", "--list")],
    [("robust_tfds.command", "train", "--list"), ("jax", "card", "resnet50")],
  )
  def test_stopped_in_its_imports(self, module, *words):
    done = in_process.python("-c", _STOPPED.format(module=module, words=words))
    self.assertEqual(
      (done.returncode, done.stderr),
      (128 + signal.SIGINT, "stopped; the same command goes on\n"),
    )

  def test_help_of_every_command(self):
    for words in _HELP:
      done, name = _said()[words], words[0]
      text = done.stdout
      self.assertEqual((done.returncode, done.stderr, done.loaded), (0, "", []))
      self.assertIn(f"\n  robust-tfds {name} ", text)  # an example
      self.assertIn("\nFlags:\n  --help\n  --version\n", text)
      _, *entries = re.split(r"\n  --(?=\S)", text)
      for entry in entries[2:]:
        self.assertRegex(entry, r"(?i)default|required", name)
        self.assertNotIn("repeat this option", entry)
    self.assertIn("--config=TEXT", _said()[_HELP[0]].stdout)

  def test_what_there_is(self):
    for word in ("--help", "-h"):
      done = _said()[word,]
      self.assertEqual((done.returncode, done.stderr), (0, ""))
      for name in script.COMMANDS:
        self.assertRegex(done.stdout, rf"\n  {name} +[A-Z].*\.\n")

  def test_version(self):
    done = in_process.program("robust_tfds", "--version")
    self.assertEqual(done.stdout, f"{command.VERSION}\n")
    self.assertEqual(_said()["run", "--version"].stdout, done.stdout)

  @parameterized.parameters(*_REFUSED)
  def test_refusals(self, words, message):
    done = _said()[words]
    in_process.check_refused(self, done, message)
    self.assertStartsWith(done.stderr, "Error: ")

  @parameterized.parameters(*_LISTS)
  def test_shipped_configs(self, command, trains, line):
    done = _said()[command, "--list"]
    self.assertEqual((done.returncode, done.stderr), (0, ""))
    lines = done.stdout.splitlines()
    names = [s.partition(" ")[0].partition("[")[0] for s in lines]
    self.assertEqual(names, [*config_flag.shipped(trains)])
    for each in lines:
      self.assertRegex(each, r"^\w+(\[:\S+\])? +\S.*\.$")
    self.assertIn(line, f"\n{done.stdout}")

  def test_who_reads_no_further_ends_it_in_silence(self):
    code = (
      "import subprocess, sys; p = subprocess.Popen([sys.executable, '-m',"
      " 'robust_tfds', 'run', '--list'], stdout=-1, stderr=-1); p.stdout.close();"
      " print(p.stderr.read(), p.wait())"
    )
    self.assertEqual(in_process.python("-c", code).stdout, "b'' 141\n")


class ProgressTest(absltest.TestCase):
  """Lines of progress: seldom, with the time left, one at the end."""

  def test_every_line(self):
    stream = io.StringIO()
    lines = step_lines.Progress(2, stream=stream, every_s=0)
    lines.step("run: a")
    lines.step("run: b")
    first, last = stream.getvalue().splitlines()
    self.assertRegex(first, r"^\[1/2\] \d+s elapsed  run: a$")
    self.assertRegex(last, r"^\[2/2\] \d+s elapsed, ETA 0s  run: b$")

  def test_the_first_one_compiles(self):
    """Ten seconds, then one each: eight are left of ten, eight seconds."""
    stream, clock = io.StringIO(), iter((0.0, 10.0, 11.0))
    with mock.patch.object(step_lines.time, "perf_counter", clock.__next__):
      lines = step_lines.Progress(10, stream=stream, every_s=0)
      lines.step("x")
      lines.step("x")
    last = stream.getvalue().splitlines()[-1]
    self.assertEqual(last, "[2/10] 11s elapsed, ETA 8s  x")

  def test_seldom(self):
    stream = io.StringIO()
    lines = step_lines.Progress(100, stream=stream, every_s=60)
    for _ in range(100):
      lines.step("x")
    self.assertLen(stream.getvalue().splitlines(), 1)


class TextTest(parameterized.TestCase):
  """Durations in words."""

  @parameterized.parameters(
    (-1, "0s"),
    (59.4, "59s"),
    (60, "1m00s"),
    (3599.6, "1h00m"),
    (86400, "1d0h"),
  )
  def test_text(self, seconds, text):
    self.assertEqual(durations.text(seconds), text)


class StringsTextTest(parameterized.TestCase):
  """Strings of TFDS's examples."""

  @parameterized.parameters(
    "naïve", b"na\xc3\xafve", np.bytes_(b"na\xc3\xafve")
  )
  def test_text(self, value):
    self.assertEqual(strings.text(value), "naïve")


# Says `ready`, then does something for a long time.
_STOPPING_PROGRAM = """
import hashlib, sys, time
from robust_tfds import stopping

def keep():
  {keep}

def wait():
  print("ready", flush=True)
  {wait}

stopping.listen()
try:
  {body}
except KeyboardInterrupt:
  print("cleared up", flush=True)
  stopping.end()
"""
_SLEEP = "time.sleep(60)"
# Outside of Python, as a compiler is.
_STUCK = "hashlib.pbkdf2_hmac('sha1', b'', b'', 10**9)"
_TOLD = "with stopping.telling(lambda: 'two are made'): wait()"
_KEPT = "with stopping.when_stopped(keep), stopping.when_stopped(lambda: None): wait()"


class StoppingTest(parameterized.TestCase):
  """A program that is stopped: what it keeps, says and ends with."""

  def _stopped(self, number: int, again: bool = False, **program: str):
    program = {"keep": "return 'a half is kept'", "wait": _SLEEP, **program}
    started = subprocess.Popen(
      [sys.executable, "-c", _STOPPING_PROGRAM.format(**program)],
      cwd=_ROOT,
      stdout=subprocess.PIPE,
      stderr=subprocess.PIPE,
      text=True,
    )
    self.addCleanup(started.kill)
    self.assertEqual(started.stdout.readline(), "ready\n")
    began = time.monotonic()
    started.send_signal(number)
    if again:
      time.sleep(0.5)
      started.send_signal(number)
    out, err = started.communicate(timeout=60)
    self.assertLess(time.monotonic() - began, 10)  # 3 on a machine of its own
    self.assertEqual(started.returncode, 128 + number)
    return out, err

  @quick.cases(
    [(signal.SIGTERM, _STUCK)],
    [(signal.SIGINT, _SLEEP), (signal.SIGTERM, _SLEEP)],
  )
  def test_what_is_kept_is_said(self, number, wait):
    self.assertEqual(
      self._stopped(number, body=_KEPT, wait=wait),
      ("", "stopped; a half is kept; the same command goes on\n"),
    )

  @quick.cases(
    [(signal.SIGINT, _TOLD, " two are made;")],
    [(signal.SIGTERM, _TOLD, " two are made;"), (signal.SIGINT, "wait()", "")],
  )
  def test_who_keeps_nothing_clears_up(self, number, body, words):
    self.assertEqual(
      self._stopped(number, body=body),
      ("cleared up\n", f"stopped;{words} the same command goes on\n"),
    )

  @parameterized.parameters(
    {"body": _KEPT, "keep": _SLEEP}, {"body": "wait()", "wait": _STUCK}
  )
  @pytest.mark.slow
  def test_nothing_takes_longer(self, **program):
    _, err = self._stopped(signal.SIGTERM, **program)
    self.assertEqual(err, "stopped; the same command goes on\n")

  @pytest.mark.slow
  def test_the_second_one_ends_at_once(self):
    _, err = self._stopped(signal.SIGINT, True, body=_KEPT, keep=_SLEEP)
    self.assertEqual(err, "")
