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

from types import ModuleType
from typing import TYPE_CHECKING

from models import convert as convert
from models.registry import Registry

if TYPE_CHECKING:
  from models.model import Model

_REGISTRY = Registry(
  __name__, "model", ("name", "spec", "init", "preprocess", "apply")
)


def names() -> tuple[str, ...]:
  """All models, in alphabetical order."""
  return _REGISTRY.names()


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
    model = _REGISTRY.own(base, num_classes)
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
  return _REGISTRY.family(name.split("+")[0])
