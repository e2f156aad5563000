"""Bring your own model: one file per kind, each importing its package lazily.

  from robust_tfds.models import adapters
  model = adapters.get("onnx")("net.onnx", spec, name="mine")

An adapter returns a `Model`, which the evaluator takes as it takes a model of
the catalogue: an `Adapted`, which JAX traces into the run's sharded programs, or
an `OnHost`, a Python function that is called beside them. A plain file of this
folder is a kind; folders in it hold what kinds need.
"""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import importlib
import os
import pkgutil
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import Self

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import errors
from robust_tfds import paths
from robust_tfds.models import answers
from robust_tfds.models import arguments
from robust_tfds.models.model import Model
from robust_tfds.models.spec import ModelSpec

_PREPROCESSING = ("channel_order", "scale", "mean", "std")
Forward = Callable[[Any, jax.Array], Any]


@dataclasses.dataclass(frozen=True, eq=False)
class FromElsewhere(Model):
  """What all adapters' models have in common.

  Attributes:
    name: what reports call it.
    spec: preprocessing and labels.
    function: what is called, see the subclasses.
    variables: its weights, a pytree of arrays; None if it closes over them.
    rows: of the batches that it was exported for; None: any number. Other
      batches are split, and the last part is padded.
    channels_first: whether it takes `[B, 3, H, W]` (clips `[B, 3, T, H, W]`).
    output: which of several outputs are the logits: a key, or a place; None
      where there is one.
    code: see `Model.code`; the function by default.
    route: see `Model.route`.
    program: see `Model.program`.
  """

  function: Callable[..., Any]
  variables: Any = None
  rows: int | None = None
  channels_first: bool = False
  output: str | int | None = None
  code: Any = None
  route: str = ""
  program: str = ""

  def __post_init__(self) -> None:
    """Refuses a function, spec or name that is none."""
    if not builtins.callable(self.function):
      raise errors.UserError(
        f"{self.name}: got a {type(self.function).__name__}, expected a"
        " function."
      )
    if not isinstance(self.spec, ModelSpec):
      raise errors.UserError(
        f"Got a spec of type {type(self.spec).__name__}, expected a"
        " models.spec.Spec, models.video.spec.VideoSpec or"
        " models.detection.detector.DetectorSpec."
      )
    if not isinstance(self.name, str) or not self.name:
      raise errors.UserError(
        f"Got {self.name!r} as the name of a model, expected text."
      )
    if self.code is None:
      object.__setattr__(self, "code", self.function)

  @property
  def batch_rows(self) -> int | None:
    """`rows`."""
    return self.rows

  def init(self, key: jax.Array) -> Any:
    """The weights that it came with; `key` is not needed."""
    del key
    return self.variables


