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

from robust_tfds import errors
from robust_tfds.models.checks import arguments
from robust_tfds.models.model import Model
from robust_tfds.models.spec import Kind, ModelSpec

Apply = Callable[[Any, jax.Array], jax.Array]


@dataclasses.dataclass(frozen=True)
class Enhancement:
  """What a file of this folder says of itself.

  Attributes:
    enhance: (`apply` of a model, its spec) -> `apply` on enhanced uint8 inputs.
    kinds: of the models that it suits. Detectors have none: the padding of
      their canvases would be taken for a part of the picture.
    unsuited: why it does not suit the others, as a clause for the refusal.
  """

  enhance: Callable[[Apply, ModelSpec], Apply]
  kinds: tuple[Kind, ...]
  unsuited: str


@dataclasses.dataclass(frozen=True, eq=False)
class Enhanced(Model):
  """A model behind enhancements.

  Attributes:
    name: the inner model's and the enhancements, joined by `+`.
    spec: the inner model's, with the enhancements in `source`: it is what
      results are fingerprinted by.
    model: the model inside.
    enhancements: names, in the order in which a picture meets them.
  """

  model: Model
  enhancements: tuple[str, ...]

  @property
  def is_external(self) -> bool:
    """As the inner model."""
    return self.model.is_external

  @property
  def route(self) -> str:
    """The inner model's."""
    return self.model.route

  @property
  def code(self) -> Any:
    """The inner model's; enhancements are in `source` of the spec."""
    return self.model.code

  @property
  def program(self) -> str:
    """The inner model's."""
    return self.model.program

  def with_fields(self, fields: Mapping[str, Any]) -> Self:
    """As the inner model's: it is what preprocesses."""
    model = self.model.with_fields(fields)
    source = self.spec.source if "source" not in fields else fields["source"]
    spec = dataclasses.replace(model.spec, source=source)
    return dataclasses.replace(self, model=model, spec=spec)

  def init(self, key: jax.Array) -> Any:
    """The inner model's variables."""
    return self.model.init(key)

  def preprocess(self, batch: jax.typing.ArrayLike) -> jax.Array:
    """The inner model's; enhancements act before it, inside `apply`."""
    return self.model.preprocess(batch)

  def apply(
    self,
    variables: Any,
    batch: jax.typing.ArrayLike,
    *,
    capture: Sequence[str] | None = None,
  ) -> jax.Array:
    """Logits of uint8 RGB `[B, (T,) H, W, 3]` in 0..255; float32 `[B, classes]`.

    Raises:
      UserError: the batch is not uint8: pixels cannot be enhanced after they
        were normalised; or layers are asked for, which it names none of.
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
  """All enhancements."""
  return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__)))


def get(name: str) -> Enhancement:
  """An enhancement by name.

  Raises:
    UserError: an unknown name, with the nearest one.
  """
  if name not in names():
    raise errors.unknown("enhancement", name, names())
  enhancement: Enhancement = importlib.import_module(
    f"{__name__}.{name}"
  ).ENHANCEMENT
  return enhancement


def wrap(model: Model, *enhancements: str) -> Model:
  """A model whose pictures meet the enhancements in this order.

  Args:
    model: from `models.get`, an adapter, or `wrap`.
    *enhancements: of `names()`; none returns the model itself.

  Raises:
    UserError: an unknown enhancement, or one that does not suit this kind of
      model.
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
