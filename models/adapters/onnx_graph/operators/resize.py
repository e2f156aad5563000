"""Resizing: each new px is a weighted sum of a few old ones.

Every axis is resized by itself. The positions of the old px and their weights are
computed in NumPy while the graph is traced.
"""

import dataclasses
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from models.adapters.onnx_graph.operators.node import (
  Array,
  Node,
  Operator,
)


@dataclasses.dataclass(frozen=True)
class _Axis:
  """The resizing of one axis from `old` to `new` px, by a factor."""

  old: int
  new: int
  factor: float


def _resize(
  node: Node,
  x: Array,
  roi: Array | None = None,
  scales: Array | None = None,
  sizes: Array | None = None,
) -> jax.Array:
  del roi  # for the mode that `_centres` refuses
  axes = node.attributes.get("axes", tuple(range(x.ndim)))
  sides = [x.shape[axis] for axis in axes]
  for axis, resized in zip(axes, _axes(node, sides, scales, sizes)):
    if (resized.new, resized.factor) != (resized.old, 1):
      x = _along(node, x, axis % x.ndim, resized)
  return jnp.asarray(x)


def _upsample(node: Node, x: Array, scales: Array | None = None) -> jax.Array:
  """Resize as opset 9 does: px lie at n / factor, rounded down."""
  mode = node.attributes.get("mode", "nearest")
  if scales is None:
    scales = np.asarray(node.attributes["scales"])
  older = {
    "mode": mode,
    "nearest_mode": "floor",
    "coordinate_transformation_mode": "asymmetric",
  }
  return _resize(dataclasses.replace(node, attributes=older), x, None, scales)


def _axes(
  node: Node,
  sides: Sequence[int],
  scales: Array | None,
  sizes: Array | None,
) -> list[_Axis]:
  if scales is not None and scales.size:
    factors = [float(s) for s in scales]
    return [
      _Axis(n, math.floor(n * f), f)
      for n, f in zip(sides, factors, strict=True)
    ]
  target = node.integers("sizes", sizes)
  policy = node.attributes.get("keep_aspect_ratio_policy", "stretch")
  if policy == "stretch":
    return [_Axis(n, t, t / n) for n, t in zip(sides, target, strict=True)]
  best = min if policy == "not_larger" else max
  factor = best(t / n for n, t in zip(sides, target, strict=True))
  # Halves are rounded up (onnx/defs/tensor/defs.cc, Resize).
  return [_Axis(n, math.floor(n * factor + 0.5), factor) for n in sides]


def _along(node: Node, x: Array, axis: int, resized: _Axis) -> jax.Array:
  places, weights = _taps(node, resized)
  inside = np.clip(places, 0, resized.old - 1)
  if len(places) == 1 and (weights == 1).all():
    return jnp.take(x, inside[0], axis)
  shape = (-1, *(1,) * (x.ndim - 1 - axis))
  taps = [
    jnp.take(x, place, axis) * weight.astype(x.dtype).reshape(shape)
    for place, weight in zip(inside, weights)
  ]
  return sum(taps[1:], taps[0])


def _taps(node: Node, axis: _Axis) -> tuple[np.ndarray, np.ndarray]:
  """Return the positions `[taps, new]` of old px, and their weights."""
  centres = _centres(node, axis)
  mode = node.attributes.get("mode", "nearest")
  if mode == "nearest":
    places = _nearest(node, centres)[None]
    return places, np.ones_like(places, float)
  # `antialias` widens the filter of a picture that shrinks.
  shrinks = node.attributes.get("antialias") and axis.factor < 1
  wide = 1 / axis.factor if shrinks else 1.0
  reach = {"linear": 1, "cubic": 2}[mode] * wide
  first = np.floor(centres - reach).astype(int) + 1
  places = first + np.arange(math.ceil(2 * reach) + 1)[:, None]
  distance = np.abs(places - centres) / wide
  weights = np.maximum(1 - distance, 0)
  if mode == "cubic":
    weights = _cubic(distance, node.attributes.get("cubic_coeff_a", -0.75))
  if node.attributes.get("exclude_outside"):
    outside = (places < 0) | (places >= axis.old)
    weights = np.where(outside, 0, weights)
  weights = weights / weights.sum(0)
  used = (weights != 0).any(1)
  return places[used], weights[used]


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
  """Compute Keys' kernel (1981), whose slope at one px is `a`."""
  d = distance
  near = ((a + 2) * d - (a + 3)) * d * d + 1
  far = ((d - 5) * d + 8) * d * a - 4 * a
  return np.where(d <= 1, near, np.where(d < 2, far, 0))


def _centres(node: Node, axis: _Axis) -> np.ndarray:
  """Return the position of each new px between the old ones.

  The formulas are those of `coordinate_transformation_mode` in
  onnx/defs/tensor/defs.cc.
  """
  mode = node.attributes.get("coordinate_transformation_mode", "half_pixel")
  new = np.arange(axis.new)
  if mode == "asymmetric":
    return new / axis.factor
  if mode == "align_corners":
    return new * ((axis.old - 1) / max(axis.new - 1, 1))
  if mode == "pytorch_half_pixel" and axis.new == 1:
    return np.zeros(1)
  centres = (new + 0.5) / axis.factor - 0.5
  if mode in ("half_pixel", "pytorch_half_pixel"):
    return centres
  if mode == "half_pixel_symmetric":
    adjustment = axis.new / (axis.factor * axis.old)
    return centres + axis.old / 2 * (1 - adjustment)
  raise node.refuse(f"its coordinate mode {mode!r} is unknown to JAX here.")


def _nearest(node: Node, centres: np.ndarray) -> np.ndarray:
  mode = node.attributes.get("nearest_mode", "round_prefer_floor")
  rounded = {
    "round_prefer_floor": np.ceil(centres - 0.5),
    "round_prefer_ceil": np.floor(centres + 0.5),
    "floor": np.floor(centres),
    "ceil": np.ceil(centres),
  }
  return rounded[mode].astype(int)


OPERATORS = {
  "Resize": Operator(_resize, static=(1, 2, 3)),
  "Upsample": Operator(_upsample, static=(1,)),
}
