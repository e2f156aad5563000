"""Which object a box stands for, and which boxes a network learns from.

As torchvision's `Matcher` and `BalancedPositiveNegativeSampler`, mmdetection's
`MaxIoUAssigner` and `RandomSampler`, in fixed shapes. All of one picture; the
callers map over pictures.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from robust_tfds.models.detection import boxes as boxes_lib

BACKGROUND, IGNORED = -1, -2  # labels of boxes without an object


def overlaps(
  candidates: jax.Array,
  boxes: jax.Array,
  labels: jax.Array,
  edge: float = 0.0,
) -> jax.Array:
  """IoU `[N, G]` of boxes `[N, 4]` with objects `[G, 4]`; -1 of padding."""
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
  """Which object each box stands for.

  Args:
    overlap: `[N, G]`, -1 of padding and of boxes that do not count.
    labels: int32 `[G]`, -1 for padding.
    object_from: IoU from which a box is an object.
    background_below: IoU below which it is none.
    least: IoU from which the nearest boxes of an object are its own whatever
      the above says (never at 0: nothing there is near); None: none are.
    last_wins: see `TrainRules`.

  Returns:
    The object's index int32 `[N]`, and its label int32 `[N]`: `BACKGROUND`, or
    `IGNORED` between the two limits.
  """
  index, highest = overlap.argmax(axis=1), overlap.max(axis=1)
  is_object = highest >= object_from
  if least is not None:
    of_object = overlap.max(axis=0)
    near = (overlap == of_object) & (of_object >= least) & (overlap > 0)
    is_object |= near.any(axis=1)
    if last_wins:
      last = near.shape[1] - 1 - near[:, ::-1].argmax(axis=1)
      index = jnp.where(near.any(axis=1), last, index)
  none = jnp.where(highest < background_below, BACKGROUND, IGNORED)
  return index, jnp.where(is_object, labels[index], none)


def sample(
  key: jax.Array, labels: jax.Array, *, count: int, objects: int
) -> tuple[jax.Array, jax.Array]:
  """A random choice of boxes, objects first.

  Args:
    key: of JAX.
    labels: int32 `[N]`, see `match`.
    count: of boxes at most.
    objects: of objects at most; background fills the rest.

  Returns:
    Indices int32 `[min(count, N)]`, and which of them are chosen.
  """
  noise = jax.random.uniform(key, labels.shape)
  count = min(count, len(labels))

  def drawn(wanted: jax.Array, most: int) -> tuple[jax.Array, jax.Array]:
    best, index = jax.lax.top_k(jnp.where(wanted, noise, -1.0), most)
    return index, best >= 0

  own, is_own = drawn(labels >= 0, min(objects, count))
  other, is_other = drawn(labels == BACKGROUND, count)
  is_other &= jnp.arange(count) < count - is_own.sum()
  index, chosen = jnp.concatenate([own, other]), jnp.append(is_own, is_other)
  order = jnp.argsort(~chosen, stable=True)[:count]
  return index[order], chosen[order]


class Regions(NamedTuple):
  """What heads learn from; objects come first.

  Attributes:
    boxes: `[N, 4]`; whole where nothing was chosen, so that features are finite.
    chosen: bool `[N]`.
    labels: int32 `[N]`, see `match`; `IGNORED` where nothing was chosen.
    which: int32 `[N]`, index of the object.
    given: bool `[N]`, the box is an object's own.
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
  """A choice among proposals and the objects' own boxes.

  Args:
    key: of JAX.
    proposals: `[N, 4]`.
    valid: bool `[N]`.
    boxes: `[G, 4]`, objects.
    labels: int32 `[G]`.
    overlap: IoU from which a box is an object.
    nearest_too: see `TrainRules`.
    count: see `sample`.
    objects: see `sample`.
    edge: of the boxes.
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
