"""The frame of every command: refusals in words, bugs with their traceback."""

import subprocess
import sys

from absl import app
from absl.testing import absltest, parameterized

from robust_tfds import command

_PROGRAM = """
import os
from absl import flags
from robust_tfds import command
from robust_tfds import errors

def define_flags():
  flags.DEFINE_string("out", None, "Folder.", required=True)
  flags.DEFINE_bool("quick", False, "Less.")

def main(argv):
  assert flags.FLAGS.out == "x" and os.environ["TF_CPP_MIN_LOG_LEVEL"]
  {body}

command.run(main, define_flags{more})
"""


def _run(body, *arguments, more=""):
  program = _PROGRAM.format(body=body, more=more)
  return subprocess.run(
    [sys.executable, "-c", program, *(arguments or ["--out=x"])],
    capture_output=True,
    text=True,
    check=False,
  )


def _raises(module: str, name: str) -> str:
  """A program that raises an error of a library."""
  made = f"type({name!r}, (Exception,), dict(__module__={module!r}))"
  return f'raise {made}("no right")'


class RunTest(parameterized.TestCase):
  @parameterized.parameters(
    ('raise errors.UserError("Bad name. Use another.")', "Bad name. Use anot"),
    ('raise errors.missing_package("a", "b", "This")', "This needs a, which"),
    ('open("/nowhere/x")', r"\[Errno 2\] .*/nowhere/x"),
    (_raises("gcsfs.retry", "HttpError"), "a bucket refuses: no right"),
    (_raises("tensorflow.x", "PermissionDeniedError"), "a bucket refuses: no"),
  )
  def test_refusals_have_no_traceback(self, body, message):
    done = _run(body)
    self.assertEqual(done.returncode, 1)
    self.assertRegex(done.stderr, f"^Error: {message}")
    self.assertNotIn("Traceback", done.stderr)

  @parameterized.parameters(
    ('raise ValueError("a bug")', "ValueError: a bug"),
    ('{}["key"]', "KeyError: 'key'"),
    (_raises("tensorflow.x", "InvalidArgumentError"), "InvalidArgumentError"),
  )
  def test_bugs_show_theirs(self, body, message):
    done = _run(body)
    self.assertEqual(done.returncode, 1)
    self.assertIn("Traceback", done.stderr)
    self.assertIn(message, done.stderr)

  def test_all_went_well(self):
    done = _run('print("done", argv[1:])', "--out=x", "word")
    self.assertEqual((done.returncode, done.stderr), (0, ""))
    self.assertEqual(done.stdout, "done ['word']\n")

  def test_a_stop_by_hand(self):
    done = _run("raise KeyboardInterrupt")
    self.assertEqual(done.returncode, 1)
    self.assertStartsWith(done.stderr, "Stopped. Run the same command again")

  def test_a_flag_that_is_missing(self):
    done = _run("pass", "--nothing=1")
    self.assertNotEqual(done.returncode, 0)
    self.assertIn("Unknown command line flag 'nothing'", done.stderr)

  def test_a_flag_with_a_value_that_it_does_not_take(self):
    done = _run("pass", "--noquick=1")
    self.assertEqual(done.returncode, 1)
    self.assertRegex(done.stderr, "^Error: --noquick=1 does not take an arg")

  def test_another_way_to_fail(self):
    done = _run(
      'raise errors.UserError("Bad.")',
      more=", fail=lambda text: os._exit(7)",
    )
    self.assertEqual(done.returncode, 7)


class ArgumentsTest(absltest.TestCase):
  def test_words_that_are_no_flags(self):
    command.no_arguments(["program"])
    with self.assertRaisesRegex(app.UsageError, "arguments: a b"):
      command.no_arguments(["program", "a", "b"])


if __name__ == "__main__":
  absltest.main()
