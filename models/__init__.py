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
    name: one of `names()`.
    num_classes: number of logits, for checkpoints with another head; the
      published number if None.
    dtype: `float32`, or `bfloat16` for bfloat16 compute with float32 logits.

  Raises:
    ValueError: an unknown name (with the nearest ones), dtype or class count.
  """
  from models.model import Model

  module = family(name)
  variant = module.VARIANTS[name]
  spec = variant.spec.with_classes(num_classes)
  return Model(name, spec, module.Network, variant, dtype)


def family(name: str) -> ModuleType:
  """The family file that holds a model.

  Raises:
    ValueError: an unknown name.
  """
  known = _catalogue()
  if name not in known:
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise ValueError(
      f"Unknown model {name!r}.{hint} Known: {', '.join(sorted(known))}."
    )
  return importlib.import_module(known[name])


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
