"""Ten crops: the four corners and the centre, and their mirror images.

The class probabilities of the ten are averaged (Krizhevsky et al. 2012, section
4.1); the logarithm of the mean is returned, since it ranks and softmaxes as
logits do. Crops are `FRACTION` of the picture; they are resized for a network
of a fixed input size and left as they are for others.
"""

from typing import Any

import jax
import jax.numpy as jnp

from models.enhancements import Apply, Enhancement
from models.spec import ModelSpec

FRACTION = 0.875  # 224 of 256 pixels
_ROUNDING = 1e-2  # error of a softmax's sum in half precision


def enhance(apply: Apply, spec: ModelSpec) -> Apply:
  """Return an `apply` that averages the class probabilities of the ten crops."""

  def averaged(variables: Any, batch: jax.Array) -> jax.Array:
    mean = jnp.float32(0)
    for view in crops(batch, spec.fixed_px):
      mean = mean + _chances(apply(variables, view)) / 10
    return jnp.log(jnp.maximum(mean, jnp.finfo(jnp.float32).tiny))

  return averaged


def _chances(answer: jax.Array) -> jax.Array:
  """Apply softmax to logits `[B, classes]`; keep rows that are probabilities."""
  distance = jnp.abs(answer.sum(axis=-1, keepdims=True) - 1)
  is_softmax = (distance <= _ROUNDING) & (answer >= 0).all(-1, keepdims=True)
  return jnp.where(is_softmax, answer, jax.nn.softmax(answer))


def crops(batch: jax.Array, size: int | None = None) -> list[jax.Array]:
  """Return ten uint8 crops `[B, h, w, 3]` of a uint8 `[B, H, W, 3]`.

  Args:
    batch: the pictures.
    size: side to which the crops are resized (bilinear); None leaves them.
  """
  height, width = batch.shape[1:3]
  high, wide = round(height * FRACTION), round(width * FRACTION)
  below, right = height - high, width - wide
  corners = [(0, 0), (0, right), (below, 0), (below, right)]
  views = []
  for top, left in (*corners, (below // 2, right // 2)):
    view = batch[:, top : top + high, left : left + wide]
    if size is not None:
      view = _resize(view, size)
    views += [view, view[:, :, ::-1]]
  return views


def _resize(view: jax.Array, size: int) -> jax.Array:
  shape = (view.shape[0], size, size, 3)
  wide = jax.image.resize(view.astype(jnp.float32), shape, "bilinear")
  return jnp.clip(jnp.round(wide), 0, 255).astype(jnp.uint8)


ENHANCEMENT = Enhancement(
  enhance,
  kinds=("classification",),
  unsuited=(
    "clips are cut into views by data.views, and crops of a canvas lose the"
    " places of objects"
  ),
)
