"""The part of an object's mask that a head is to find: 28 x 28 of a box.

torchvision (`project_masks_on_boxes`): RoIAlign of the mask, as many samples a
bin as it has pixels. mmdetection 2.x: the same with pixel centres at
half-integers, rounded. mmdetection 1.x: the box's whole pixels, cut out, resized
as OpenCV does and rounded. All of them read the mask at the network's size,
nearest pixel of the picture's own; here it is read where it is.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from robust_tfds.models.detection import roi_align
from robust_tfds.models.detection.truth import Truth

# Places along an axis and their weights, of either neighbour of a sample.
Taps = tuple[tuple[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]
_CHUNK = 8  # masks at a time: they are as large as pictures


def of_boxes(
  truth: Truth,
  boxes: jax.Array,
  index: jax.Array,
  *,
  bins: int,
  style: str,
  canvas: tuple[int, int],
) -> jax.Array:
  """What the masks of boxes are to be.

  Args:
    truth: with masks.
    boxes: float32 `[B, N, 4]` in px of the network's canvas.
    index: int32 `[B, N]`, of which object.
    bins: of a side.
    style: see `TrainRules.masks`.
    canvas: (height, width) of the network's, which holds all boxes.

  Returns:
    float32 `[B, N, bins, bins]` in [0, 1].
  """
  assert truth.masks is not None  # `Detector.apply_train` has asked for them
  side = truth.masks.shape[2:]
  most = [-(-n // bins) for n in canvas]  # px of a bin

  def of_picture(
    masks: jax.Array,
    boxes: jax.Array,
    index: jax.Array,
    factor: jax.Array,
    size: jax.Array,
  ) -> jax.Array:
    def of_box(item: tuple[jax.Array, jax.Array]) -> jax.Array:
      box, which = item
      y = box[1], box[3], size[0], factor[1]
      x = box[0], box[2], size[1], factor[0]
      down = _shares(_taps(*y[:3], bins, style, most[0]), y[3], bins, side[0])
      across = _shares(_taps(*x[:3], bins, style, most[1]), x[3], bins, side[1])
      return down @ masks[which].astype(jnp.float32) @ across.T

    return jax.lax.map(of_box, (boxes, index), batch_size=_CHUNK)

  got = jax.vmap(of_picture)(
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
  """Which pixels of an axis a box from `low` to `high` reads.

  Args:
    low: in px of the network.
    high: in these.
    limit: of the picture, in these.
    bins: of the box.
    style: see `TrainRules.masks`.
    most: px of a bin.
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
  """How much each of a mask's pixels counts for each bin: `[bins, side]`.

  Args:
    taps: pixels of the network.
    factor: from these to the mask's.
    bins: of the axis.
    side: px of the mask.
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
  """Two neighbours of every bin's middle with their weights, as OpenCV's."""
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
