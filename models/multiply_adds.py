"""Multiply-adds of a function: what its convolutions and matrix products cost.

One rule for all models: an output of a convolution costs as many as its kernel has
inputs, an output of a matrix product as many as it sums. Additions, norms,
activations, pooling and gathers are free, as in the counts that torchvision and
fvcore print. Where a program has several forms of a step, one a platform, the
dearest counts: the others avoid what a platform is slow at.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from jax.extend import core

from models import variables
from models.model import NetworkModel

_CANVAS_PX = (800, 800)  # of detectors: what torchvision's counts are of


def of_model(model: NetworkModel) -> int:
  """Of one input of a network at its spec's size; computes nothing.

  Detectors take any size: they are counted on a picture of 800 x 800 px that is
  not resized.
  """
  shapes = {
    path: jax.ShapeDtypeStruct(shape, np.float32)
    for path, shape in model.shapes().items()
  }
  if model.kind == "detection":
    model = model.with_fields({"short_px": 0})
    batch = [
      jax.ShapeDtypeStruct((1, *_CANVAS_PX, 3), np.uint8),
      jax.ShapeDtypeStruct((1, 2), np.int32),
    ]
  else:
    spec: Any = model.spec
    shape = spec.batch_shape(1, spec.input_px)
    batch = [jax.ShapeDtypeStruct(shape, np.uint8)]
  return of(model.apply, variables.nest(shapes), *batch)


def of(function: Callable[..., Any], *arguments: Any) -> int:
  """Of a function that JAX can trace.

  Args:
    function: what is counted.
    *arguments: arrays, or their shapes (`jax.ShapeDtypeStruct`).
  """
  with jax.default_matmul_precision("highest"):
    return _of_jaxpr(jax.make_jaxpr(function)(*arguments).jaxpr)


def _of_jaxpr(jaxpr: core.Jaxpr) -> int:
  return sum(_of_step(step) for step in jaxpr.eqns)


def _of_step(step: core.JaxprEqn) -> int:
  name = step.primitive.name
  if name == "conv_general_dilated":
    return _of_convolution(step)
  if name == "dot_general":
    (contracted, _), _ = step.params["dimension_numbers"]
    given = _shape(step.invars[0])
    sums = math.prod(given[axis] for axis in contracted)
    return sums * math.prod(_shape(step.outvars[0]))
  inner = [_of_jaxpr(jaxpr) for jaxpr in _inside(step.params)]
  if name == "cond":
    return max(inner, default=0)
  return sum(inner) * (step.params["length"] if name == "scan" else 1)


def _of_convolution(step: core.JaxprEqn) -> int:
  kernel = _shape(step.invars[1])
  axes = step.params["dimension_numbers"].rhs_spec  # out, in, then space
  per_output = math.prod(kernel[axis] for axis in axes[1:])
  groups = step.params["batch_group_count"]
  return per_output * math.prod(_shape(step.outvars[0])) // groups


def _shape(array: Any) -> tuple[int, ...]:
  shape: tuple[int, ...] = array.aval.shape
  return shape


def _inside(params: dict[str, Any]) -> Iterator[core.Jaxpr]:
  """The programs that a step calls."""
  for value in params.values():
    for part in value if isinstance(value, (tuple, list)) else [value]:
      if isinstance(part, core.ClosedJaxpr):
        yield part.jaxpr
      elif isinstance(part, core.Jaxpr):
        yield part
