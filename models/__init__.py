"""Classification models in JAX that run published checkpoints unchanged.

The folder is the registry: a file with `VARIANTS` is a family, and adding one
file adds its models. A family file holds

  VARIANTS     name -> `models.spec.Variant` (its `Spec`, options of `Network`)
  Network      the `nnx.Module`; attribute names follow the public checkpoints'
  CHECKPOINTS  style -> rules that bring a checkpoint's names to `Network`'s
  IGNORED      optional: patterns of arrays that evaluation does not need
  BACKGROUND   optional: checkpoints may have a background class first
  ORACLES      optional: name -> reference in torch, for parity reports

What the evaluator asks of a model, whether from here, an adapter or an
enhancement: `.name`, `.spec`, `.init(key)`, `.preprocess(batch)` and
`.apply(variables, batch)` (see `models.model.Model`).

  >>> import jax, models
  >>> model = models.get("digits_cnn")
  >>> variables = model.init(jax.random.key(0))
  >>> model.apply(variables, jax.numpy.zeros((2, 32, 32, 3))).shape
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

from models import convert as convert

if TYPE_CHECKING:
  from models.model import Model


def names() -> tuple[str, ...]:
  """All models, in alphabetical order."""
  return tuple(sorted(_catalogue()))


def get(
  name: str, num_classes: int | None = None, *, dtype: str = "float32"
) -> Model:
  """A model by name.

  Args:
    name: one of `names()`, or `module:function` of your own code, where
      `function()` returns a model (see `models.adapters`); either may be
      followed by enhancements, as in `resnet50+clahe+ten_crop` (see
      `models.enhancements`).
    num_classes: number of logits, for checkpoints with another head; the
      published number if None.
    dtype: `float32`, or `bfloat16` for bfloat16 compute with float32 logits.

  Raises:
    ValueError: an unknown name (with the nearest ones), dtype or class count.
  """
  from models import enhancements
  from models.model import Model

  base, *wanted = name.split("+")
  if ":" in base:
    model = _own(base, num_classes)
  else:
    module = family(base)
    variant = module.VARIANTS[base]
    spec = variant.spec.with_classes(num_classes)
    model = Model(base, spec, module.Network, variant, dtype)
  return enhancements.wrap(model, *wanted)


def family(name: str) -> ModuleType:
  """The family file that holds a model (enhancements in `name` are ignored).

  Raises:
    ValueError: an unknown name.
  """
  known, base = _catalogue(), name.split("+")[0]
  if base not in known:
    near = difflib.get_close_matches(base, known, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise ValueError(
      f"Unknown model {base!r}.{hint} Known: {', '.join(sorted(known))}; or"
      " module:function for a model of your own."
    )
  return importlib.import_module(known[base])


def _own(name: str, num_classes: int | None) -> Any:
  """The model that `module:function` returns."""
  where, _, function = name.partition(":")
  try:
    build = getattr(importlib.import_module(where), function)
  except (ImportError, AttributeError) as error:
    raise ValueError(
      f"No model at {name!r}: {error}. Expected module:function, with the"
      " module on Python's path."
    ) from error
  model = build()
  wanted = ("name", "spec", "init", "preprocess", "apply")
  missing = [part for part in wanted if not hasattr(model, part)]
  if missing:
    raise ValueError(
      f"{name} returned a {type(model).__name__} without"
      f" {', '.join(missing)}: return what models.adapters makes."
    )
  if num_classes not in (None, model.spec.num_classes):
    raise ValueError(
      f"{name} has {model.spec.num_classes} classes, got"
      f" num_classes={num_classes}: set it in your spec."
    )
  return model


@functools.cache
def _catalogue() -> dict[str, str]:
  """Model name -> module of its family."""
  found: dict[str, str] = {}
  for entry in pkgutil.iter_modules(__path__, f"{__name__}."):
    if entry.ispkg:
      continue
    module = importlib.import_module(entry.name)
    for name in getattr(module, "VARIANTS", {}):
      if name in found:
        raise ValueError(f"{name!r} is in {found[name]} and in {entry.name}.")
      found[name] = entry.name
  return found
