"""Files of families, for contracts that run on a family's smallest model."""

import math
import pathlib

from models import catalogue
from robust_tfds import models

_ROOT = pathlib.Path(catalogue.__file__).parent


def _files() -> dict[str, pathlib.Path]:
  """Return model -> the file of its family."""
  out = {}
  for module in catalogue._files():
    family = catalogue._family_in(module)
    _, kind, file = module.rsplit(".", 2)
    for name in family.variants if family else ():
      out[name] = _ROOT / kind / f"{file}.py"
  return out


_FILES = _files()


def of(name: str) -> pathlib.Path:
  """Return the file of a model's family."""
  return _FILES[name]


def _size(name: str) -> tuple[float, str]:
  return models.get(name).spec.parameters or math.inf, name


# The smallest model of each family's file.
SMALLEST = tuple(
  min((n for n in _FILES if _FILES[n] == file), key=_size)
  for file in dict.fromkeys(_FILES.values())
)