class Adapted(FromElsewhere):
  """A model that JAX traces: `function(variables, pixels)`.

  Pixels are float32 `[B, H, W, 3]`, preprocessed by the spec; detectors get
  `(variables, images, sizes)`, see `apply`.
  """

  def apply(
    self, variables: Any, batch: jax.typing.ArrayLike, *sizes: Any
  ) -> Any:
    """Logits of a batch; of detectors, detections.

    Args:
      variables: usually `.variables`.
      batch: `[B, H, W, 3]`, of clips `[B, T, H, W, 3]`; uint8 RGB in 0..255,
        which is preprocessed first, or float pixels that already are. Of
        detectors uint8 canvases.
      *sizes: of detectors int32 `[B, 2]`, the valid (height, width) of each
        canvas.

    Returns:
      float32 `[B, num_classes]`; of detectors `boxes`, `scores`, `classes`,
      `valid` and perhaps `masks`, see `models.detection.detector.Detector.apply`.

    Raises:
      UserError: a batch that the spec does not fit, or an answer of another
        shape or dtype.
    """
    if self.kind == "detection":
      images = arguments.batch(self.name, batch)
      answer = self.function(variables, images, jnp.asarray(*sizes))
      return answers.detections(self.name, answer, len(images))
    pixels = self.pixels(batch)
    answer = self._in_rows(variables, pixels)
    return answers.logits(
      self.name, answer, pixels.shape[0], self.spec.num_classes
    )

  def _in_rows(self, variables: Any, pixels: jax.Array) -> Any:
    """The answer to batches of `rows` each, put together."""
    if self.channels_first:
      pixels = jnp.moveaxis(pixels, -1, 1)
    count = len(pixels)
    if self.rows is None or self.rows == count:
      return self._answer(variables, pixels)
    parts = -(-count // self.rows)
    # Repeated pictures, as blank ones might be what a model cannot scale.
    padding = [(0, parts * self.rows - count), *[(0, 0)] * (pixels.ndim - 1)]
    padded = jnp.pad(pixels, padding, mode="wrap")
    split = padded.reshape(parts, self.rows, *pixels.shape[1:])
    whole = jax.lax.map(lambda part: self._answer(variables, part), split)
    return whole.reshape(-1, *whole.shape[2:])[:count]

  def _answer(self, variables: Any, pixels: jax.Array) -> Any:
    answer = self.function(variables, pixels)
    return answers.output_of(self.name, answer, self.output)


@dataclasses.dataclass(frozen=True, eq=False)
class OnHost(FromElsewhere):
  """A model that is a Python function of numpy arrays: `function(batch)`.

  The batch is uint8 `[B, H, W, 3]` (clips `[B, T, H, W, 3]`). Detectors get one
  uint8 picture `[h, w, 3]` of its own size and answer with `boxes`, `scores`,
  `classes`.

  Attributes:
    preprocessed: whether it takes float32 pixels, preprocessed by the spec.
  """

  preprocessed: bool = False

  @property
  def on_host(self) -> bool:
    """It is."""
    return True

  def with_fields(self, fields: Mapping[str, Any]) -> Self:
    """As of any model, but refuses what the function would not see.

    Raises:
      UserError: a field of the preprocessing, which the function does itself.
    """
    unseen = [name for name in _PREPROCESSING if name in fields]
    if unseen and not self.preprocessed:
      raise errors.UserError(
        f"{self.name} takes uint8 pixels and preprocesses them itself: spec."
        f"{unseen[0]} would change nothing. Change your function, or make it one"
        " of preprocessed pixels (preprocessed=True)."
      )
    return super().with_fields(fields)

  def apply(self, variables: Any, batch: Any, *sizes: Any) -> Any:
    """As `Adapted.apply`, in numpy."""
    del variables
    images = np.asarray(arguments.numpy_batch(self.name, batch))
    self.spec.check_shape(self.name, images.shape)
    pixels = (
      self.spec.normalize_on_host(images) if self.preprocessed else images
    )
    if self.channels_first:
      pixels = np.ascontiguousarray(np.moveaxis(pixels, -1, 1))
    return answers.numpy_logits(
      self.name, self._in_rows(pixels), len(images), self.spec.num_classes
    )

  def _in_rows(self, pixels: np.ndarray) -> Any:
    count = len(pixels)
    if self.rows is None or self.rows == count:
      return self._answer(pixels)
    places = np.arange(-(-count // self.rows) * self.rows) % count
    parts = [
      np.asarray(self._answer(pixels[part]))
      for part in places.reshape(-1, self.rows)
    ]
    return np.concatenate(parts)[:count]

  def _answer(self, pixels: np.ndarray) -> Any:
    answer = self.function(pixels)
    return answers.output_of(self.name, answer, self.output)


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
  kinds = (m.name for m in pkgutil.iter_modules(__path__) if not m.ispkg)
  return tuple(sorted(kinds))


def get(kind: str) -> Callable[..., Model]:
  """The `adapt` function of a kind: (thing, spec, *, name, ...) -> model.

  Raises:
    UserError: an unknown kind.
  """
  if kind not in names():
    raise errors.unknown("kind of adapter", kind, names())
  adapt: Callable[..., Model] = importlib.import_module(
    f"{__name__}.{kind}"
  ).adapt
  return adapt
