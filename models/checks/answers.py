"""Outputs that a model from elsewhere may return, checked while it is traced.

Logits are float `[B, classes]`, detections a dict of arrays `[B, N, ...]`. Shapes
and dtypes are known before anything is computed, so that a refusal costs
nothing.
"""

from collections.abc import Collection, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from models.spec import ModelSpec
from robust_tfds import errors

# Name -> axes of one detection, and the kind of its dtype.
_DETECTION: dict[str, tuple[tuple[int, ...], Any]] = {
  "boxes": ((4,), jnp.floating),
  "scores": ((), jnp.floating),
  "classes": ((), jnp.integer),
  "valid": ((), jnp.bool_),
}

# The outputs that are taken if none is named: of Hugging Face's models, and of
# torchvision's segmenters.
LOGITS = "logits"
OUT = "out"

_FACTORY = (
  " A function that builds a model is called without arguments: name one that"
  " passes them, def build_mine(): return build(...)."
)


class ClassCountError(errors.UserError):
  """The error for logits that differ from the spec in the number of classes only.

  Attributes:
    classes: number of classes of the model's answer.
  """

  def __init__(self, text: str, classes: int):
    """Create the error with its message."""
    super().__init__(text)
    self.classes = classes


def class_count(error: BaseException | None) -> int | None:
  """Return the classes of a `ClassCountError` in the causes of an error."""
  while error:
    if isinstance(error, ClassCountError):
      return error.classes
    error = error.__cause__
  return None


def check(
  name: str, spec: ModelSpec, answer: Any, rows: int, *, on_host: bool = False
) -> Any:
  """Check a model's output for a batch: logits, a detector's detections, or a
  segmenter's class ids.

  Args:
    name: name of the model, for errors.
    spec: spec of the model.
    answer: output of the model.
    rows: number of inputs in the batch.
    on_host: whether numpy arrays are expected.

  Raises:
    UserError: see `logits` and `detections`.
  """
  if spec.kind == "segmentation":
    array = np.asarray(answer) if on_host else _array(name, "class ids", answer)
    if array.ndim != 3 or len(array) != rows or array.dtype.kind not in "iu":
      raise errors.UserError(
        f"{name} answered with {array.dtype} {list(array.shape)}, expected whole"
        f" class ids [{rows}, H, W], of the canvases' size."
      )
    return array
  if spec.kind != "detection":
    checked_logits = numpy_logits if on_host else logits
    return checked_logits(name, answer, rows, spec.num_classes)
  arrays = detections(name, answer, rows)
  return jax.tree.map(np.asarray, arrays) if on_host else arrays


def output_of(name: str, answer: Any, output: str | int | None) -> Any:
  """Return the named output of a model, or its only one.

  Args:
    name: name of the model, for errors.
    answer: an array, or lists of numbers; or a mapping, tuple or list of
      several arrays.
    output: a key or an index; None: `usual_output`, or the only one.

  Raises:
    UserError: there are several outputs and none is named, or none has this
      name.
  """
  if isinstance(answer, Mapping):
    known: list[Any] = list(answer)
    output = usual_output(known) if output is None else output
  elif isinstance(answer, (tuple, list)) and not _is_one_array(answer):
    known = list(range(len(answer)))
  elif output is None:
    return answer
  else:
    raise errors.UserError(
      f"{name} answered with one {type(answer).__name__}, got"
      f" output={output!r}: leave it out."
    )
  if output in known:
    return answer[output]
  if not known:
    raise errors.UserError(
      f"{name} answered with an empty {type(answer).__name__}, expected logits."
    )
  got = "none was named" if output is None else f"got output={output!r}"
  raise errors.UserError(
    f"{name} answered with a {type(answer).__name__} of the outputs"
    f" {', '.join(map(repr, known))}, and {got}: name the one that holds the"
    f" logits, e.g. output={known[0]!r}."
  )


def usual_output(names: Collection[Any]) -> str | None:
  """Return which of some outputs holds the logits by its name; None: none does."""
  return next((name for name in (LOGITS, OUT) if name in names), None)


def _is_one_array(parts: tuple[Any, ...] | list[Any]) -> bool:
  """Return whether the parts are rows of numbers, not several arrays with rows each."""
  return all(isinstance(p, (tuple, list)) or np.ndim(p) < 2 for p in parts)


def logits(name: str, answer: Any, rows: int, classes: int) -> jax.Array:
  """Return a model's logits as float32 `[rows, classes]`, after checking them.

  Raises:
    UserError: another shape, or numbers that are not real.
  """
  array = _array(name, "", answer)
  _check_logits(name, array, rows, classes)
  return array.astype(jnp.float32)


