"""Matching of boxes with objects, and sampling of boxes to learn from.

These are torchvision's `Matcher` and `BalancedPositiveNegativeSampler`, and
mmdetection's `MaxIoUAssigner` and `RandomSampler`, in fixed shapes. All
arguments belong to one picture; the callers map over pictures.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from models.detection import boxes as boxes_lib

BACKGROUND, IGNORED = -1, -2  # labels of boxes without an object


def overlaps(
  candidates: jax.Array,
  boxes: jax.Array,
  labels: jax.Array,
  edge: float = 0.0,
) -> jax.Array:
  """Compute IoU `[N, G]` of boxes `[N, 4]` with objects `[G, 4]`; -1 is padding."""
  overlap = boxes_lib.iou(candidates, boxes, edge)
  return jnp.where(labels[None] >= 0, overlap, -1.0)


def match(
  overlap: jax.Array,
  labels: jax.Array,
  *,
  object_from: float,
  background_below: float,
  least: float | None = None,
  last_wins: bool = False,
) -> tuple[jax.Array, jax.Array]:
  """Match each box with an object.

  Args:
    overlap: `[N, G]`, -1 for padding and for boxes that do not count.
    labels: int32 `[G]`, -1 for padding.
    object_from: IoU from which a box is an object.
    background_below: IoU below which a box is background.
    least: IoU from which an object's nearest boxes are matched with it, whatever the
      two limits above say; IoU 0 never matches. None: only the limits count.
    last_wins: see `TrainRules`.

  Returns:
    The object's index int32 `[N]`, and its label int32 `[N]`: `BACKGROUND`, or
    `IGNORED` between the two limits.
  """
  index, highest = overlap.argmax(axis=1), overlap.max(axis=1)
  is_object = highest >= object_from
  if least is not None:
    highest_iou = overlap.max(axis=0)
    near = (overlap == highest_iou) & (highest_iou >= least) & (overlap > 0)
    is_object |= near.any(axis=1)
    if last_wins:
      last = near.shape[1] - 1 - near[:, ::-1].argmax(axis=1)
      index = jnp.where(near.any(axis=1), last, index)
  none = jnp.where(highest < background_below, BACKGROUND, IGNORED)
  return index, jnp.where(is_object, labels[index], none)


def sample(
  key: jax.Array, labels: jax.Array, *, count: int, objects: int
) -> tuple[jax.Array, jax.Array]:
  """Sample boxes at random, objects first.

  Args:
    key: a JAX key.
    labels: int32 `[N]`, see `match`.
    count: maximum number of boxes.
    objects: maximum number of object boxes; background fills the rest.

  Returns:
    Indices int32 `[min(count, N)]`, and which of them are chosen.
  """
  noise = jax.random.uniform(key, labels.shape)
  count = min(count, len(labels))

  def drawn(candidates: jax.Array, most: int) -> tuple[jax.Array, jax.Array]:
    best, index = jax.lax.top_k(jnp.where(candidates, noise, -1.0), most)
    return index, best >= 0

  own, is_own = drawn(labels >= 0, min(objects, count))
  other, is_other = drawn(labels == BACKGROUND, count)
  is_other &= jnp.arange(count) < count - is_own.sum()
  index, chosen = jnp.concatenate([own, other]), jnp.append(is_own, is_other)
  order = jnp.argsort(~chosen, stable=True)[:count]
  return index[order], chosen[order]


class Regions(NamedTuple):
  """The regions that heads learn from; objects come first.

  Attributes:
    boxes: `[N, 4]`; valid boxes even where nothing was chosen, so that features
      are finite.
    chosen: bool `[N]`.
    labels: int32 `[N]`, see `match`; `IGNORED` where nothing was chosen.
    which: int32 `[N]`, index of the object.
    given: bool `[N]`, whether the box is an object's ground-truth box.
  """

  boxes: jax.Array
  chosen: jax.Array
  labels: jax.Array
  which: jax.Array
  given: jax.Array


def regions(
  key: jax.Array,
  proposals: jax.Array,
  valid: jax.Array,
  boxes: jax.Array,
  labels: jax.Array,
  *,
  overlap: float,
  nearest_too: bool,
  count: int,
  objects: int,
  edge: float,
) -> Regions:
  """Sample regions from proposals and the ground-truth boxes.

  Args:
    key: a JAX key.
    proposals: `[N, 4]`.
    valid: bool `[N]`.
    boxes: `[G, 4]`, objects.
    labels: int32 `[G]`.
    overlap: IoU from which a box is an object.
    nearest_too: see `TrainRules`.
    count: see `sample`.
    objects: see `sample`.
    edge: see `boxes.iou`.
  """
  candidates = jnp.concatenate([proposals, boxes])
  real = jnp.concatenate([valid, labels >= 0])
  share = overlaps(candidates, boxes, labels, edge)
  index, label = match(
    jnp.where(real[:, None], share, -1.0),
    labels,
    object_from=overlap,
    background_below=overlap,
    least=overlap if nearest_too else None,
    last_wins=True,
  )
  label = jnp.where(real, label, IGNORED)
  place, chosen = sample(key, label, count=count, objects=objects)
  return Regions(
    jnp.where(chosen[:, None], candidates[place], jnp.array([0.0, 0, 1, 1])),
    chosen,
    jnp.where(chosen, label[place], IGNORED),
    index[place],
    chosen & (place >= len(proposals)),
  )
