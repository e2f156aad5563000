"""Folders that are registries: a module of one holds one subclass of its base."""

import importlib
import inspect
from typing import Any


def only_class(module: str, base: type) -> Any:
  """Return the subclass of `base` that a module defines.

  Args:
    module: its full name.
    base: base of the folder's classes, which may be abstract; classes that the module
      imports do not count.
  """
  members = inspect.getmembers(importlib.import_module(module), inspect.isclass)
  own = [c for _, c in members if c.__module__ == module]
  (chosen,) = [c for c in own if issubclass(c, base)]
  return chosen
