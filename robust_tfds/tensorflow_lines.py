"""The lines that TensorFlow writes while it is imported, and TFDS's, left out.

TensorFlow's come from its C++ before any setting is read (2.21: that oneDNN is on),
TFDS's warn of packages that would make it faster and of configs that are not in its
list: nothing that a user of ours can act on. All others are passed on.
"""

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import logging
import os
import sys
import tempfile
import types
from collections.abc import Callable, Sequence
from typing import Any

_KNOWN = (b"before absl::InitializeLog()", b"oneDNN custom operations are on")


def leave_out() -> None:
  """Leave the lines out from now on; TensorFlow need not be installed."""
  if not any(isinstance(f, _Finder) for f in sys.meta_path):
    sys.meta_path.insert(0, _Finder())
  logging.getLogger("absl").addFilter(_is_not_of_tfds)


def _is_not_of_tfds(record: logging.LogRecord) -> bool:
  return "tensorflow_datasets" not in record.pathname


class _Finder(importlib.abc.MetaPathFinder):
  """The finder of `tensorflow`, which puts its loader between."""

  def find_spec(
    self,
    fullname: str,
    path: Sequence[str] | None,
    target: types.ModuleType | None = None,
  ) -> importlib.machinery.ModuleSpec | None:
    """Find `tensorflow` as the other finders do, and load it quietly."""
    if fullname != "tensorflow":
      return None
    place = sys.meta_path.index(self)
    sys.meta_path.remove(self)
    try:
      spec = importlib.util.find_spec(fullname)
    finally:
      sys.meta_path.insert(place, self)  # who asked need not import it
    if spec and spec.loader:
      loader: Any = spec.loader
      loader.exec_module = functools.partial(_quietly, loader.exec_module)
    return spec


def _quietly(
  load: Callable[[types.ModuleType], None], module: types.ModuleType
) -> None:
  screen = os.dup(2)
  with tempfile.TemporaryFile() as file:
    os.dup2(file.fileno(), 2)
    try:
      load(module)
    finally:
      os.dup2(screen, 2)
      os.close(screen)
      file.seek(0)
      for line in file:
        if not any(words in line for words in _KNOWN):
          os.write(2, line)
