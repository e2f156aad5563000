"""Counts of the multiply-adds of a function's convolutions and matrix products.

One rule for all models: an output of a convolution costs as many as its kernel has
inputs, an output of a matrix product as many as it sums. Additions, norms,
activations, pooling and gathers are free, as in the counts that torchvision and
fvcore print. If a program has a form of a step for each platform, the most
expensive one counts.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from jax.extend import core

from models import variables
from models.model import NetworkModel

# Pictures in torchvision's counts, of networks that take any size.
CANVAS_PX = {"detection": (800, 800), "segmentation": (520, 520)}


def count_model(model: NetworkModel) -> int:
  """Count a network's multiply-adds for one input of its spec's size.

  Networks of `CANVAS_PX` are counted on a picture of that size, which is not
  resized. Nothing is computed.
  """
  shapes = {
    path: jax.ShapeDtypeStruct(shape, np.float32)
    for path, shape in model.shapes().items()
  }
  if model.kind in CANVAS_PX:
    sides = {"short_px", "height_px", "width_px"} & model.spec.fields().keys()
    model = model.with_fields(dict.fromkeys(sides, 0))
    batch = [
      jax.ShapeDtypeStruct((1, *CANVAS_PX[model.kind], 3), np.uint8),
      jax.ShapeDtypeStruct((1, 2), np.int32),
    ]
  else:
    spec: Any = model.spec
    shape = spec.batch_shape(1, spec.input_px)
    batch = [jax.ShapeDtypeStruct(shape, np.uint8)]
  return count(model.apply, variables.nest(shapes), *batch)


def count(function: Callable[..., Any], *arguments: Any) -> int:
  """Count the multiply-adds of a function that JAX can trace.

  Args:
    function: the function.
    *arguments: arrays, or their shapes (`jax.ShapeDtypeStruct`).
  """
  with jax.default_matmul_precision("highest"):
    return _count_jaxpr(jax.make_jaxpr(function)(*arguments).jaxpr)


def _count_jaxpr(jaxpr: core.Jaxpr) -> int:
  return sum(_count_step(step) for step in jaxpr.eqns)


def _count_step(step: core.JaxprEqn) -> int:
  name = step.primitive.name
  if name == "conv_general_dilated":
    return _count_convolution(step)
  if name == "dot_general":
    (contracted, _), _ = step.params["dimension_numbers"]
    shape = _shape(step.invars[0])
    sums = math.prod(shape[axis] for axis in contracted)
    return sums * math.prod(_shape(step.outvars[0]))
  inner = [_count_jaxpr(jaxpr) for jaxpr in _inside(step.params)]
  if name == "cond":
    return max(inner, default=0)
  return sum(inner) * (step.params["length"] if name == "scan" else 1)


def _count_convolution(step: core.JaxprEqn) -> int:
  kernel = _shape(step.invars[1])
  axes = step.params["dimension_numbers"].rhs_spec  # out, in, then space
  per_output = math.prod(kernel[axis] for axis in axes[1:])
  groups = step.params["batch_group_count"]
  return per_output * math.prod(_shape(step.outvars[0])) // groups


def _shape(array: Any) -> tuple[int, ...]:
  shape: tuple[int, ...] = array.aval.shape
  return shape


def _inside(params: dict[str, Any]) -> Iterator[core.Jaxpr]:
  """Yield the programs that a step calls."""
  for value in params.values():
    for part in value if isinstance(value, (tuple, list)) else [value]:
      if isinstance(part, core.ClosedJaxpr):
        yield part.jaxpr
      elif isinstance(part, core.Jaxpr):
        yield part
