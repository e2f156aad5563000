"""The objects of a batch, in the pixels that the network sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from models.checks import arguments
from robust_tfds import errors

_ROWS = ("boxes", "labels", "masks")  # a row an object


class Truth(NamedTuple):
  """The objects of a batch.

  Attributes:
    boxes: float32 `[B, G, 4]` in px of the network's canvas, with the edge of
      the network's rules.
    labels: int32 `[B, G]`, -1 for padding.
    masks: bool `[B, G, H, W]` on the canvases of the batch, or None.
    semantic: int32 `[B, H, W]` on the canvases, or None.
    factor: float32 `[B, 4]`, factors from the network's pixels to the
      canvases'.
    sizes: int32 `[B, 2]`, (height, width) in the network's pixels.
  """

  boxes: jax.Array
  labels: jax.Array
  masks: jax.Array | None
  semantic: jax.Array | None
  factor: jax.Array
  sizes: jax.Array


def from_batch(
  name: str,
  batch: Mapping[str, Any],
  *,
  factor: jax.Array,
  sizes: jax.Array,
  edge: float,
  num_classes: int,
  masks: bool,
) -> Truth:
  """Return the objects of a batch for `Detector.apply_train`.

  A box without area is no object.

  Args:
    name: name of the model, for errors.
    batch: see `Detector.apply_train`.
    factor: see `Truth`.
    sizes: see `Truth`.
    edge: px from a box's last coordinates to its end in a picture's pixels.
    num_classes: limit of the labels; other labels are no objects.
    masks: whether masks are needed.

  Raises:
    UserError: an entry is missing, or has a wrong shape.
  """
  shape = batch["image"].shape
  batch = {**batch, **{k: _pad_empty(batch[k]) for k in _ROWS if k in batch}}
  boxes = arguments.batch(f"{name} (its boxes)", batch["boxes"])
  labels = arguments.batch(f"{name} (its labels)", batch["labels"])
  count = (shape[0], *boxes.shape[1:2])
  _check(name, "boxes", boxes, (*count, 4))
  _check(name, "labels", labels, count)
  canvases = jnp.asarray(batch["masks"]) if masks else None
  if canvases is not None:
    _check(name, "masks", canvases, (*count, *shape[1:3]))
  semantic = batch.get("semantic")
  if semantic is not None:
    semantic = jnp.asarray(semantic)
    _check(name, "semantic", semantic, shape[:3])
  real = (boxes[..., 2:] > boxes[..., :2]).all(-1)
  real &= (labels >= 0) & (labels < num_classes)
  last = boxes - jnp.array([0, 0, 1, 1]) * edge
  return Truth(
    (last / factor[:, None, :]).astype(jnp.float32),
    jnp.where(real, labels, -1).astype(jnp.int32),
    canvases,
    semantic,
    factor,
    sizes,
  )


def _pad_empty(value: Any) -> Any:
  """Return rows of objects `[B, G, ...]`, with one row of padding if G is 0."""
  if getattr(value, "shape", ())[1:2] != (0,):
    return value
  rows = jnp.asarray(value)
  pads = [(0, 0), (0, 1), *[(0, 0)] * (rows.ndim - 2)]
  return jnp.pad(rows, pads, constant_values=-1)


def check_keys(name: str, batch: Mapping[str, Any], masks: bool) -> None:
  """Refuse a batch without the needed entries.

  Raises:
    UserError: an entry is missing; the message names it.
  """
  needed = ["image", "size", "boxes", "labels", *["masks"] * masks]
  missing = [key for key in needed if key not in batch]
  if missing:
    raise errors.UserError(
      f"{name} got a batch of {', '.join(batch) or 'nothing'}, without"
      f" {', '.join(missing)}, which it learns from."
    )


def _check(
  name: str, what: str, value: jax.Array, shape: tuple[int, ...]
) -> None:
  if value.shape != shape:
    raise errors.UserError(
      f"{name} got {what} {value.dtype} {list(value.shape)}, expected"
      f" {list(shape)}, a row for each object."
    )
