"""Mask targets: the part of an object's mask that a head is to find in a box, 28 x 28.

torchvision (`project_masks_on_boxes`): RoIAlign of the mask, as many samples a
bin as it has pixels. mmdetection 2.x: the same with pixel centres at
half-integers, rounded. mmdetection 1.x: the box's whole pixels, cut out,
resized as OpenCV does and rounded. All of them read the mask resized to the
network's size by nearest pixels; here the original mask is read at these
places.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from models.detection import roi_align
from models.detection.truth import Truth

# Places along an axis and their weights, for both neighbours of a sample.
Taps = tuple[tuple[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]
_CHUNK = 8  # masks at a time: they are as large as pictures


def box_targets(
  truth: Truth,
  boxes: jax.Array,
  index: jax.Array,
  *,
  bins: int,
  style: str,
  canvas: tuple[int, int],
) -> jax.Array:
  """Return the mask targets of boxes.

  Args:
    truth: the objects, with masks.
    boxes: float32 `[B, N, 4]` in px of the network's canvas.
    index: int32 `[B, N]`, index of the object.
    bins: number of bins along a side.
    style: see `TrainRules.masks`.
    canvas: (height, width) of the network's canvas, which holds all boxes.

  Returns:
    float32 `[B, N, bins, bins]` in [0, 1].
  """
  assert truth.masks is not None  # `Detector.apply_train` requires them
  side = truth.masks.shape[2:]
  most = [-(-n // bins) for n in canvas]  # px of a bin

  def picture_targets(
    masks: jax.Array,
    boxes: jax.Array,
    index: jax.Array,
    factor: jax.Array,
    size: jax.Array,
  ) -> jax.Array:
    def box_target(item: tuple[jax.Array, jax.Array]) -> jax.Array:
      box, which = item
      y = box[1], box[3], size[0], factor[1]
      x = box[0], box[2], size[1], factor[0]
      down = _shares(_taps(*y[:3], bins, style, most[0]), y[3], bins, side[0])
      across = _shares(_taps(*x[:3], bins, style, most[1]), x[3], bins, side[1])
      return down @ masks[which].astype(jnp.float32) @ across.T

    return jax.lax.map(box_target, (boxes, index), batch_size=_CHUNK)

  got = jax.vmap(picture_targets)(
    truth.masks, boxes, index, truth.factor, truth.sizes
  )
  return got if style == "mean" else (got >= 0.5).astype(jnp.float32)


def _taps(
  low: jax.Array,
  high: jax.Array,
  limit: jax.Array,
  bins: int,
  style: str,
  most: int,
) -> Taps:
  """Return the pixels of an axis that a box from `low` to `high` reads.

  Args:
    low: start of the box, in px of the network.
    high: its end, in the same px.
    limit: end of the picture, in the same px.
    bins: number of bins of the box.
    style: see `TrainRules.masks`.
    most: most px of a bin.
  """
  if style == "resized":
    return _resized(low, high, limit, bins)
  aligned = style == "rounded"
  return roi_align.axis(
    low,
    high,
    stride=jnp.float32(1),
    limit=limit,
    bins=bins,
    samples=0,
    most=most,
    shift=0.5 if aligned else 0.0,
    least=0.0 if aligned else 1.0,
  )


def _shares(taps: Taps, factor: jax.Array, bins: int, side: int) -> jax.Array:
  """Return the weight of each mask pixel in each bin: `[bins, side]`.

  Args:
    taps: pixels of the network.
    factor: factor from these to the mask's pixels.
    bins: number of bins of the axis.
    side: side of the mask in px.
  """
  shares = jnp.zeros((bins, side))
  for place, weight in taps:
    bin_ = jnp.repeat(jnp.arange(bins), len(place) // bins)
    pixel = jnp.floor(place * factor).astype(jnp.int32)
    shares = shares.at[bin_, jnp.clip(pixel, 0, side - 1)].add(weight)
  return shares


def _resized(
  low: jax.Array, high: jax.Array, limit: jax.Array, bins: int
) -> Taps:
  """Return two neighbours of every bin's centre with their weights, like OpenCV."""
  first = jnp.floor(low).astype(jnp.int32)
  count = jnp.maximum(jnp.floor(high).astype(jnp.int32) - first + 1, 1)
  at = jnp.clip((jnp.arange(bins) + 0.5) * count / bins - 0.5, 0, count - 1)
  below = jnp.floor(at).astype(jnp.int32)
  above = jnp.minimum(below + 1, count - 1)
  part = at - below
  last = limit - 1
  return (
    (jnp.clip(first + below, 0, last), 1 - part),
    (jnp.clip(first + above, 0, last), part),
  )
