"""Action-recognition networks in JAX; the folder is the registry, as of `models`.

A file with `VARIANTS` is a family: name -> `models.spec.Variant` of a
`VideoSpec` and the options of the file's `Network`, with `CHECKPOINTS` and
`IGNORED` as in `models`.

  >>> import jax
  >>> from models import video
  >>> model = video.get("tiny_r3d")
  >>> variables = model.init(jax.random.key(0))
  >>> clips = jax.numpy.zeros((2, 8, 32, 32, 3), "uint8")
  >>> model.apply(variables, clips).shape
  (2, 10)
"""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil
from types import ModuleType
from typing import TYPE_CHECKING
from typing import Any

from models.video import convert as convert

if TYPE_CHECKING:
  from models.video.model import VideoModel


def names() -> tuple[str, ...]:
  """All networks, in alphabetical order."""
  return tuple(sorted(_catalogue()))


def get(
  name: str, num_classes: int | None = None, *, dtype: str = "float32"
) -> VideoModel:
  """A network by name.

  Args:
    name: one of `names()`, or `module:function` of your own code, where
      `function()` returns an object with `.name`, `.spec`, `.init(key)` and
      `.apply(variables, clips)`, see `models.video.model.VideoModel`.
    num_classes: number of logits; the published number if None.
    dtype: `float32`, or `bfloat16` for bfloat16 compute with float32 logits.

  Raises:
    ValueError: an unknown name (with the nearest ones), dtype or class count.
  """
  if ":" in name:
    return _own(name, num_classes)
  from models.video.model import VideoModel

  module = family(name)
  variant = module.VARIANTS[name]
  spec = variant.spec.with_classes(num_classes)
  return VideoModel(name, spec, module.Network, variant, dtype)


def family(name: str) -> ModuleType:
  """The file that holds a network.

  Raises:
    ValueError: an unknown name.
  """
  known = _catalogue()
  if name not in known:
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise ValueError(
      f"Unknown video model {name!r}.{hint} Known:"
      f" {', '.join(sorted(known))}; or module:function for one of your own."
    )
  return importlib.import_module(known[name])


def _own(name: str, num_classes: int | None) -> Any:
  where, _, function = name.partition(":")
  try:
    build = getattr(importlib.import_module(where), function)
  except (ImportError, AttributeError) as error:
    raise ValueError(
      f"No video model at {name!r}: {error}. Expected module:function, with"
      " the module on Python's path."
    ) from error
  model = build()
  missing = [
    p for p in ("name", "spec", "init", "apply") if not hasattr(model, p)
  ]
  if missing:
    raise ValueError(
      f"{name} returned a {type(model).__name__} without {', '.join(missing)}."
    )
  if num_classes not in (None, model.spec.num_classes):
    raise ValueError(
      f"{name} has {model.spec.num_classes} classes, got"
      f" num_classes={num_classes}: set it in your spec."
    )
  return model


@functools.cache
def _catalogue() -> dict[str, str]:
  """Network -> module of its family."""
  found: dict[str, str] = {}
  for entry in pkgutil.iter_modules(__path__, f"{__name__}."):
    module = importlib.import_module(entry.name)
    for name in getattr(module, "VARIANTS", {}):
      if name in found:
        raise ValueError(f"{name!r} is in {found[name]} and in {entry.name}.")
      found[name] = entry.name
  return found
