"""Readers: predictions of other programs and of finished runs, as cells.

This folder has a file for each format: a subclass of `base.Reader` with an example,
on which `tests/eval/readers/contract_test.py` runs. Nothing else names it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from typing import TYPE_CHECKING

from etils import epath

from robust_tfds import errors, registry

if TYPE_CHECKING:  # names are known without loading JAX
  from eval.readers import base

AUTO = "auto"
_BASE = "base"


def names() -> tuple[str, ...]:
  """Return the names of all formats."""
  return tuple(
    m.name for m in pkgutil.iter_modules(__path__) if m.name != _BASE
  )


def get(name: str) -> base.Reader:
  """Return a format's reader; UserError with a suggestion for an unknown name."""
  from eval.readers import base

  if name not in names():
    raise errors.unknown_error("format", name, (AUTO, *names()))
  return registry.only_class(f"{__name__}.{name}", base.Reader)()


def choose(
  paths: Sequence[epath.Path], name: str, options: base.Options
) -> base.Reader:
  """Return the reader of some files of one format.

  Args:
    paths: files and folders.
    name: name of the format; `auto` finds it from the paths.
    options: the user's options for the files.

  Raises:
    UserError: files of an unknown format, or of several formats.
    FileNotFoundError: a path does not exist.
  """
  for path in paths:
    if not path.exists():
      raise FileNotFoundError(f"{path} does not exist.")
  if name != AUTO:
    return get(name)
  formats = {path: _format(path, options) for path in paths}
  first = paths[0]
  for path, format_name in formats.items():
    if format_name != formats[first]:
      raise errors.UserError(
        f"{first} is read as {formats[first]}, {path} as {format_name}. Score files"
        " of one format at a time; the resulting workdirs can be scored together."
      )
  return get(formats[first])


def _format(path: epath.Path, options: base.Options) -> str:
  from eval.cells.files import scored_folder

  if scored_folder.is_table_alone(path):
    raise errors.UserError(
      f"{path} holds the table of scored workdirs, and no cells. Score those"
      " workdirs."
    )
  for name in names():
    if get(name).fits(path, options):
      return name
  if (path / "cells").is_dir():
    raise errors.UserError(
      f"{path / 'config.json'}: missing, though there are cells. Run the same"
      " eval.main again, which writes it."
    )
  kinds = "; ".join(f"{get(name).kind} ({name})" for name in names())
  raise errors.UserError(
    f"{path}: unknown format. Expected one of: {kinds}. Each file of eval/readers/"
    " describes its format's layout."
  )
