"""Contracts of plugins: what is new or changed is tested whole, and fast.

A contract test has a case a plugin. `tests/contracts.tsv` lists the plugins that
passed all their cases, with the sha256 of their code: their cases are slow tests. The
cases of every other plugin, new or changed, run in the fast suite. Once they pass,

  python -m tests.contracts

runs them again and lists the plugins in the table. Comments and docstrings may change
freely. A table that is out of date breaks nothing: the fast suite takes longer.
"""

import ast
import functools
import hashlib
import io
import pathlib
import sys
import tokenize
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from absl.testing import parameterized

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_TABLE = _ROOT / "tests" / "contracts.tsv"
_HEAD = "plugin\tsha256"
_DEFINITIONS = (
  ast.Module,
  ast.ClassDef,
  ast.FunctionDef,
  ast.AsyncFunctionDef,
)
_digests: dict[str, str] = {}  # by plugin, of all that have cases

# A file, a folder of files, or a text: the row of a plugin that has no file.
Source = pathlib.Path | str


def cases(
  arguments: Iterable[Any],
  source: Callable[[str], Source],
  quick: Iterable[Any] = (),
) -> Callable[..., Any]:
  """Return a decorator like `parameterized.parameters`, with a case a plugin.

  Cases of plugins that the table lists as they are get the mark `slow`, others
  the mark `contract`.

  Args:
    arguments: of each case: a plugin's name, or a tuple that begins with it.
    source: name -> what the plugin consists of.
    quick: arguments of the cases that are never slow.
  """
  arguments, quick = list(arguments), list(quick)

  def marked(test: Callable[..., None]) -> Iterator[Callable[..., None]]:
    functions = parameterized.parameters(*arguments)(test)
    for case, function in zip(arguments, functions, strict=True):
      name = case if isinstance(case, str) else case[0]
      if is_new(source(name)):
        yield pytest.mark.contract(function)
      elif case in quick:
        yield function
      else:
        yield pytest.mark.slow(function)

  return marked


def is_new(source: Source) -> bool:
  """Return whether the table does not list the plugin with this code."""
  plugin, sha256 = _plugin(source), digest(source)
  _digests[plugin] = sha256
  return table().get(plugin) != sha256


def digest(source: Source) -> str:
  """Return the sha256 of a plugin's code, without comments and docstrings."""
  if isinstance(source, str):
    return _sha256(source)
  files = sorted(source.rglob("*.py")) if source.is_dir() else [source]
  return _sha256("".join(code(file.read_text("utf-8")) for file in files))


@functools.cache
def code(text: str) -> str:
  """Return Python code without comments, docstrings and empty lines."""
  lines = text.splitlines(keepends=True)
  for token in tokenize.generate_tokens(io.StringIO(text).readline):
    if token.type == tokenize.COMMENT:
      row, column = token.start
      lines[row - 1] = lines[row - 1][:column] + "\n"
  for node in ast.walk(ast.parse(text)):
    if isinstance(node, _DEFINITIONS) and ast.get_docstring(node) is not None:
      docstring = node.body[0]
      for row in range(docstring.lineno, (docstring.end_lineno or 0) + 1):
        lines[row - 1] = ""
  return "\n".join(line.rstrip() for line in lines if line.strip())


@functools.cache
def table() -> dict[str, str]:
  """Return plugin -> sha256, as committed."""
  rows = _TABLE.read_text("utf-8").splitlines()[1:] if _TABLE.exists() else []
  return dict(row.split("\t") for row in rows)


def _plugin(source: Source) -> str:
  if isinstance(source, str):
    return source
  return source.resolve().relative_to(_ROOT).as_posix()


def _sha256(text: str) -> str:
  return hashlib.sha256(text.encode()).hexdigest()


def write() -> None:
  """Write the table of all plugins that have cases in this process."""
  rows = [f"{plugin}\t{_digests[plugin]}" for plugin in sorted(_digests)]
  _TABLE.write_text("\n".join([_HEAD, *rows]) + "\n", "utf-8")


def main() -> int:
  """Run the cases of new and changed plugins; if they pass, write the table."""
  tests = sorted((_ROOT / "tests").rglob("*_test.py"))
  files = [str(t) for t in tests if "contracts.cases(" in t.read_text("utf-8")]
  options = ["-n0", "-q", "-m", "contract", "-p", "no:cacheprovider"]
  status = pytest.main([*options, "--durations=10", *files])
  if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
    print("tests/contracts.tsv is left as it is: not all cases passed.")
    return int(status)
  write()
  print(f"tests/contracts.tsv lists {len(_digests)} plugins.")
  return 0


if __name__ == "__main__":
  # `-m` makes this file `__main__`; the tests import it by its name.
  from tests import contracts

  sys.exit(contracts.main())
