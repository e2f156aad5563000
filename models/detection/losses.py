"""RetinaNet's training loss: anchors matched, focal loss, box regression.

Lin et al. 2017 (arXiv:1708.02002): an anchor from IoU 0.5 up is an object, below
0.4 background, between them ignored; the best anchors of each object are its own
whatever the overlap. Focal loss with alpha 0.25, gamma 2; smooth L1.
"""

import jax
import jax.numpy as jnp

from robust_tfds.models.detection import boxes as boxes_lib

_OBJECT, _BACKGROUND = 0.5, 0.4
_ALPHA, _GAMMA = 0.25, 2.0
_BETA = 1.0 / 9  # where L1 becomes quadratic


def match(
  anchors: jax.Array, boxes: jax.Array, labels: jax.Array
) -> tuple[jax.Array, jax.Array]:
  """Which object each anchor stands for.

  Args:
    anchors: `[A, 4]`.
    boxes: `[G, 4]`.
    labels: int32 `[G]`, -1 for padding.

  Returns:
    The object's index int32 `[A]`, and its label int32 `[A]`: -1 for background,
    -2 for anchors that are ignored.
  """
  overlap = jnp.where(labels[None] >= 0, boxes_lib.iou(anchors, boxes), -1.0)
  best = overlap.argmax(axis=1)
  highest = overlap.max(axis=1)
  nearest = (overlap >= overlap.max(axis=0)) & (overlap > 0.1)
  forced = nearest.any(axis=1)
  of_nearest = jnp.where(nearest, overlap, -1).argmax(axis=1)
  index = jnp.where(forced, of_nearest, best)
  label = jnp.where(
    forced | (highest >= _OBJECT),
    labels[index],
    jnp.where(highest < _BACKGROUND, -1, -2),
  )
  return index, label


def detection_loss(
  logits: jax.Array,
  offsets: jax.Array,
  anchors: jax.Array,
  boxes: jax.Array,
  labels: jax.Array,
  weights: tuple[float, ...],
) -> jax.Array:
  """Focal loss plus smooth L1, summed and divided by the matched anchors.

  Args:
    logits: `[B, A, classes]`.
    offsets: `[B, A, 4]`.
    anchors: `[A, 4]`.
    boxes: `[B, G, 4]`.
    labels: int32 `[B, G]`, -1 for padding.
    weights: of the box coding.
  """

  def of_picture(
    logits: jax.Array, offsets: jax.Array, boxes: jax.Array, labels: jax.Array
  ) -> tuple[jax.Array, jax.Array]:
    index, label = match(anchors, boxes, labels)
    target = jax.nn.one_hot(label, logits.shape[-1])
    counted = (label > -2)[:, None]
    focal = jnp.where(counted, _focal(logits, target), 0).sum()
    true_offsets = boxes_lib.encode(boxes[index], anchors, weights)
    distance = jnp.abs(
      offsets - jnp.where((label >= 0)[:, None], true_offsets, 0)
    )
    smooth = jnp.where(
      distance < _BETA, distance**2 / (2 * _BETA), distance - _BETA / 2
    )
    regression = jnp.where((label >= 0)[:, None], smooth, 0).sum()
    return focal + regression, (label >= 0).sum()

  sums, matched = jax.vmap(of_picture)(logits, offsets, boxes, labels)
  return sums.sum() / jnp.maximum(matched.sum(), 1)


def _focal(logits: jax.Array, target: jax.Array) -> jax.Array:
  chance = jax.nn.sigmoid(logits)
  cross = -(
    target * jax.nn.log_sigmoid(logits)
    + (1 - target) * jax.nn.log_sigmoid(-logits)
  )
  right = chance * target + (1 - chance) * (1 - target)
  balance = _ALPHA * target + (1 - _ALPHA) * (1 - target)
  return balance * (1 - right) ** _GAMMA * cross
