"""A folder of model families as a registry: one file more, its models more."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib
import pkgutil
from types import ModuleType
from typing import Any


@dataclasses.dataclass(frozen=True)
class Registry:
  """The families of one package: files with `VARIANTS`, name -> variant.

  Attributes:
    package: its dotted name.
    kind: what errors call a member, e.g. `video model`.
    parts: what the evaluator asks of a member, whoever made it.
  """

  package: str
  kind: str
  parts: tuple[str, ...]

  def names(self) -> tuple[str, ...]:
    """All models, in alphabetical order."""
    return tuple(sorted(_catalogue(self.package)))

  def family(self, name: str) -> ModuleType:
    """The file that holds a model.

    Raises:
      ValueError: an unknown name, with the nearest ones.
    """
    known = _catalogue(self.package)
    if name not in known:
      near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
      hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
      raise ValueError(
        f"Unknown {self.kind} {name!r}.{hint} Known:"
        f" {', '.join(sorted(known))}; or module:function for one of your own."
      )
    return importlib.import_module(known[name])

  def own(self, name: str, num_classes: int | None = None) -> Any:
    """The model that the user's `module:function` returns.

    Raises:
      ValueError: no such function, or what it returns is not a model of
        `num_classes`.
    """
    where, _, function = name.partition(":")
    try:
      build = getattr(importlib.import_module(where), function)
    except (ImportError, AttributeError) as error:
      raise ValueError(
        f"No {self.kind} at {name!r}: {error}. Expected module:function, with"
        " the module on Python's path."
      ) from error
    model = build()
    missing = [part for part in self.parts if not hasattr(model, part)]
    if missing:
      raise ValueError(
        f"{name} returned a {type(model).__name__} without"
        f" {', '.join(missing)}: a {self.kind} has {', '.join(self.parts)}."
      )
    if num_classes not in (None, model.spec.num_classes):
      raise ValueError(
        f"{name} has {model.spec.num_classes} classes, got"
        f" num_classes={num_classes}: set it in your spec."
      )
    return model


@functools.cache
def _catalogue(package: str) -> dict[str, str]:
  """Model -> module of its family."""
  found: dict[str, str] = {}
  path = importlib.import_module(package).__path__
  for entry in pkgutil.iter_modules(path, f"{package}."):
    if entry.ispkg:
      continue
    module = importlib.import_module(entry.name)
    for name in getattr(module, "VARIANTS", {}):
      if name in found:
        raise ValueError(f"{name!r} is in {found[name]} and in {entry.name}.")
      found[name] = entry.name
  return found
