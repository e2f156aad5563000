"""The source of a user's own model: its module, and the local ones it imports.

Results are fingerprinted by it. A module is local if it lies neither in Python's
own library nor among installed packages nor in this package (whose version is in
every fingerprint). Imports are read from the text, also those inside functions.
Nothing is imported for it, so that two starts see the same files whatever else is
loaded.
"""

import ast
import functools
import hashlib
import importlib.util
import inspect
import os
import pathlib
import sys
import sysconfig
from collections.abc import Iterator
from typing import Any

from robust_tfds import layout


def hashes(name: str) -> dict[str, str]:
  """Return the sha256 of every file of a model's source.

  Args:
    name: `module:function` of a module that can be imported.

  Returns:
    sha256 of each module's file, by the module's name; {} if it has no file.
  """
  seen: dict[str, str] = {}
  waiting = [name.partition(":")[0]]
  while waiting:
    module = waiting.pop()
    path = None if module in seen else _file(module)
    if path is None:
      continue
    data = path.read_bytes()
    seen[module] = hashlib.sha256(data).hexdigest()
    if path.suffix == ".py":
      waiting += _imported(data, module, path.name == "__init__.py")
  return dict(sorted(seen.items()))


def code_hashes(code: Any) -> dict[str, str]:
  """Return the `hashes` of the module that defines something.

  If that is the started program (`__main__`, a notebook), only the text of the
  definition is hashed: the rest may change between two starts.

  Args:
    code: a function, class, module or object; partial functions are unwrapped.
  """
  while isinstance(code, functools.partial):
    code = code.func
  module = inspect.getmodule(code)
  if module is None:
    return {}
  if module.__name__ != "__main__" or inspect.ismodule(code):
    return hashes(module.__name__)
  thing = code if _has_text(code) else type(code)
  try:
    text = inspect.getsource(thing)
  except (OSError, TypeError):  # typed in: there is no source
    return {}
  name = f"__main__.{thing.__qualname__}"
  return {name: hashlib.sha256(text.encode()).hexdigest()}


def _has_text(code: Any) -> bool:
  return (
    inspect.isclass(code) or inspect.isfunction(code) or inspect.ismethod(code)
  )


def _file(module: str) -> pathlib.Path | None:
  """Return the file of a local module; None for any other name."""
  top, *rest = module.split(".")
  for place in _places(top):
    path = place.joinpath(*rest)
    for candidate in (path / "__init__.py", path.with_suffix(".py"), path):
      if candidate.is_file() and not _installed(candidate):
        return candidate
  return None


def _places(top: str) -> list[pathlib.Path]:
  """Return a package's folders, or a module's file; [] if it is not there."""
  try:
    spec = importlib.util.find_spec(top)
  except (ImportError, ValueError):
    loaded = sys.modules.get(top)  # such as `__main__`, which has no spec
    file = None if loaded is None else vars(loaded).get("__file__")
    return [pathlib.Path(file)] if file else []
  if spec is None:
    return []
  if spec.submodule_search_locations is not None:
    return [pathlib.Path(p) for p in spec.submodule_search_locations]
  return [pathlib.Path(spec.origin)] if spec.origin else []


def _installed(path: pathlib.Path) -> bool:
  if {"site-packages", "dist-packages"} & set(path.parts):
    return True
  theirs = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
  folders = [*layout.folders(), *(place for place in theirs if place)]
  real = path.resolve()
  return any(real.is_relative_to(os.path.realpath(f)) for f in folders)


def _imported(data: bytes, module: str, package: bool) -> Iterator[str]:
  """Yield every module that a file may import, and its parent packages."""
  home = module if package else module.rpartition(".")[0]
  try:
    tree = ast.parse(data)
  except (SyntaxError, ValueError):  # such a module cannot be imported
    return
  for node in ast.walk(tree):
    if isinstance(node, ast.Import):
      names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
      base = _absolute(node, home)
      # `from a import b`: b is a module of a, or something inside it.
      names = [f"{base}.{alias.name}" for alias in node.names]
    else:
      continue
    for name in names:
      parts = name.split(".")
      yield from (".".join(parts[:n]) for n in range(1, len(parts) + 1))


def _absolute(node: ast.ImportFrom, home: str) -> str:
  """Return the absolute name of the module in `from … import`."""
  if not node.level:
    return node.module or ""
  parents = home.split(".")
  parents = parents[: len(parents) - node.level + 1]
  return ".".join([*parents, *([node.module] if node.module else [])])
