"""`package:MODULE[:FILE]`: the weights that an installed package carries.

The package is located and never imported, nor is its parent package: its folder
is data. Files outside the folder are refused.
"""

import importlib.machinery
import importlib.util
import os
import pathlib
import re

from models.convert import formats
from robust_tfds import errors
from robust_tfds.storage import paths

_LISTED = 5  # files that a refusal names
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def find(text: str) -> str:
  """Find the file of `package:MODULE[:FILE]`.

  Raises:
    MissingPackageError: the package is not installed; the message has the pip
      command.
    UserError: it has no weights, or several and none is named.
  """
  _, module, file = f"{text}:".split(":", 2)
  if not _MODULE.fullmatch(module):
    raise errors.UserError(
      f"{text}: {module!r} is no name of a package, expected package:MODULE or"
      " package:MODULE:FILE."
    )
  folder = _folder(module, text)
  file = file.removesuffix(":")
  return str(_named(folder, file, text) if file else _only(folder, text))


def _folder(module: str, text: str) -> pathlib.Path:
  """Return a package's folder, without importing anything."""
  top, *below = module.split(".")
  spec = importlib.util.find_spec(top)
  for part in below:
    places = spec.submodule_search_locations if spec else None
    spec = importlib.machinery.PathFinder.find_spec(part, places or [])
  if spec is None:
    raise errors.MissingPackageError(
      f"{text}: no package {module} is installed here: pip install {top}."
    )
  places = list(spec.submodule_search_locations or [])
  if len(places) != 1 or not os.path.isdir(places[0]):
    raise errors.UserError(
      f"{text}: {module} is no package with a folder of its own, expected one"
      " that carries a file of weights."
    )
  return pathlib.Path(places[0])


def _only(folder: pathlib.Path, text: str) -> pathlib.Path:
  """Return the only file below a folder that has the ending of a checkpoint."""
  files = sorted(
    below
    for below, _ in paths.files_below(folder)
    if below.lower().endswith(formats.ENDINGS)
  )
  if len(files) != 1:
    listed = ", ".join(files[:_LISTED]) or "none"
    raise errors.UserError(
      f"{text}: {folder} holds {len(files)} files of weights ({listed}), expected"
      f" one. Name the file: {text}:FILE."
    )
  return _named(folder, files[0], text)


def _named(folder: pathlib.Path, file: str, text: str) -> pathlib.Path:
  """Return a file below a folder."""
  place = folder / file
  inside = place.resolve().is_relative_to(folder.resolve())
  if not inside or not place.is_file():
    raise errors.UserError(
      f"{text}: no file {file!r} in {folder}, expected the path of a file below"
      " that folder."
    )
  return place
