"""Bring your own model: one file per kind, each importing its package lazily.

  from robust_tfds import models
  model = models.adapters.get("onnx")("net.onnx", spec, name="mine")

An adapter returns a `Model`, which the evaluator takes as it takes a model of
the catalogue: an `Adapted`, which JAX traces into the run's sharded programs, or
an `OnHost`, a Python function that is called beside them. A plain file of this
folder is a kind; folders in it hold what kinds need.
"""

import builtins
import contextlib
import dataclasses
import functools
import importlib
import os
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from models.checks import answers, arguments
from models.detection import by_picture
from models.detection.spec import DetectorSpec
from models.model import Model
from models.segmentation import by_picture as segmented
from models.segmentation.spec import SegmenterSpec
from models.spec import ModelSpec
from robust_tfds import errors
from robust_tfds.storage import paths

# JAX's errors for a function that depends on the numbers.
_NOT_TRACEABLE = (
  jax.errors.ConcretizationTypeError,
  jax.errors.NonConcreteBooleanIndexError,
  jax.errors.TracerArrayConversionError,
  jax.errors.TracerIntegerConversionError,
)
_ROWS = 2  # in the batch that shows the number of classes
_PREPROCESSING = ("channel_order", "scale", "mean", "std")


@dataclasses.dataclass(frozen=True, eq=False)
class ExternalModel(Model):
  """A model from outside the catalogue; the base of all adapters' models.

  Attributes:
    name: name in reports.
    spec: preprocessing and labels.
    function: the function to call; see the subclasses.
    variables: its weights, a pytree of arrays; None if it closes over them.
    rows: size of the batches that it was exported for; None: any size. Other
      batches are split, and the last part is padded.
    channels_first: whether it takes `[B, 3, H, W]` (clips `[B, 3, T, H, W]`).
    output: key or index of the output that holds the logits; None if there is
      only one.
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
    """Refuse a function, spec or name of the wrong type."""
    # `callable` is a file of this folder.
    if not builtins.callable(self.function):
      raise errors.UserError(
        f"{self.name}: got a {type(self.function).__name__}, expected a"
        " function."
      )
    if not isinstance(self.spec, ModelSpec):
      raise errors.UserError(
        f"Got a spec of type {type(self.spec).__name__}, expected a"
        " models.spec.Spec, models.video.spec.VideoSpec,"
        " models.segmentation.spec.SegmenterSpec or"
        " models.detection.detector.DetectorSpec."
      )
    if not isinstance(self.name, str) or not self.name:
      raise errors.UserError(
        f"Got {self.name!r} as the name of a model, expected text."
      )
    if self.code is None:
      object.__setattr__(self, "code", self.function)

  def init(self, key: jax.Array) -> Any:
    """Return the weights that it came with; `key` is not needed."""
    del key
    return self.variables

  def _chosen(self, answer: Any) -> Any:
    """Return the named output, or the whole answer if none is named."""
    if self.output is None:
      return answer
    return answers.output_of(self.name, answer, self.output)

  def _alternatives(self) -> tuple[dict[str, Any], ...]:
    """Return other ways to call it, the likeliest first."""
    return ({"channels_first": not self.channels_first},)

  def _advised(self, call: Callable[[Self], Any]) -> Any:
    """Return the result of a call, or say how the call would succeed.

    Raises:
      UserError: the call fails, or its answer is refused, but another way to
        call it works; the message says which.
      Exception: whatever else it raised.
    """
    try:
      return call(self)
    except OSError:  # a service cannot be reached
      raise
    except Exception as error:
      for change in self._alternatives():
        if _succeeds(call, dataclasses.replace(self, **change)):
          options = ", ".join(f"{key}={value}" for key, value in change.items())
          kind = "on_host" if self.on_host else "callable"
          reason = f"{self.name}: {errors.user_fault(error)}."
          if isinstance(error, errors.UserError):
            reason = str(error)
          raise errors.UserError(
            f"{reason} It answers correctly with {options}: pass that to its"
            f" adapter, for a function adapters.get({kind!r})(function, spec,"
            f" {options})."
          ) from error
      raise


class Adapted(ExternalModel):
  """A model that JAX traces: `function(variables, pixels)`.

  Pixels are float32 `[B, H, W, 3]`, preprocessed by the spec; detectors get
  `(variables, images, sizes)`, see `apply`.
  """

  def apply(
    self,
    variables: Any,
    batch: jax.typing.ArrayLike,
    sizes: Any = None,
    *,
    capture: Sequence[str] | None = None,
  ) -> Any:
    """Compute the logits of a batch, or a detector's detections.

    Args:
      variables: usually `.variables`.
      batch: `[B, H, W, 3]`, or clips `[B, T, H, W, 3]`; uint8 RGB in 0..255,
        which is preprocessed first, or preprocessed float pixels. Detectors
        take uint8 canvases.
      sizes: the valid (height, width) of each canvas, int32 `[B, 2]`; for
        detectors and segmenters alone; None: the whole canvas.
      capture: refused, since the model names no layers.

    Returns:
      float32 `[B, num_classes]`; for detectors `boxes`, `scores`, `classes`,
      `valid` and perhaps `masks`, see `models.detection.detector.Detector.apply`;
      for segmenters int32 `[B, H, W]`.

    Raises:
      UserError: the batch does not fit the spec, JAX cannot trace the function,
        or its answer has another shape or dtype.
    """
    self.check_capture(capture)
    if isinstance(self.spec, SegmenterSpec):
      canvases = arguments.canvases(self.name, batch, sizes)
      network = functools.partial(self._maps, variables)
      return segmented.traced_ids(self.name, self.spec, network, *canvases)
    if self.kind == "detection":
      canvases = arguments.canvases(self.name, batch, sizes)
      answer = self._called(variables, *canvases)
      return answers.detections(self.name, answer, len(canvases[0]))
    pixels = self.pixels(batch)
    return self._advised(lambda model: model._logits(variables, pixels))

  def outputs(self, variables: Any, batch: Any) -> Any:
    """Compute `Model.outputs`, of the named output if there is one."""
    pixels = self.pixels(batch)

    def part(model: Self, pixels: jax.Array) -> Any:
      return model._chosen(model._called(variables, pixels))

    return self._advised(lambda model: model._apply_in_parts(pixels, part))

  def _logits(self, variables: Any, pixels: jax.Array) -> jax.Array:
    """Compute checked logits of preprocessed pixels."""
    logits: jax.Array = self._apply_in_parts(
      pixels, lambda model, part: model._part_logits(variables, part)
    )
    return logits

  def _apply_in_parts(
    self, pixels: jax.Array, answer: Callable[[Self, jax.Array], Any]
  ) -> Any:
    """Compute the answer to preprocessed pixels, `rows` at a time."""
    if self.channels_first:
      pixels = jnp.moveaxis(pixels, -1, 1)
    count = len(pixels)
    if self.rows is None or self.rows == count:
      return answer(self, pixels)
    parts = -(-count // self.rows)
    # Padded with pictures of the batch: a model may be unable to scale blanks.
    places = np.arange(parts * self.rows) % count
    split = pixels[places].reshape(parts, self.rows, *pixels.shape[1:])
    whole = jax.lax.map(lambda part: answer(self, part), split)
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[:count], whole)

  def _maps(self, variables: Any, pixels: jax.Array) -> jax.Array:
    """Return a segmenter's answer to preprocessed pixels, classes last."""
    maps: jax.Array = self._apply_in_parts(
      pixels, lambda model, part: model._part_maps(variables, part)
    )
    return maps

  def _part_maps(self, variables: Any, pixels: jax.Array) -> jax.Array:
    answer = self._called(variables, pixels)
    array = jnp.asarray(answers.output_of(self.name, answer, self.output))
    first = self.channels_first and array.ndim == 4
    return jnp.moveaxis(array, 1, -1) if first else array

  def _part_logits(self, variables: Any, pixels: jax.Array) -> jax.Array:
    answer = self._called(variables, pixels)
    answer = answers.output_of(self.name, answer, self.output)
    return answers.logits(self.name, answer, len(pixels), self.spec.num_classes)

  def _called(self, variables: Any, *batch: jax.Array) -> Any:
    try:
      return self.function(variables, *batch)
    except Exception as error:
      # Other frameworks raise errors of their own at a traced array.
      if not (isinstance(error, _NOT_TRACEABLE) or "Tracer" in str(error)):
        raise
      raise errors.UserError(
        f"{self.name} cannot be traced by JAX: {errors.user_fault(error)}. It uses"
        " numpy or another framework, or depends on the numbers while it is"
        " traced. Wrap it with adapters.get('on_host')(function, spec), which"
        " passes it uint8 numpy arrays."
      ) from error


