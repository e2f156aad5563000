"""Detectors in JAX; the folder is the registry, as of `models`.

A file with `VARIANTS` is a family: name -> `models.spec.Variant` of a
`DetectorSpec` and the options of the file's `Network`.

  >>> from models import detection
  >>> detection.get("tiny_retinanet").spec.num_classes
  10
"""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING
from typing import Any

from models.detection import convert as convert

if TYPE_CHECKING:
  from models.detection.detector import Detector


def names() -> tuple[str, ...]:
  """All detectors, in alphabetical order."""
  return tuple(sorted(_catalogue()))


def get(
  name: str, num_classes: int | None = None, *, dtype: str = "float32"
) -> Detector:
  """A detector by name.

  Args:
    name: one of `names()`, or `module:function` of your own code, where
      `function()` returns an object with `.name`, `.spec`, `.init(key)` and
      `.apply(variables, images, sizes)`, see `detector.Detector`.
    num_classes: how many classes of objects; the published number if None.
    dtype: `float32` or `bfloat16`.

  Raises:
    ValueError: an unknown name (with the nearest one), dtype or class count.
  """
  if ":" in name:
    return _own(name)
  from models.detection.detector import Detector

  module = family(name)
  variant = module.VARIANTS[name]
  spec = variant.spec.with_classes(num_classes)
  return Detector(name, spec, module.Network, variant, dtype)


def family(name: str) -> Any:
  """The file that holds a detector.

  Raises:
    ValueError: an unknown name.
  """
  known = _catalogue()
  if name not in known:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(
      f"Unknown detector {name!r}.{hint} Known: {', '.join(sorted(known))}; or"
      " module:function for one of your own."
    )
  return importlib.import_module(known[name])


def _own(name: str) -> Any:
  where, _, function = name.partition(":")
  try:
    return getattr(importlib.import_module(where), function)()
  except (ImportError, AttributeError) as error:
    raise ValueError(
      f"No detector at {name!r}: {error}. Expected module:function, with the"
      " module on Python's path."
    ) from error


@functools.cache
def _catalogue() -> dict[str, str]:
  """Detector -> module of its family."""
  found: dict[str, str] = {}
  for entry in pkgutil.iter_modules(__path__, f"{__name__}."):
    module = importlib.import_module(entry.name)
    for name in getattr(module, "VARIANTS", {}):
      found[name] = entry.name
  return found
