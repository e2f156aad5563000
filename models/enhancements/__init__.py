"""Robustness enhancements of the ImageNet-C paper, around any model they suit.

  model = enhancements.wrap(models.get("resnet50"), "clahe")

The result is a model as the evaluator takes it, with the same variables.
Enhancements compose: `wrap(model, "denoise", "ten_crop")` denoises first. One
file per enhancement, which ends in `ENHANCEMENT = Enhancement(...)` (Hendrycks &
Dietterich 2019, section 5.3).
"""

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import jax
import jax.numpy as jnp

from models.checks import arguments
from models.model import Model
from models.spec import Kind, ModelSpec
from robust_tfds import errors

Apply = Callable[[Any, jax.Array], jax.Array]


@dataclasses.dataclass(frozen=True)
class Enhancement:
  """The declaration that each file of this folder ends with.

  Attributes:
    enhance: maps a model's `apply` and spec to an `apply` on enhanced uint8
      inputs.
    kinds: the kinds of models that it suits. Detectors have no enhancement: the
      padding of their canvases would be taken for a part of the picture.
    unsuited: why it does not suit other kinds, as a clause for the refusal.
  """

  enhance: Callable[[Apply, ModelSpec], Apply]
  kinds: tuple[Kind, ...]
  unsuited: str


@dataclasses.dataclass(frozen=True, eq=False)
class Enhanced(Model):
  """A model behind enhancements.

  Attributes:
    name: the names of the inner model and the enhancements, joined by `+`.
    spec: the inner model's spec, with the enhancements in `source`, which
      results are fingerprinted by.
    model: the inner model.
    enhancements: names, in the order in which they are applied to a picture.
  """

  model: Model
  enhancements: tuple[str, ...]

  @property
  def is_external(self) -> bool:
    """Whether the inner model is external."""
    return self.model.is_external

  @property
  def route(self) -> str:
    """The inner model's route."""
    return self.model.route

  @property
  def code(self) -> Any:
    """The inner model's code; the enhancements are in `source` of the spec."""
    return self.model.code

  @property
  def program(self) -> str:
    """The inner model's program."""
    return self.model.program

  def with_fields(self, fields: Mapping[str, Any]) -> Self:
    """Return a copy with these spec fields, set on the inner model, which
    preprocesses.
    """
    model = self.model.with_fields(fields)
    source = self.spec.source if "source" not in fields else fields["source"]
    spec = dataclasses.replace(model.spec, source=source)
    return dataclasses.replace(self, model=model, spec=spec)

  def init(self, key: jax.Array) -> Any:
    """Return the inner model's initial variables."""
    return self.model.init(key)

  def preprocess(self, batch: jax.typing.ArrayLike) -> jax.Array:
    """Preprocess a batch like the inner model.

    Enhancements run before, inside `apply`.
    """
    return self.model.preprocess(batch)

  def apply(
    self,
    variables: Any,
    batch: jax.typing.ArrayLike,
    *,
    capture: Sequence[str] | None = None,
  ) -> jax.Array:
    """Compute float32 logits `[B, classes]` of uint8 RGB `[B, (T,) H, W, 3]` in 0..255.

    Raises:
      UserError: the batch is not uint8, because normalised pixels cannot be
        enhanced; or layers are to be captured, which it does not support.
    """
    self.check_capture(capture)
    pixels = arguments.batch(self.name, batch)
    if pixels.dtype != jnp.uint8:
      raise errors.UserError(
        f"{self.name} got {pixels.dtype} pixels, expected uint8 RGB: it enhances"
        " pictures before they are preprocessed."
      )
    apply: Apply = self.model.apply
    for name in reversed(self.enhancements):
      apply = get(name).enhance(apply, self.model.spec)
    return apply(variables, pixels)


def names() -> tuple[str, ...]:
  """Return the names of all enhancements."""
  return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__)))


def get(name: str) -> Enhancement:
  """Return the enhancement with this name.

  Raises:
    UserError: the name is unknown; the message suggests the nearest one.
  """
  if name not in names():
    raise errors.unknown_error("enhancement", name, names())
  enhancement: Enhancement = importlib.import_module(
    f"{__name__}.{name}"
  ).ENHANCEMENT
  return enhancement


def wrap(model: Model, *enhancements: str) -> Model:
  """Return a model that applies the enhancements to its pictures in this order.

  Args:
    model: from `models.get`, an adapter, or `wrap`.
    *enhancements: names from `names()`; without any, the model itself is
      returned.

  Raises:
    UserError: an enhancement is unknown, or does not suit this kind of model.
  """
  for name in enhancements:
    enhancement = get(name)
    if model.kind not in enhancement.kinds:
      raise errors.UserError(
        f"{model.name}+{name}: {name} is for models of kind"
        f" {' and '.join(enhancement.kinds)}, got {model.kind};"
        f" {enhancement.unsuited}."
      )
  if not enhancements:
    return model
  if model.on_host:
    raise errors.UserError(
      f"{model.name} runs on the host, where no enhancement runs: apply"
      f" {'+'.join(enhancements)} inside your function."
    )
  source = " + ".join((model.spec.source, *enhancements))
  spec = dataclasses.replace(model.spec, source=source)
  name = "+".join((model.name, *enhancements))
  return Enhanced(name, spec, model, tuple(enhancements))
