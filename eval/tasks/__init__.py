"""Tasks: one file each, which holds one subclass of `base.Task`.

The folder is the registry; folders inside it (`parts/`) hold what several tasks
share and are no tasks.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil

from eval.tasks import base
from robust_tfds import errors

_BASE = "base"


def names() -> tuple[str, ...]:
  """Names of all tasks."""
  return tuple(
    m.name
    for m in pkgutil.iter_modules(__path__)
    if not m.ispkg and m.name != _BASE
  )


def get(name: str) -> type[base.Task]:
  """A task's class; UserError with a suggestion for an unknown name."""
  if name not in names():
    raise errors.unknown("task", name, names())
  module = importlib.import_module(f"{__name__}.{name}")
  (task,) = [
    member
    for _, member in inspect.getmembers(module, inspect.isclass)
    if issubclass(member, base.Task) and member.__module__ == module.__name__
  ]
  return task