def numpy_logits(name: str, answer: Any, rows: int, classes: int) -> np.ndarray:
  """Return a model's logits as a float32 numpy array, after checks like those
  of `logits`.
  """
  try:
    array = np.asarray(answer)
  except (TypeError, ValueError, RuntimeError) as e:
    # Lists of unequal length; tensors of a device, or with a gradient.
    raise errors.UserError(
      f"{_no_array(name, '', answer)} {errors.user_fault(e)}"
    ) from e
  if array.dtype == np.object_:
    raise errors.UserError(_no_array(name, "", answer))
  _check_logits(name, array, rows, classes)
  return array.astype(np.float32)


def _check_logits(name: str, array: Any, rows: int, classes: int) -> None:
  if array.shape != (rows, classes):
    words = (
      f"{name} answered with shape {array.shape}, expected {(rows, classes)}:"
      f" {_advice(array.shape, rows, classes)}."
    )
    if array.ndim == 2 and len(array) == rows:
      count = int(array.shape[1])
      if count not in (1, classes + 1):  # one more may be a background
        raise ClassCountError(words, count)
    raise errors.UserError(words)
  if not jnp.issubdtype(array.dtype, jnp.floating):
    raise errors.UserError(
      f"{name} answered with {array.dtype} numbers, expected float logits: if"
      " they are scores of the classes, convert them (astype(float32))."
    )


def _advice(shape: tuple[int, ...], rows: int, classes: int) -> str:
  """Return advice on logits whose shape is not `(rows, classes)`."""
  if shape in ((rows,), (rows, 1)):
    return f"return the logits of all classes of a picture. {errors.NOT_HERE}"
  if shape == (classes,):
    return "keep the axis of the batch (no squeeze), also for one picture"
  if tuple(n for n in shape if n != 1) == (rows, classes):
    return "drop the axes of length 1"
  if len(shape) > 2:
    return (
      f"a classifier returns one row a picture (or clip). {errors.NOT_HERE}"
    )
  if shape == (rows, classes + 1):
    return (
      "if one of them is a background, leave it out ([:, 1:] where it is the"
      " first), else give the spec its num_classes"
    )
  if shape[1:] == (classes,):
    return (
      "return a row a picture, of batches of any size, or give the adapter rows=,"
      " the size that it takes"
    )
  return (
    "return one logit per class of the spec, or give the spec its num_classes"
  )


def detections(name: str, answer: Any, rows: int) -> dict[str, jax.Array]:
  """Return `boxes`, `scores`, `classes`, `valid`, and `masks` if there are any,
  after checks.

  Raises:
    UserError: an array is missing or has the wrong shape or dtype.
  """
  if not isinstance(answer, Mapping):
    raise errors.UserError(
      f"{name} answered with a {type(answer).__name__}, expected a dict of"
      f" {', '.join(_DETECTION)}."
    )
  arrays = {key: _array(name, key, value) for key, value in answer.items()}
  missing = [key for key in _DETECTION if key not in arrays]
  if missing:
    raise errors.UserError(
      f"{name} gave {', '.join(arrays) or 'nothing'}, without"
      f" {', '.join(missing)}."
    )
  most = arrays["scores"].shape[1:2]
  for key, (axes, dtype) in _DETECTION.items():
    _check_detection(name, key, arrays[key], (rows, *most, *axes), dtype)
  if "masks" in arrays:
    shape = (rows, *most, *arrays["masks"].shape[2:3] * 2)
    _check_detection(name, "masks", arrays["masks"], shape, jnp.floating)
    if len(shape) != 4:
      raise errors.UserError(
        f"{name} gave masks of shape {arrays['masks'].shape}, expected [images,"
        " detections, M, M]."
      )
  return arrays


def _check_detection(
  name: str, key: str, array: jax.Array, shape: tuple[int, ...], dtype: Any
) -> None:
  if array.shape != shape:
    raise errors.UserError(
      f"{name} gave {key} of shape {array.shape}, expected {shape}: [images,"
      " detections, ...], padded where valid is False."
    )
  if not jnp.issubdtype(array.dtype, dtype):
    raise errors.UserError(
      f"{name} gave {key} of {array.dtype}, expected"
      f" {np.dtype(dtype).name if dtype is jnp.bool_ else dtype.__name__}."
    )


def _array(name: str, key: str, value: Any) -> jax.Array:
  try:
    return jnp.asarray(value)
  except (TypeError, ValueError) as e:
    raise errors.UserError(_no_array(name, key, value)) from e


def _no_array(name: str, key: str, value: Any) -> str:
  what = f"{key} as a" if key else "a"
  return (
    f"{name} answered with {what} {type(value).__name__}, which is no array of"
    f" numbers.{_FACTORY * callable(value)}"
  )
