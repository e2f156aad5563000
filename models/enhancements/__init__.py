"""Robustness enhancements of the ImageNet-C paper, around any model.

  model = enhancements.wrap(models.get("resnet50"), "clahe")

The result is a model as the evaluator takes it, with the same variables.
Enhancements compose: `wrap(model, "denoise", "ten_crop")` denoises first. One
file per enhancement, with `enhance(apply) -> apply` on uint8 pictures
(Hendrycks & Dietterich 2019, section 5.3).
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from models.spec import Spec

Apply = Callable[[Any, jax.Array], jax.Array]


@dataclasses.dataclass(frozen=True, eq=False)
class Enhanced:
  """A model behind enhancements.

  Attributes:
    model: the model inside.
    enhancements: names, in the order in which a picture meets them.
  """

  model: Any
  enhancements: tuple[str, ...]

  @property
  def name(self) -> str:
    """The model's name and its enhancements, joined by `+`."""
    return "+".join((self.model.name, *self.enhancements))

  @property
  def spec(self) -> Spec:
    """The inner model's, with the enhancements in `source`: it is what results
    are fingerprinted by."""
    spec = self.model.spec
    source = " + ".join((spec.source, *self.enhancements))
    return dataclasses.replace(spec, source=source)

  def init(self, key: jax.Array) -> Any:
    """The inner model's variables."""
    return self.model.init(key)

  def preprocess(self, batch: jax.Array) -> jax.Array:
    """The inner model's; enhancements act before it, inside `apply`."""
    return self.model.preprocess(batch)

  def apply(self, variables: Any, batch: jax.Array) -> jax.Array:
    """Logits of uint8 RGB `[B, H, W, 3]` in 0..255; float32 `[B, classes]`.

    Raises:
      ValueError: the batch is not uint8: pixels cannot be enhanced after they
        were normalised.
    """
    batch = jnp.asarray(batch)
    if batch.dtype != jnp.uint8:
      raise ValueError(
        f"{self.name} got {batch.dtype} pixels, expected uint8 RGB: it enhances"
        " pictures before they are preprocessed."
      )
    apply = self.model.apply
    for name in reversed(self.enhancements):
      apply = _module(name).enhance(apply, self.model.spec)
    return apply(variables, batch)


def names() -> tuple[str, ...]:
  """All enhancements."""
  return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__)))


def wrap(model: Any, *enhancements: str) -> Any:
  """A model whose pictures meet the enhancements in this order.

  Args:
    model: from `models.get`, an adapter, or `wrap`.
    *enhancements: of `names()`; none returns the model itself.

  Raises:
    ValueError: an unknown enhancement.
  """
  for name in enhancements:
    if name not in names():
      near = difflib.get_close_matches(name, names(), n=1)
      hint = f" Did you mean {near[0]!r}?" if near else ""
      raise ValueError(
        f"Unknown enhancement {name!r}.{hint} Known: {', '.join(names())}."
      )
  return Enhanced(model, tuple(enhancements)) if enhancements else model


def _module(name: str) -> Any:
  return importlib.import_module(f"{__name__}.{name}")
