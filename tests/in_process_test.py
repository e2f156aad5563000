"""A command in this process gives what a program gives, and leaves nothing."""

import sys
import types

from absl import flags
from absl.testing import absltest

from robust_tfds import errors
from tests import in_process


def _main(argv):
  if len(argv) > 1:
    raise errors.UserError(
      f"{argv[1]} is not for {flags.FLAGS.in_process_word}."
    )
  print(flags.FLAGS.in_process_word)
  print("aside", file=sys.stderr)


_COMMAND = types.SimpleNamespace(
  __name__="own",
  main=_main,
  define_flags=lambda: flags.DEFINE_string("in_process_word", "a", "A word."),
)


class InProcessTest(absltest.TestCase):
  def test_what_it_says(self):
    for arguments, word in (((), "a"), (("--in_process_word=b",), "b")):
      done = in_process.run(_COMMAND, *arguments)
      self.assertEqual(
        (done.returncode, done.stdout, done.stderr), (0, f"{word}\n", "aside\n")
      )
      self.assertNotIn("in_process_word", flags.FLAGS)

  def test_a_refusal(self):
    done = in_process.run(_COMMAND, "x")
    self.assertEqual(
      (done.returncode, done.stdout, done.stderr),
      (1, "", "Error: x is not for a.\n"),
    )
    self.assertNotIn("in_process_word", flags.FLAGS)

  def test_a_bug_is_raised(self):
    bug = types.SimpleNamespace(
      __name__="bug", main=lambda argv: 1 / 0, define_flags=lambda: None
    )
    with self.assertRaises(ZeroDivisionError):
      in_process.run(bug)
