"""The frame of every command: its flags, and refusals said without a traceback.

  def define_flags() -> None:
    flags.DEFINE_string("out", None, "Folder.", required=True)

  def main(argv: Sequence[str]) -> None:
    ...

  if __name__ == "__main__":
    command.run(main, define_flags)

Flags are defined when the command runs and never at import, so that any two
commands can be imported together.
"""

from __future__ import annotations

import logging as python_logging
import os
import sys
from collections.abc import Callable, Sequence

from absl import app, flags, logging

from robust_tfds import errors, own_corruptions
from robust_tfds.storage import paths

Main = Callable[[Sequence[str]], None]


def run(
  main: Main,
  define_flags: Callable[[], None],
  *,
  fail: Callable[[str], None] = sys.exit,
  check: Callable[[Sequence[str]], None] = lambda argv: None,
) -> None:
  """Runs a command as a program.

  Args:
    main: gets the program's name and what is left of the arguments.
    define_flags: defines the command's flags.
    fail: ends the program with a text.
    check: refuses arguments before they are parsed.
  """

  def parse(argv: list[str]) -> list[str]:
    define_flags()
    flags.DEFINE_list(
      own_corruptions.FLAG,
      [],
      "Files of corruptions of your own, which are run: posterize.py.",
      module_name=sys.argv[0],  # whose --help shows it
    )
    try:
      check(argv)
    except (errors.UserError, OSError) as e:
      fail(f"Error: {e}")
    try:
      return app.parse_flags_with_usage(argv)
    except ValueError as e:  # absl's own, e.g. of `--noplan=false`
      fail(f"Error: {e}.")
      raise

  def guarded(argv: Sequence[str]) -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    logging.set_verbosity(logging.WARNING)  # orbax and TFDS narrate every step
    # Functions on the host that fail are refused in words, without their trace.
    python_logging.getLogger("jax._src.callback").setLevel("CRITICAL")
    try:
      given = flags.FLAGS.flag_values_dict()
      for file in given.get(own_corruptions.FLAG) or ():
        own_corruptions.register(file)
      main(argv)
    except (errors.UserError, OSError) as e:
      fail(f"Error: {e}")
    except MemoryError as e:
      fail(f"Error: memory ran out ({e}). Take fewer examples at a time.")
    except KeyboardInterrupt:
      fail("Stopped. Run the same command again to continue.")
    except Exception as e:
      if not paths.is_refusal(e):
        raise
      fail(f"Error: a bucket refuses: {str(e).strip()}")

  app.run(guarded, flags_parser=parse)


def no_arguments(argv: Sequence[str]) -> None:
  """Refuses words that are no flags."""
  if len(argv) > 1:
    raise app.UsageError(f"Unexpected arguments: {' '.join(argv[1:])}")
