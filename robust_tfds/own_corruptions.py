"""Corruptions of pictures that a user brings: a file each, without a clone.

  from robust_tfds import corruptions
  corruptions.register("posterize.py")     # or "my_package.posterize"

A file is named as its corruption and is what a file of `robust_tfds/corruptions/image`
is (its `__init__.py` says what that is), with its row of `robust_tfds/conditions.py`
in itself:

  GROUP = "digital"                       # noise, blur, weather or digital
  SEVERITIES = {"cifar10": (5, 4, 3, 2, 1)}   # of the editions that it serves
  PLUGIN = plugins.Corruption(severities=SEVERITIES, tables=tables, apply=apply)

Its set is `own`: it enters no published mean. It is known by the sha256 of the file,
which cells and prepared sets note: what it imports is not looked at. Nothing that a
run, a submission or a config says registers a file: only who runs a process does.
"""

import ast
import dataclasses
import functools
import importlib
import importlib.util
import inspect
import os
import pathlib
import re
import types
from typing import Any

from robust_tfds import conditions, errors
from robust_tfds.storage import paths

FLAG = "own_corruptions"  # a flag of every command
_OURS = "robust_tfds.corruptions.image"
_SHORT = 80  # bytes of a function that says nothing of its own
# A level follows a name in those of configs.
_NAMES = re.compile(r"[a-z][a-z0-9_]*(?<!_)(?<!_\d)")


@dataclasses.dataclass(frozen=True)
class Own:
  """A file that was registered.

  Attributes:
    source: its path, or the module's name.
    sha256: sha256 of its bytes.
    module: what it defines.
  """

  source: str
  sha256: str
  module: types.ModuleType


_registered: dict[str, Own] = {}  # by name


def register(source: str | os.PathLike[str], sha256: str = "") -> str:
  """Run a file and make its corruption known to this process.

  Registering the same file again changes nothing.

  Args:
    source: path of the file, or name of a module that can be imported.
    sha256: expected sha256 of the file; empty if any will do.

  Returns:
    The name of the corruption.

  Raises:
    UserError: no such file, one that fails or does not say what it must, a name
      that is taken, or another file than before, or than `sha256` says.
  """
  path = _file(os.fspath(source))
  name, digest = path.stem, _sha256(path)
  if sha256 not in ("", digest):
    raise errors.UserError(
      f"{path}: changed since it was registered; start again."
    )
  if name in _registered:
    if _registered[name].sha256 != digest:
      raise errors.UserError(
        f"{path}: another {name}, {_registered[name].source}, is registered in"
        " this process. Start a new one, or give the file another name."
      )
    return name
  _check_name(path, name)
  module = _module(path, source)
  row = conditions.Row(name, _group(path, module), "own")
  where = str(path) if str(source).endswith(".py") else str(source)
  _registered[name] = Own(where, digest, module)
  conditions.PICTURES.add(row)
  return name


def get(name: str) -> Own | None:
  """Return the file that was registered under a name; None if there is none."""
  return _registered.get(name)


def sha256(name: str) -> str:
  """Return the sha256 of the file of a corruption of set `own`; else ''."""
  if not name or name not in conditions.PICTURES.names("own"):
    return ""
  if name in _registered:
    return _registered[name].sha256
  here = pathlib.Path(__file__).parent / "corruptions" / "image" / f"{name}.py"
  return _sha256(here)


def called_by(name: str) -> list[str]:
  """Return the benchmarks' corruptions that a registered file uses or copies.

  They are recognised by imports and quoted names, by objects of a benchmark's file
  in the module or its plugin, and by functions of the same bytecode. Code that
  computes the same in other words is not recognised.
  """
  own = _registered.get(name)
  if own is None:
    return []
  tested = [n for n in conditions.PICTURES.known_names if n not in _registered]
  tree = ast.parse(inspect.getsource(own.module))
  plugin = getattr(own.module.PLUGIN, "__dict__", {})
  words = {
    *map(_defining_corruption, [*vars(own.module).values(), *plugin.values()])
  }
  for node in ast.walk(tree):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
      words.add(node.value.rpartition(".")[2])
    if isinstance(node, ast.Import | ast.ImportFrom):
      modules = [alias.name for alias in node.names]
      modules.append(getattr(node, "module", "") or "")
      words |= {part for module in modules for part in module.split(".")}
  codes = _codes(own.module)
  return [
    n for n in tested if n in words or codes & _codes(_published_module(n))
  ]


