"""All commands as one: `robust-tfds NAME ...`, or `python -m robust_tfds NAME ...`.

  robust-tfds run --config=quickstart --workdir=/tmp/quickstart
  robust-tfds run --list          # the configs that are shipped
  robust-tfds NAME --help         # of one command
  robust-tfds --version

In a clone each is also a module: `python -m eval.main` is `robust-tfds run`. The
current folder is the last one that is searched for modules, for `my_module:build`.
"""

import os
import pathlib
import runpy
import sys

from robust_tfds import layout, stopping

# Name -> file, in the order in which they are used.
COMMANDS = {
  "run": "eval/main.py",
  "train": "models/training/main.py",
  "suite": "eval/suite.py",
  "score": "eval/score.py",
  "compare": "eval/compare/__main__.py",
  "board": "eval/leaderboard.py",
  "figures": "eval/figures.py",
  "features": "eval/features.py",
  "build": "build.py",
  "corrupt": "corrupt_folder.py",
  "convert": "models/convert/__main__.py",
  "text": "models/zero_shot/__main__.py",
  "card": "models/card.py",
  "ccc-matrix": "eval/ccc_matrix.py",
  "new": "new.py",
}


def main() -> None:
  """Run the command that the first word names; Ctrl-C is heard from here on."""
  stopping.listen()
  try:
    _run()
  except KeyboardInterrupt:
    stopping.end()


def _run() -> None:
  # Here, for they take a second, as what a command imports does.
  from robust_tfds import command, errors

  word = sys.argv[1] if len(sys.argv) > 1 else command.HELP[0]
  if word in command.HELP:
    lines = [f"  {n:12}{command.summary(_file(n))}" for n in COMMANDS]
    print("\n".join([__doc__ or "", *lines]))
  elif word == "--version":
    print(command.VERSION)
  elif word not in COMMANDS:
    unknown = errors.unknown_error("command", word, COMMANDS)
    sys.exit(f"Error: {unknown} See robust-tfds --help.")
  else:
    del sys.argv[1]
    layout.put_on_path()
    sys.path.append(os.getcwd())
    try:
      layout.check()
    except layout.ForeignPackageError as e:
      sys.exit(f"Error: {e}")
    # By path: a module's parents are imported with it, JAX with some.
    runpy.run_path(str(_file(word)), run_name="__main__")


def _file(name: str) -> pathlib.Path:
  """Return a command's file: in a clone some lie beside this package."""
  inside = layout.HERE / COMMANDS[name]
  return inside if inside.exists() else layout.HERE.parent / COMMANDS[name]


if __name__ == "__main__":
  main()
