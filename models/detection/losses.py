"""Losses of detectors on matched and sampled boxes.

Focal loss: Lin et al. 2017 (arXiv:1708.02002), alpha 0.25, gamma 2. Smooth L1:
Girshick 2015 (arXiv:1504.08083). Sums are divided as torchvision and
mmdetection do; a loss without samples is 0.
"""

import jax
import jax.numpy as jnp

from models.detection import boxes as boxes_lib
from models.detection import matching
from models.detection.truth import Truth

Losses = dict[str, jax.Array]
# Lin et al. 2017: an anchor from IoU 0.5 up is an object, below 0.4 background.
_OBJECT, _BACKGROUND = 0.5, 0.4
_ALPHA, _GAMMA = 0.25, 2.0


def smooth_l1(
  got: jax.Array, expected: jax.Array, real: jax.Array, beta: float
) -> jax.Array:
  """Sum distances over the last axis, quadratic below `beta`.

  Args:
    got: `[..., 4]`.
    expected: `[..., 4]`; anything, even NaN, where it is not real.
    real: bool `[...]`; elsewhere the result is 0.
    beta: end of the quadratic part; 0 is plain L1.
  """
  real = real[..., None]
  far = jnp.abs(got - jax.lax.stop_gradient(jnp.where(real, expected, 0)))
  each = far
  if beta:
    each = jnp.where(far < beta, far**2 / (2 * beta), far - beta / 2)
  return jnp.where(real, each, 0).sum(-1)


def binary(logits: jax.Array, chances: jax.Array) -> jax.Array:
  """Compute the cross-entropy of each logit with a probability in [0, 1]."""
  yes, no = jax.nn.log_sigmoid(logits), jax.nn.log_sigmoid(-logits)
  return -(chances * yes + (1 - chances) * no)


def mean(each: jax.Array, counted: jax.Array) -> jax.Array:
  """Compute the mean of the counted values; 0 if there are none."""
  total = jnp.where(counted, each, 0).sum()
  return total / jnp.maximum(counted.sum(), 1)


def proposal_losses(
  logits: jax.Array,
  offsets: jax.Array,
  expected: jax.Array,
  is_object: jax.Array,
  chosen: jax.Array,
  beta: float,
) -> Losses:
  """Compute an RPN's losses on the chosen anchors.

  Args:
    logits: `[B, N]`, objectness.
    offsets: `[B, N, 4]`.
    expected: `[B, N, 4]`, offsets of the objects.
    is_object: bool `[B, N]`.
    chosen: bool `[B, N]`.
    beta: see `smooth_l1`.
  """
  boxes = smooth_l1(offsets, expected, is_object & chosen, beta)
  return {
    "loss_objectness": mean(binary(logits, is_object), chosen),
    "loss_rpn_box_reg": mean(boxes, chosen),
  }


def region_losses(
  logits: jax.Array,
  offsets: jax.Array,
  expected: jax.Array,
  output: jax.Array,
  is_object: jax.Array,
  beta: float,
) -> tuple[jax.Array, jax.Array]:
  """Compute cross-entropy and box distance of every region.

  Args:
    logits: `[..., outputs]`.
    offsets: `[..., 4]`, offsets of the expected output.
    expected: `[..., 4]`.
    output: int32 `[...]`, the expected output.
    is_object: bool `[...]`.
    beta: see `smooth_l1`.

  Returns:
    float32 `[...]` each.
  """
  chances = jax.nn.log_softmax(logits)
  cross = -jnp.take_along_axis(chances, output[..., None], -1)[..., 0]
  return cross, smooth_l1(offsets, expected, is_object, beta)


def anchor_losses(
  logits: jax.Array,
  offsets: jax.Array,
  anchors: jax.Array,
  counted: jax.Array,
  truth: Truth,
  *,
  weights: tuple[float, ...],
  edge: float = 0.0,
  least: float = 0.0,
  last_wins: bool = False,
  beta: float,
  by_picture: bool,
) -> Losses:
  """Compute RetinaNet's losses: every anchor learns, except ignored ones.

  Args:
    logits: `[B, A, outputs]`.
    offsets: `[B, A, 4]`.
    anchors: `[A, 4]`.
    counted: bool `[B, A]`, which anchors count.
    truth: the objects; its labels are outputs.
    weights: weights of the box coding.
    edge: edge of the boxes.
    least: see `matching.match`.
    last_wins: see `TrainRules`.
    beta: see `smooth_l1`.
    by_picture: see `TrainRules`.
  """

  def picture_losses(
    logits: jax.Array,
    offsets: jax.Array,
    counted: jax.Array,
    boxes: jax.Array,
    labels: jax.Array,
  ) -> tuple[jax.Array, jax.Array, jax.Array]:
    overlap = matching.overlaps(anchors, boxes, labels, edge)
    index, label = matching.match(
      jnp.where(counted[:, None], overlap, -1.0),
      labels,
      object_from=_OBJECT,
      background_below=_BACKGROUND,
      least=least,
      last_wins=last_wins,
    )
    real = counted & (label > matching.IGNORED)
    target = jax.nn.one_hot(label, logits.shape[-1])
    focal = jnp.where(real[:, None], _focal(logits, target), 0).sum()
    expected = boxes_lib.encode(boxes[index], anchors, weights, edge)
    is_object = counted & (label >= 0)
    far = smooth_l1(offsets, expected, is_object, beta).sum()
    return focal, far, is_object.sum()

  focal, far, count = jax.vmap(picture_losses)(
    logits, offsets, counted, truth.boxes, truth.labels
  )
  if by_picture:
    divisor = jnp.maximum(count, 1) * len(count)
  else:
    divisor = jnp.maximum(count.sum(), 1)
  return {
    "classification": (focal / divisor).sum(),
    "bbox_regression": (far / divisor).sum(),
  }


def _focal(logits: jax.Array, target: jax.Array) -> jax.Array:
  chance = jax.nn.sigmoid(logits)
  right = chance * target + (1 - chance) * (1 - target)
  balance = _ALPHA * target + (1 - _ALPHA) * (1 - target)
  return balance * (1 - right) ** _GAMMA * binary(logits, target)
