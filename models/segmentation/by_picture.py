"""A segmenter that is a function from elsewhere, and what it answers.

A Python function is called with pictures of one size.

Each picture is cut from its canvas, so that the function sees it at its own size;
those of a batch that have the same size come together. It answers with logits `[B, h,
w, classes]`, which are resized to the picture, or with class ids `[B, H, W]`.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from models.checks import arguments
from models.segmentation import inference, resize
from models.segmentation.spec import SegmenterSpec
from robust_tfds import errors

_resized = jax.jit(
  inference.class_ids, static_argnames=("size_hw", "align_corners")
)
_prepared = jax.jit(resize.to_network, static_argnames="spec")


def class_ids(
  name: str,
  spec: SegmenterSpec,
  function: Callable[[np.ndarray], Any],
  canvases: np.ndarray,
  sizes: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
  """Return the answered classes of a batch.

  Args:
    name: name of the model, for errors.
    spec: spec with the number of classes.
    function: maps uint8 `[B, h, w, 3]` RGB to logits or class ids.
    canvases: uint8 `[B, H, W, 3]`, pictures in their top-left corners.
    sizes: int `[B, 2]`, (height, width) of each picture; None: the whole
      canvas.

  Returns:
    `classes` int32 `[B, H, W]`, 0 beyond the pictures.

  Raises:
    UserError: canvases or sizes have a wrong shape, or the answer has another
      shape or dtype, NaN, or an id that is no class.
  """
  spec.check_shape(name, canvases.shape)
  _check_window(name, spec)
  pairs = np.asarray(arguments.sizes(name, sizes, canvases))
  out = np.zeros(canvases.shape[:3], np.int32)
  for high, wide in np.unique(pairs, axis=0).tolist():
    rows = np.flatnonzero((pairs == (high, wide)).all(axis=1))
    pictures = np.ascontiguousarray(canvases[rows, :high, :wide])
    ids = _checked(name, spec, function(pictures), pictures.shape[:3])
    out[rows, :high, :wide] = ids
  return {"classes": out}


def prepared(spec: SegmenterSpec, images: np.ndarray) -> np.ndarray:
  """Return uint8 pictures of one size as the spec says: float32 `[B, h, w, 3]`."""
  pixels, seen_px = _prepared(images, arguments.whole_sizes(images), spec)
  high, wide = np.asarray(seen_px)[0]
  return np.asarray(pixels)[:, :high, :wide]


def traced_ids(
  name: str,
  spec: SegmenterSpec,
  network: Callable[[jax.Array], jax.Array],
  images: jax.Array,
  sizes: jax.Array,
) -> jax.Array:
  """Return the classes of a batch of canvases, from a function that JAX traces.

  It sees whole canvases, zeros beyond the pictures.

  Args:
    name: name of the model, for errors.
    spec: its preprocessing.
    network: maps float32 `[B, h, w, 3]` to logits `[B, h', w', classes]`, or to
      class ids `[B, h, w]`.
    images: uint8 `[B, H, W, 3]`.
    sizes: int32 `[B, 2]`.

  Returns:
    int32 `[B, H, W]`.

  Raises:
    UserError: its answer has another shape or dtype.
  """
  _check_window(name, spec)
  pixels, seen_px = resize.to_network(images, sizes, spec)
  answer = network(pixels)
  whole = jnp.issubdtype(answer.dtype, jnp.integer)
  if whole and answer.shape == pixels.shape[:3] == images.shape[:3]:
    return answer.astype(jnp.int32)
  rows, classes = len(images), spec.num_classes
  if whole or answer.ndim != 4 or answer.shape[::3] != (rows, classes):
    raise errors.UserError(
      f"{name} answered with {answer.dtype} {list(answer.shape)} for"
      f" {list(pixels.shape)}, expected float logits {[rows, 'h', 'w', classes]},"
      f" or whole class ids {list(images.shape[:3])} of pictures that are not"
      " resized."
    )
  share = jnp.array(answer.shape[1:3]) / jnp.array(pixels.shape[1:3])
  return inference.class_ids(
    answer,
    images.shape[1:3],
    sizes=sizes,
    valid=seen_px * share,
    align_corners=spec.align_corners,
  )


def array(name: str, answer: Any) -> np.ndarray:
  """Return an answer as a numpy array.

  Raises:
    UserError: it is none.
  """
  try:
    return np.asarray(answer)
  except (TypeError, ValueError, RuntimeError) as e:
    raise errors.UserError(
      f"{name} answered with no array: {errors.user_fault(e)}"
    ) from e


def _check_window(name: str, spec: SegmenterSpec) -> None:
  if spec.window_px:
    raise errors.UserError(
      f"{name}: window_px={spec.window_px} is for networks of models.names(). Let"
      " your function slide over the picture, and leave window_px out."
    )


def _checked(
  name: str, spec: SegmenterSpec, array: np.ndarray, shape: tuple[int, ...]
) -> np.ndarray:
  """Return class ids of pictures `[B, h, w]`."""
  classes = spec.num_classes
  kind = array.dtype.kind
  if (
    kind == "f" and array.ndim == 4 and array.shape[::3] == (shape[0], classes)
  ):
    if not np.isfinite(array).all():
      raise errors.UserError(f"{name} gave NaN or infinite logits.")
    size = int(shape[1]), int(shape[2])
    ids = _resized(array, size, align_corners=spec.align_corners)
    return np.asarray(ids)
  if kind not in "iu" or array.shape != shape:
    raise errors.UserError(
      f"{name} answered with {array.dtype} {list(array.shape)} for pictures"
      f" {[*shape, 3]}, expected float logits {[shape[0], 'h', 'w', classes]} or"
      f" whole class ids {list(shape)}."
    )
  if array.min() < 0 or array.max() >= classes:
    wrong = array.min() if array.min() < 0 else array.max()
    raise errors.UserError(
      f"{name} gave the class id {wrong}, expected 0 to {classes - 1}: map your"
      " ids to the set's classes first."
    )
  return array.astype(np.int32)