@dataclasses.dataclass(frozen=True, eq=False)
class OnHost(ExternalModel):
  """A model that is a Python function of numpy arrays: `function(batch)`.

  The batch is uint8 `[B, H, W, 3]` (clips `[B, T, H, W, 3]`). Detectors get one
  uint8 picture `[h, w, 3]` of its own size and answer with `boxes`, `scores`,
  `classes`, see `models.detection.by_picture`.

  Attributes:
    preprocessed: whether it takes float32 pixels, preprocessed by the spec.
  """

  preprocessed: bool = False

  @property
  def on_host(self) -> bool:
    """Whether the model runs outside JAX: True."""
    return True

  def with_fields(self, fields: Mapping[str, Any]) -> Self:
    """Return a copy with these spec fields, as `Model.with_fields`.

    Raises:
      UserError: a field of the preprocessing, which the function does itself.
    """
    unseen = [name for name in _PREPROCESSING if name in fields]
    if unseen and not self.preprocessed:
      raise errors.UserError(
        f"{self.name} takes uint8 pixels and preprocesses them itself: spec."
        f"{unseen[0]} would change nothing. Change your function, or let it take"
        " preprocessed pixels (preprocessed=True)."
      )
    return super().with_fields(fields)

  def apply(
    self,
    variables: Any,
    batch: Any,
    sizes: Any = None,
    *,
    capture: Sequence[str] | None = None,
  ) -> Any:
    """Compute what `Adapted.apply` does, in numpy and from uint8 pixels alone."""
    del variables
    self.check_capture(capture)
    images = arguments.numpy_batch(self.name, batch)
    if isinstance(self.spec, DetectorSpec):
      return by_picture.detections(
        self.name, self.spec, self.function, images, sizes
      )
    if isinstance(self.spec, SegmenterSpec):
      return segmented.class_ids(
        self.name, self.spec, self._maps, images, sizes
      )
    self.spec.check_shape(self.name, images.shape)
    return self._advised(lambda model: model._logits(images))

  def _alternatives(self) -> tuple[dict[str, Any], ...]:
    first, prepared = not self.channels_first, not self.preprocessed
    return (
      {"channels_first": first},
      {"preprocessed": prepared},
      {"channels_first": first, "preprocessed": prepared},
    )

  def outputs(self, variables: Any, batch: Any) -> Any:
    """Compute what `Adapted.outputs` does, in numpy and from uint8 pixels alone."""
    del variables
    images = arguments.numpy_batch(self.name, batch)
    self.spec.check_shape(self.name, images.shape)

    def part(model: Self, pixels: np.ndarray) -> Any:
      return model._chosen(model.function(pixels))

    return self._advised(lambda model: model._apply_in_parts(images, part))

  def _logits(self, images: np.ndarray) -> np.ndarray:
    """Compute checked logits of uint8 pixels."""
    logits: np.ndarray = self._apply_in_parts(
      images, lambda model, pixels: model._part_logits(pixels)
    )
    return logits

  def _apply_in_parts(
    self, images: np.ndarray, answer: Callable[[Self, np.ndarray], Any]
  ) -> Any:
    """Compute the answer to uint8 pixels, `rows` at a time."""
    pixels = images
    if self.preprocessed and isinstance(self.spec, SegmenterSpec):
      pixels = segmented.prepared(self.spec, images)
    elif self.preprocessed:
      pixels = self.spec.normalize_on_host(images)
    if self.channels_first:
      pixels = np.ascontiguousarray(np.moveaxis(pixels, -1, 1))
    count = len(pixels)
    if self.rows is None or self.rows == count:
      return answer(self, pixels)
    places = np.arange(-(-count // self.rows) * self.rows) % count
    parts = [answer(self, pixels[p]) for p in places.reshape(-1, self.rows)]
    return jax.tree.map(lambda *x: np.concatenate(x)[:count], *parts)

  def _maps(self, images: np.ndarray) -> np.ndarray:
    """Return a segmenter's answer to pictures of one size, classes last."""
    maps: np.ndarray = self._apply_in_parts(
      images, lambda model, part: model._part_maps(part)
    )
    return maps

  def _part_maps(self, pixels: np.ndarray) -> np.ndarray:
    answer = answers.output_of(self.name, self.function(pixels), self.output)
    array = segmented.array(self.name, answer)
    first = self.channels_first and array.ndim == 4
    return np.moveaxis(array, 1, -1) if first else array

  def _part_logits(self, pixels: np.ndarray) -> np.ndarray:
    answer = self.function(pixels)
    answer = answers.output_of(self.name, answer, self.output)
    return answers.numpy_logits(
      self.name, answer, len(pixels), self.spec.num_classes
    )


def _succeeds(call: Callable[[Any], Any], model: ExternalModel) -> bool:
  try:
    call(model)
  except Exception:  # a wrong guess: the first error is reported
    return False
  return True


@contextlib.contextmanager
def reading_model(path: str | os.PathLike, what: str) -> Iterator[str]:
  """Yield the local path of a model, which is copied if it lies in a bucket.

  Args:
    path: path of a model that somebody else wrote.
    what: the expected kind of file, e.g. `an ONNX model`.

  Raises:
    UserError: the file does not exist, or the block failed to read it; the
      message begins with the path.
  """
  if not isinstance(path, (str, os.PathLike)):
    raise errors.UserError(
      f"Got a {type(path).__name__}, expected the path of {what}."
    )
  if not paths.parse(path).exists():
    raise errors.UserError(f"{path}: no such file, expected {what}.")
  with refusing(path, what), paths.local_copy(path) as place:
    yield place


@contextlib.contextmanager
def refusing(path: str | os.PathLike, what: str) -> Iterator[None]:
  """Turn any error of the block into a refusal that begins with the path."""
  try:
    yield
  except errors.UserError as error:
    if isinstance(error, ImportError) or str(path) in str(error):
      raise
    raise errors.UserError(f"{path}: {error}") from error
  except Exception as error:
    raise errors.UserError(
      f"{path}: cannot be read as {what}: {errors.user_fault(error)} The file is"
      " damaged, or of another format or version."
    ) from error


def names() -> tuple[str, ...]:
  """Return the kinds of models that there are adapters for."""
  kinds = (m.name for m in pkgutil.iter_modules(__path__) if not m.ispkg)
  return tuple(sorted(kinds))


def get(kind: str) -> Callable[..., Model]:
  """Return the `adapt` function of a kind: `(thing, spec, *, name, …) -> model`.

  If a classifier's spec does not state its classes, they are counted from the
  model's answer.

  Raises:
    UserError: the kind is unknown.
  """
  if kind not in names():
    raise errors.unknown_error("kind of adapter", kind, names())
  adapt: Callable[..., Model] = importlib.import_module(
    f"{__name__}.{kind}"
  ).adapt

  @functools.wraps(adapt)
  def adapted(thing: Any, spec: Any, *args: Any, **options: Any) -> Model:
    if not _lacks_classes(spec):
      return adapt(thing, spec, *args, **options)
    try:
      model = adapt(thing, spec, *args, **options)
      count = _count_classes(model)
    except errors.UserError as error:
      count = answers.class_count(error)
      if count is None:
        raise
    if count in (None, spec.num_classes):
      return model
    return adapt(thing, spec.with_classes(count), *args, **options)

  return errors.without_traceback(adapted)


def _lacks_classes(spec: Any) -> bool:
  """Return whether a classifier's spec does not state its classes."""
  stated = (DetectorSpec, SegmenterSpec)
  if not isinstance(spec, ModelSpec) or isinstance(spec, stated):
    return False
  if spec.stated_outputs == "any":
    return False
  usual = type(spec)
  return (spec.num_classes, spec.label_space) == (
    usual.num_classes,
    usual.label_space,
  )


def _count_classes(model: Model) -> int | None:
  """Return the number of classes of a model's answer; None if it fails."""
  side = model.spec.fixed_px or model.spec.usual_px
  pictures = np.zeros(model.spec.batch_shape(_ROWS, side), np.uint8)
  variables = model.init(jax.random.key(0))
  try:
    if model.on_host:
      return len(model.apply(variables, pictures)[0])
    return jax.eval_shape(model.apply, variables, pictures).shape[1]
  except Exception as error:  # the probe before a run reports it
    return answers.class_count(error)
