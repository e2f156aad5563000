"""Bring your own model: one file per kind, each importing its package lazily.

  from robust_tfds.models import adapters
  model = adapters.get("onnx")("net.onnx", spec)

An adapter returns an `Adapted`, which the evaluator takes as it takes a model
of the registry. Kinds: `callable`, `flax_module`, `savedmodel`, `tfm` (models
of TensorFlow in memory), `keras`, `onnx`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
import pkgutil
from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

from robust_tfds import errors
from robust_tfds import paths
from robust_tfds.models import answers
from robust_tfds.models import arguments
from robust_tfds.models.model import Model
from robust_tfds.models.spec import ModelSpec

Forward = Callable[[Any, jax.Array], jax.typing.ArrayLike]


@dataclasses.dataclass(frozen=True, eq=False)
class Adapted(Model):
  """A model from elsewhere, behind the contract of `models`.

  Attributes:
    name: what reports call it.
    spec: preprocessing and labels.
    forward: (variables, float32 `[B, H, W, 3]` preprocessed) -> `[B, classes]`;
      must be traceable by jax.
    variables: its weights, a pytree of arrays; None if it closes over them.
    rows: of the batches that it was exported for; None: any number.
  """

  forward: Forward
  variables: Any = None
  rows: int | None = None

  def __post_init__(self) -> None:
    """Refuses a spec or a name that is none."""
    if not isinstance(self.spec, ModelSpec):
      raise errors.UserError(
        f"Got a spec of type {type(self.spec).__name__}, expected a"
        " models.spec.Spec or models.video.spec.VideoSpec."
      )
    if not isinstance(self.name, str) or not self.name:
      raise errors.UserError(
        f"Got {self.name!r} as the name of a model, expected text."
      )

  @property
  def batch_rows(self) -> int | None:
    """`rows`."""
    return self.rows

  def init(self, key: jax.Array) -> Any:
    """The weights that it came with; `key` is not needed."""
    del key
    return self.variables

  def apply(self, variables: Any, batch: jax.typing.ArrayLike) -> jax.Array:
    """Logits of a batch.

    Args:
      variables: usually `.variables`.
      batch: `[B, H, W, 3]`; uint8 RGB in 0..255, which is preprocessed first,
        or float pixels that already are.

    Returns:
      float32 `[B, num_classes]`.

    Raises:
      UserError: the forward answers with another shape or dtype.
    """
    pixels = arguments.batch(self.name, batch)
    if pixels.dtype == jnp.uint8:
      pixels = self.preprocess(pixels)
    answer = self.forward(variables, pixels)
    return answers.logits(
      self.name, answer, pixels.shape[0], self.spec.num_classes
    )


@contextlib.contextmanager
def reading_model(path: str | os.PathLike, what: str) -> Iterator[str]:
  """Turns what a package says of a file that it cannot read into words.

  Gives where it lies on this machine: a model in a bucket is copied.

  Args:
    path: of a model that somebody else wrote.
    what: it should be, e.g. `an ONNX model`.

  Raises:
    UserError: begins with the path.
  """
  if not isinstance(path, (str, os.PathLike)):
    raise errors.UserError(
      f"Got a {type(path).__name__}, expected the path of {what}."
    )
  if not paths.of(path).exists():
    raise errors.UserError(f"{path}: there is nothing, expected {what}.")
  with in_words(path, what), paths.local_copy(path) as place:
    yield place


@contextlib.contextmanager
def in_words(path: str | os.PathLike, what: str) -> Iterator[None]:
  """As `reading_model`, of what is done with a model that was read."""
  try:
    yield
  except errors.UserError:
    raise
  except Exception as error:
    raise errors.UserError(
      f"{path}: cannot be read as {what}: {errors.of_user(error)} The file is"
      " damaged, or of another format or version."
    ) from error


def names() -> tuple[str, ...]:
  """The kinds of models that can be brought."""
  return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__)))


def get(kind: str) -> Callable[..., Adapted]:
  """The `adapt` function of a kind.

  Raises:
    UserError: an unknown kind.
  """
  if kind not in names():
    raise errors.unknown("kind of adapter", kind, names())
  adapt: Callable[..., Adapted] = importlib.import_module(
    f"{__name__}.{kind}"
  ).adapt
  return adapt
