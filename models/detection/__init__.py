"""Detectors in JAX; the folder is the registry, as of `models`.

A file with `VARIANTS` is a family: name -> `models.spec.Variant` of a
`DetectorSpec` and the options of the file's `Network`.

  >>> from models import detection
  >>> detection.get("tiny_retinanet").spec.num_classes
  10
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from models.detection import convert as convert
from models.registry import Registry

if TYPE_CHECKING:
  from models.detection.detector import Detector

_REGISTRY = Registry(__name__, "detector", ("name", "spec", "init", "apply"))


def names() -> tuple[str, ...]:
  """All detectors, in alphabetical order."""
  return _REGISTRY.names()


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
    return _REGISTRY.own(name, num_classes)
  from models.detection.detector import Detector

  module = family(name)
  variant = module.VARIANTS[name]
  spec = variant.spec.with_classes(num_classes)
  return Detector(name, spec, module.Network, variant, dtype)


def family(name: str) -> ModuleType:
  """The file that holds a detector.

  Raises:
    ValueError: an unknown name.
  """
  return _REGISTRY.family(name)
