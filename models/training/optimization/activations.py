"""An estimate of the memory that a step's gradient needs besides the weights.

JAX lists the arrays that the backward pass needs from the forward pass
(`jax.vjp`) without computing any. XLA fuses some of them away and recomputes
others, so the true number is usually lower. An attack is finished before the step
begins, so only the larger of the two counts.
"""

import collections
import math
from typing import Any

import jax
import jax.numpy as jnp

from models.detection.detector import Detector
from models.model import NetworkModel
from models.training.config import Config
from models.training.optimization import optimizers, state, steps
from models.training.recipes import base

# Of a detector's pictures, if neither spec nor config says it: that of scenes.
_SIDE_PX = 128
_OBJECTS = 16  # of a picture, if the config does not say it


def estimate(
  config: Config, model: NetworkModel, recipe: base.Recipe, like: state.State
) -> float:
  """Estimate the bytes of activations on each device.

  Args:
    recipe: the recipe of the loss. For one that reads further pictures or
      attacks, the common loss on equally many pictures is estimated.
    like: shapes of the state.
  """
  rows = config.batch_size // config.optimizer.accumulate
  attack = _attack_bytes(config, model, rows, like) if recipe.attack else 0
  if recipe.extras or recipe.attack:
    kind = type(recipe) if model.kind == "detection" else base.Recipe
    recipe, rows = kind(), rows * (recipe.passes - recipe.attack)
  optimizer = optimizers.make_optimizer(config.optimizer, model.decayed_paths())
  step = steps.Steps(model, recipe, optimizer, jnp.asarray, config)

  def back(parameters: Any, statistics: Any, batch: Any) -> Any:
    loss = lambda p: step.loss(p, statistics, batch, jax.random.key(0))[0]
    return jax.vjp(loss, parameters)[1]

  needed = jax.eval_shape(
    back, like.parameters, like.statistics, batch(config, model, rows)
  )
  return max(_residual_bytes(needed, like), attack) / jax.device_count()


def _attack_bytes(
  config: Config, model: NetworkModel, rows: int, like: state.State
) -> float:
  """Estimate the bytes, on all devices, that an attack's gradient of pixels
  needs.
  """
  apply = base.applied(model)
  shape = pictures_shape(config, model, rows)
  pixels = jax.ShapeDtypeStruct(shape, jnp.float32)

  def back(variables: Any, pixels: Any) -> Any:
    answers = lambda pixels: apply(variables, pixels, None)[0]
    return jax.vjp(answers, pixels)[1]

  variables = jax.eval_shape(lambda like: like.variables, like)
  return _residual_bytes(jax.eval_shape(back, variables, pixels), like)


def _residual_bytes(needed: Any, like: state.State) -> int:
  """Return the bytes of the residuals, except weights, which the state holds."""
  weights = collections.Counter(
    (x.shape, x.dtype) for x in like.parameters.values()
  )
  total = 0
  for array in jax.tree.leaves(needed):
    kind = array.shape, array.dtype
    weights[kind] -= 1
    if weights[kind] < 0:
      total += _bytes(array)
  return total


def pictures_shape(
  config: Config, model: NetworkModel, rows: int
) -> tuple[int, ...]:
  """Return the shape of a batch's pictures or clips, `[B, ..., H, W, 3]`."""
  arrays = batch(config, model, rows)
  return arrays["video" if "video" in arrays else "image"].shape


def batch(
  config: Config, model: NetworkModel, rows: int
) -> dict[str, jax.ShapeDtypeStruct]:
  """Return the shapes of a batch of `rows` examples, as far as they are known
  before reading.
  """
  like = jax.ShapeDtypeStruct
  keys = {"key": like((rows, 2), jnp.uint32)}
  if not isinstance(model, Detector):
    shape = model.spec.batch_shape(rows, model.spec.usual_px)
    name = "video" if model.kind == "video" else "image"
    label = {"label": like((rows,), jnp.int32)}
    return {name: like(shape, jnp.uint8), **label, **keys}
  side = model.spec.usual_px or _SIDE_PX
  height, width = config.data.canvas or (side, side)
  objects = config.data.boxes or _OBJECTS
  batch = {
    "image": like((rows, height, width, 3), jnp.uint8),
    "size": like((rows, 2), jnp.int32),
    "boxes": like((rows, objects, 4), jnp.float32),
    "labels": like((rows, objects), jnp.int32),
    **keys,
  }
  if model.has_masks:
    batch["masks"] = like((rows, objects, height, width), jnp.bool_)
  return batch


def _bytes(array: Any) -> int:
  """Return the bytes of an array of this shape; 0 for JAX's keys."""
  size = getattr(array.dtype, "itemsize", 0)
  return math.prod(array.shape) * size
