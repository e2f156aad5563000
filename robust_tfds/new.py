"""Start a contribution: its file, with the contract as comments, and a test of it.

  robust-tfds new corruption posterize
  robust-tfds new dataset svhn_c
  robust-tfds new model lenet
  robust-tfds new metric brier
  robust-tfds new reader jsonl

The files pass their tests as they are: change them bit by bit, and run the tests that
are printed. They go into the clone that this command is of. An installed package has
no place for them; there `new corruption NAME` writes NAME.py into the current folder,
and --own_corruptions=NAME.py of every command runs it.
"""

import ast
import pathlib
import re
import textwrap
from collections.abc import Sequence

from robust_tfds import command, errors, layout

_TEMPLATES = layout.HERE / "new_files"
KINDS = ("corruption", "dataset", "model", "metric", "reader")
_NAME = re.compile(r"[a-z][a-z0-9_]*(?<!_)")
# The line before each file in a template, and the one in place of a contract.
_FILE = re.compile(r"^==> (\S+)\n", re.MULTILINE)
_CONTRACT = re.compile(r"^# CONTRACT (\S+) ?(\w*)$", re.MULTILINE)
_WORD = re.compile("@name@|@Name@")  # `my_blur`, `MyBlur`


def files(kind: str, name: str) -> dict[str, str]:
  """Return the files of a contribution: path in the repository -> text.

  Args:
    kind: one of `KINDS`.
    name: name of the contribution.

  Raises:
    UserError: an unknown kind, or a name that no file can have.
  """
  if kind not in KINDS:
    raise errors.unknown_error("kind of contribution", kind, KINDS)
  if not _NAME.fullmatch(name) or (kind == "corruption" and name[-1].isdigit()):
    raise errors.UserError(
      f"Got the name {name!r}, expected small letters, digits and _, beginning with"
      " a letter; of a corruption without a number at the end."
    )
  words = {"@name@": name, "@Name@": name.title().replace("_", "")}
  text = (_TEMPLATES / f"{kind}.txt").read_text("utf-8")
  text = _WORD.sub(lambda found: words[found[0]], text)
  text = _CONTRACT.sub(lambda found: _contract(*found.groups()), text)
  _, *parts = _FILE.split(text)
  return dict(zip(parts[::2], parts[1::2], strict=True))


def _contract(path: str, name: str) -> str:
  """Return the docstring of a file of this project, or of a class in it, as
  comments.
  """
  file = layout.HERE.parent / path
  tree: ast.Module | ast.ClassDef = ast.parse(file.read_text("utf-8"))
  for node in tree.body:
    if isinstance(node, ast.ClassDef) and node.name == name:
      tree = node
  where = f"The contract ({path}):"
  text = f"{where}\n\n{ast.get_docstring(tree)}"
  return textwrap.indent(text, "# ", lambda line: True).replace("# \n", "#\n")


def write(kind: str, name: str, folder: pathlib.Path) -> list[pathlib.Path]:
  """Write the files of a contribution and return their paths.

  Args:
    kind: one of `KINDS`.
    name: name of the contribution.
    folder: the root of a clone; any other folder gets a corruption's file alone.

  Raises:
    UserError: as `files`; a file that is there already; or no clone.
  """
  alone = not is_clone(folder)
  if alone and kind in KINDS and kind != "corruption":
    raise errors.UserError(
      f"robust-tfds new {kind}: a {kind} lies in a clone of the repository, got an"
      " installed package. Clone it, and install it with pip install -e '.[dev]'."
    )
  made = files(kind, name)
  if alone:
    made = {f"{name}.py": next(iter(made.values()))}
  paths = [folder / path for path in made]
  for path in paths:
    if path.exists():
      raise errors.UserError(
        f"{path} already exists. Take another name, or remove the file."
      )
  for path, text in zip(paths, made.values(), strict=True):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
  return paths


def is_clone(folder: pathlib.Path) -> bool:
  """Return whether a folder is the root of a clone of this project."""
  return (folder / "CONTRIBUTING.md").is_file() and (folder / "tests").is_dir()


def define_flags() -> None:
  """Define no flags: the arguments are KIND NAME."""


def main(argv: Sequence[str]) -> None:
  """Write the files that the arguments name, and say what to do next."""
  if len(argv) != 3:
    raise errors.UserError(
      f"Got {' '.join(argv[1:]) or 'no arguments'}, expected KIND NAME: KIND is one"
      f" of {', '.join(KINDS)}. See robust-tfds new --help."
    )
  _, kind, name = argv
  root = layout.HERE.parent
  folder = root if is_clone(root) else pathlib.Path.cwd()
  paths = write(kind, name, folder)
  print("\n".join(str(path) for path in paths))
  if folder == root:
    test = paths[-1].relative_to(root)
    print(f"\nNow: python -m pytest {test}; then python -m tests.contracts")
  else:
    print(f"\nNow: robust-tfds run ... --own_corruptions={name}.py")


if __name__ == "__main__":
  command.run(main, define_flags)
