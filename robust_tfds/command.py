"""The frame of every command: its flags, and refusals said without a traceback.

  def define_flags() -> None:
    flags.DEFINE_string("out", None, "Folder.", required=True)

  def main(argv: Sequence[str]) -> None:
    ...

  if __name__ == "__main__":
    command.run(main, define_flags)

Flags are defined when the command runs and never at import, so that any two
commands can be imported together. `--help` prints the file's docstring, which has
the examples, and the flags; neither it nor `--version` loads JAX or TensorFlow.
"""

import ast
import contextlib
import logging as python_logging
import os
import pathlib
import re
import shlex
import signal
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence

from absl import app, flags, logging

from robust_tfds import (
  errors,
  missing,
  own_corruptions,
  stopping,
  tensorflow_lines,
  version,
)
from robust_tfds.storage import paths

HELP = ("-h", "-?", "--help", "-help", "--helpshort", "--helpfull")
VERSION = f"robust_tfds {version.VERSION}"
# What a flag's value is: absl's word -> ours.
_VALUES = {
  "int": "=N",
  "float": "=X",
  "comma separated list of strings": "=A,B",
  "multi string": "=TEXT (may be repeated)",
}
# What absl adds to the words of a flag of several values.
_ABSLS = re.compile(r"^<.*?>: |;\s+repeat this option.*", re.DOTALL)
# What absl says of a flag that is required.
_ABSENT = re.compile(r"Flag (--\w+) must have a value other than None")

Main = Callable[[Sequence[str]], None]


def run(
  main: Main,
  define_flags: Callable[[], None],
  *,
  fail: Callable[[str], None] = sys.exit,
) -> None:
  """Run a command as a program.

  Args:
    main: gets the program's name and what is left of the arguments.
    define_flags: defines the command's flags.
    fail: ends the program with a text.
  """

  def parse(argv: list[str]) -> list[str]:
    before = set(flags.FLAGS)
    define_flags()
    flags.DEFINE_list(
      own_corruptions.FLAG,
      [],
      "Files with corruptions of your own, e.g. posterize.py. Their code is run.",
    )
    if "--version" in argv:
      print(VERSION)
      sys.exit()
    if set(HELP) & set(argv):
      own = [flags.FLAGS[n] for n in flags.FLAGS if n not in before]
      print(f"{main.__globals__['__doc__'].strip()}\n\n{_flag_help(own)}")
      sys.exit()
    try:
      return flags.FLAGS(argv)
    except OSError as e:
      fail(f"Error: {e}")
      raise
    except (flags.Error, ValueError) as e:
      if isinstance(e.__context__, errors.UserError):  # a flag of ours
        fail(f"Error: {e.__context__}")
      absent = dict.fromkeys(_ABSENT.findall(str(e)))
      words = f"{' and '.join(absent)} must be given" if absent else str(e)
      fail(f"Error: {words.rstrip('.')}. See --help.")
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
    except BrokenPipeError:
      raise
    except missing.MissingError as e:
      fail(f"Error: {missing.words(e.lacks, typed_again(e.lacks))}")
    except (errors.UserError, OSError) as e:
      fail(f"Error: {e}")
    except app.UsageError as e:
      fail(f"Error: {e} See --help.")
    except MemoryError as e:
      fail(f"Error: memory ran out ({e}). Take fewer examples at a time.")
    except Exception as e:
      if not paths.is_refusal(e):
        raise
      fail(f"Error: a bucket refuses: {str(e).strip()}")

  stopping.listen()
  tensorflow_lines.leave_out()
  try:
    with _silent_without_a_reader():
      app.run(guarded, flags_parser=parse)
  except KeyboardInterrupt:
    stopping.end()


@contextlib.contextmanager
def _silent_without_a_reader() -> Iterator[None]:
  """End with status 141, as by a signal, if the reader has stopped (`... | head`)."""
  try:
    try:
      yield
    finally:
      sys.stdout.flush()
  except BrokenPipeError:
    # What is left is written at the very end, into the void.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(128 + signal.SIGPIPE)


def summary(file: pathlib.Path) -> str:
  """Return the first line of a Python file's docstring without running it."""
  docstring = ast.get_docstring(ast.parse(file.read_text("utf-8")))
  return (docstring or "").partition("\n")[0]


def _flag_help(own: Sequence[flags.Flag]) -> str:
  """Return a command's flags with their values, help and defaults."""
  entries = ["Flags:", "  --help", "  --version"]
  for flag in own:
    text = _ABSLS.sub("", flag.help or "")
    if not re.search("default|required", text, re.IGNORECASE):
      none = "off" if flag.boolean else "none"
      default = flag.serialize().partition("=")[2] if flag.default else none
      text += f" Default: {default}."
    entries.append(f"  --{_form(flag)}")
    entries.append(textwrap.indent(textwrap.fill(text, 72), " " * 6))
  return "\n".join(entries)


def _form(flag: flags.Flag) -> str:
  """Return a flag as one types it: `[no]plan`, `limit=N`, `format=png|jpeg`."""
  if flag.boolean:
    return f"[no]{flag.name}"
  if isinstance(flag, flags.EnumFlag):
    return f"{flag.name}={'|'.join(filter(None, flag.parser.enum_values))}"
  return flag.name + _VALUES.get(flag.flag_type(), "=TEXT")


def typed() -> str:
  """Return the command that runs, as one types it."""
  program, *words = sys.orig_argv
  if words and not words[0].startswith("-") and not words[0].endswith(".py"):
    program, *words = words  # a console script
  return shlex.join([os.path.basename(program), *words])


def typed_again(lacks: Sequence[missing.Lack]) -> str:
  """Return the command that runs, with what it lacks as flags."""
  words = [typed()]
  for key, value in missing.options(lacks).items():
    name = key.rpartition(".")[2]
    if name in flags.FLAGS:
      words.append(shlex.quote(f"--{name}={value}"))
    elif "config" in flags.FLAGS:  # a run's
      words.append(shlex.quote(f"--config.{key}={value}"))
  return " ".join(words)


def no_arguments(argv: Sequence[str]) -> None:
  """Refuse words that are no flags."""
  if len(argv) > 1:
    raise app.UsageError(f"Unexpected arguments: {' '.join(argv[1:])}")
