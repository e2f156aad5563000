"""Readers: predictions of other programs and of earlier runs, as cells.

One file of this folder for each format; it holds one subclass of `base.Reader`
with an example, on which `tests/eval/readers/contract_test.py` runs. Nothing else
names it.
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
  """Names of all formats."""
  return tuple(
    m.name for m in pkgutil.iter_modules(__path__) if m.name != _BASE
  )


def get(name: str) -> base.Reader:
  """A format's reader; UserError with a suggestion for an unknown name."""
  from eval.readers import base

  if name not in names():
    raise errors.unknown_error("format", name, (AUTO, *names()))
  return registry.only_class(f"{__name__}.{name}", base.Reader)()


def choose(
  paths: Sequence[epath.Path], name: str, options: base.Options
) -> base.Reader:
  """The reader of some files of one format.

  Args:
    paths: files and folders.
    name: of the format; `auto` looks at the paths.
    options: what else was said of them.

  Raises:
    UserError: files of no known format, or of several.
    FileNotFoundError: a path that is not there.
  """
  for path in paths:
    if not path.exists():
      raise FileNotFoundError(f"{path} does not exist.")
  if name != AUTO:
    return get(name)
  formats = {path: _format(path, options) for path in paths}
  first, *others = paths
  for other in others:
    if formats[other] != formats[first]:
      raise errors.UserError(
        f"{first} is read as {formats[first]}, {other} as {formats[other]}."
        " Score files of one format at a time; the folders that come of it are"
        " workdirs, which can be scored together."
      )
  return get(formats[first])


def _format(path: epath.Path, options: base.Options) -> str:
  from eval.cells.files import scored_folder

  if scored_folder.is_table_alone(path):
    raise errors.UserError(
      f"{path} is the table of workdirs that were scored, and holds no cells."
      " Score those workdirs."
    )
  for name in names():
    if get(name).fits(path, options):
      return name
  if (path / "cells").is_dir():
    raise errors.UserError(
      f"{path}: holds cells, but no config.json, which says of what they are."
      " Run the same eval.main again, which writes it."
    )
  kinds = "; ".join(f"{get(name).kind} ({name})" for name in names())
  raise errors.UserError(
    f"{path} is of no known format. Expected one of: {kinds}. Each file of"
    " eval/readers/ describes its format's layout."
  )
