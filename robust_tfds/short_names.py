"""In a clone `eval`, `models` and `configs` are the same modules as ours.

The folders lie at the top of the repository, where `robust_tfds/__init__.py` looks
for them; an installed package has them inside, and brings one top-level name.
Where the folders themselves are importable (a clone, an editable install),
importing `models` gives the module `robust_tfds.models` under a second name:
nothing is loaded twice.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types
from collections.abc import Sequence

_NAMES = ("eval", "models", "configs")


class _Loader(importlib.abc.InspectLoader):
  """Gives the module of the long name."""

  def __init__(self, long_name: str):
    self._long_name = long_name
    self._spec: importlib.machinery.ModuleSpec | None = None

  def create_module(
    self, spec: importlib.machinery.ModuleSpec
  ) -> types.ModuleType:
    module = importlib.import_module(self._long_name)
    self._spec = module.__spec__
    return module

  def exec_module(self, module: types.ModuleType) -> None:
    module.__spec__ = self._spec  # importlib has put the alias's there

  def get_code(self, fullname: str) -> types.CodeType | None:
    """For `python -m eval.main`."""
    return self._long_loader().get_code(self._long_name)

  def get_source(self, fullname: str) -> str | None:
    return self._long_loader().get_source(self._long_name)

  def is_package(self, fullname: str) -> bool:
    return self._long_loader().is_package(self._long_name)

  def _long_loader(self) -> importlib.abc.InspectLoader:
    spec = importlib.util.find_spec(self._long_name)
    assert spec and isinstance(spec.loader, importlib.abc.InspectLoader)
    return spec.loader


class _Finder(importlib.abc.MetaPathFinder):
  """Finds `eval.main` as `robust_tfds.eval.main`, if `eval` is ours."""

  def find_spec(
    self,
    fullname: str,
    path: Sequence[str] | None,
    target: types.ModuleType | None = None,
  ) -> importlib.machinery.ModuleSpec | None:
    top, _, rest = fullname.partition(".")
    if top not in _NAMES or not rest or not _is_ours(top):
      return None
    long_spec = importlib.util.find_spec(f"robust_tfds.{fullname}")
    if long_spec is None:
      return None
    return importlib.machinery.ModuleSpec(
      fullname,
      _Loader(long_spec.name),
      origin=long_spec.origin,
      is_package=long_spec.submodule_search_locations is not None,
    )


def _is_ours(top: str) -> bool:
  module = sys.modules.get(top)
  return module is not None and module is sys.modules.get(f"robust_tfds.{top}")


def own_folders() -> tuple[str, ...]:
  """Where this package's files lie; in a clone also beside `robust_tfds`."""
  here, *beside = sys.modules[__package__].__path__
  return here, *(os.path.join(p, name) for p in beside for name in _NAMES)


def alias(top: str) -> None:
  """Makes a short name stand for the module of the long one.

  Called by the `__init__.py` of a folder that is imported under its short name.

  Args:
    top: `eval`, `models` or `configs`.
  """
  if not any(isinstance(f, _Finder) for f in sys.meta_path):
    sys.meta_path.insert(0, _Finder())
  sys.modules[top] = importlib.import_module(f"robust_tfds.{top}")
