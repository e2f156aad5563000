"""How much memory the gradient of a step needs beside the weights: an estimate.

JAX says which arrays the way back needs of the way forth (`jax.vjp`), without
computing any. XLA fuses some of them away and computes others again, so the true
number is rather lower.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp

from robust_tfds.models.detection.detector import Detector
from robust_tfds.models.model import NetworkModel
from robust_tfds.models.training import optimizers, state, steps
from robust_tfds.models.training.config import Config
from robust_tfds.models.training.recipes import base

_SIDE_PX = (
  128  # of embedded scenes, where nothing else says a detector's canvas
)
_OBJECTS = 16  # where nothing says how many


def of(
  config: Config, model: NetworkModel, recipe: base.Recipe, like: state.State
) -> float:
  """Bytes on each device.

  Args:
    recipe: whose loss is asked; of one that reads pictures beside the batch the
      loss of all recipes, on as many pictures.
    like: shapes of the state.
  """
  rows = config.batch_size // config.optimizer.accumulate
  if recipe.extras:
    kind = type(recipe) if model.kind == "detection" else base.Recipe
    recipe, rows = kind(), rows * recipe.passes
  optimizer = optimizers.of(config.optimizer)
  step = steps.Steps(model, recipe, optimizer, jnp.asarray, config)

  def back(parameters: Any, statistics: Any, batch: Any) -> Any:
    loss = lambda p: step.loss(p, statistics, batch, jax.random.key(0))[0]
    return jax.vjp(loss, parameters)[1]

  needed = jax.eval_shape(
    back, like.parameters, like.statistics, _batch(config, model, rows)
  )
  weights = sum(_bytes(x) for x in like.parameters.values())
  # Kernels are among what the way back needs; they are counted with the state.
  least = max(sum(map(_bytes, jax.tree.leaves(needed))) - weights, 0)
  return least / jax.device_count()


def _batch(
  config: Config, model: NetworkModel, rows: int
) -> dict[str, jax.ShapeDtypeStruct]:
  """Shapes of a batch."""
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
  """Of an array's shape; keys of JAX are of no account."""
  size = getattr(array.dtype, "itemsize", 0)
  return math.prod(array.shape) * size
