"""The frame of every command: refusals in words, bugs with their traceback."""

import sys
import types
from unittest import mock

from absl import app
from absl.testing import absltest, parameterized

from robust_tfds import command, errors
from tests import in_process

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
  @parameterized.parameters(
    ('raise errors.UserError("Bad name. Use another.")', "Bad name. Use anot"),
    ('raise errors.missing_package("a", "b", "This")', "This needs a, which"),
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