def _defining_corruption(value: Any) -> str:
  """Return the benchmark's corruption that defines a function or module; else ''."""
  while isinstance(value, functools.partial):
    value = value.func
  name = "__name__" if inspect.ismodule(value) else "__module__"
  folder, _, file = str(getattr(value, name, "")).rpartition(".")
  return file if folder == _OURS else ""


def _published_module(name: str) -> types.ModuleType:
  return importlib.import_module(f"{_OURS}.{name}")


def _codes(module: types.ModuleType) -> set[bytes]:
  """Return the bytecode of the functions that a module defines."""
  functions = (f for f in vars(module).values() if inspect.isfunction(f))
  return {
    f.__code__.co_code + repr(f.__code__.co_names).encode()
    for f in functions
    if f.__module__ == module.__name__ and len(f.__code__.co_code) > _SHORT
  }


def check_noted(where: str, name: str, checksum: str) -> None:
  """Refuse data of a user's corruption that is not registered here.

  Args:
    where: the data, in words.
    name: name of the corruption.
    checksum: sha256 of its file, as noted with the data; '' if none was noted.

  Raises:
    UserError: says how to register it.
  """
  if checksum == sha256(name):
    return
  known = "another one is registered here" if sha256(name) else "none is here"
  raise errors.UserError(
    f"{where}: {name} is a corruption of its author's own, of a file with sha256"
    f" {checksum or 'unknown'}; {known}. A stranger's file is never run: read it,"
    f" and register it yourself where you trust it (--{FLAG}={name}.py, or"
    f' corruptions.register("{name}.py")).'
  )


def _file(source: str) -> pathlib.Path:
  """Return the file that a path or a module's name stands for."""
  if source.endswith(".py") or os.sep in source:
    return pathlib.Path(os.path.abspath(source))
  try:
    spec = importlib.util.find_spec(source)
  except (ImportError, ValueError) as e:
    raise errors.UserError(f"{source}: no such module ({e}).") from e
  if spec is None or not (spec.origin or "").endswith(".py"):
    raise errors.UserError(
      f"{source!r}: neither a module of one Python file that can be imported nor a"
      " path that ends in .py."
    )
  return pathlib.Path(str(spec.origin))


def _sha256(path: pathlib.Path) -> str:
  try:
    return paths.sha256(paths.parse(path))
  except OSError as e:
    raise errors.UserError(
      f"{path}: cannot be read ({e.strerror}). Name the file of the corruption."
    ) from e


def _check_name(path: pathlib.Path, name: str) -> None:
  groups = conditions.PICTURES.groups
  taken = {conditions.CLEAN, "none", "source", *conditions.SETS, *groups}
  if name in {*taken, *conditions.every_name()}:
    raise errors.UserError(
      f"{path}: the name {name!r} is taken. Give the file another one."
    )
  if not _NAMES.fullmatch(name):
    raise errors.UserError(
      f"{path}: a corruption has the name of its file, in small letters, digits"
      f" and _ and without a number at the end, got {name!r}."
    )


def _module(
  path: pathlib.Path, source: str | os.PathLike[str]
) -> types.ModuleType:
  """Run the file, or import the module by its name, and return it."""
  try:
    if not str(source).endswith(".py"):
      return importlib.import_module(str(source))
    spec = importlib.util.spec_from_file_location(f"own_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
  except (Exception, SystemExit) as e:
    raise errors.UserError(f"{path}: it fails: {errors.user_fault(e)}") from e


def _group(path: pathlib.Path, module: types.ModuleType) -> str:
  """Return the module's `GROUP`; refuse one without a group or a plugin."""
  group = vars(module).get("GROUP")
  if "PLUGIN" not in vars(module):
    raise errors.UserError(
      f"{path}: it must end in PLUGIN = plugins.Corruption(...)"
      " (robust_tfds/corruptions/image/__init__.py)."
    )
  if group not in conditions.PICTURES.groups:
    listed = ", ".join(map(repr, conditions.PICTURES.groups))
    raise errors.UserError(
      f"{path}: GROUP: got {group!r}, expected one of {listed}."
    )
  return str(group)
