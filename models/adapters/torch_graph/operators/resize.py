"""Up- and downsampling of `[B, C, ...]`, an axis after the other.

Linear and cubic ones are a matrix for each axis, made in numpy: each row holds
the weights with which old positions enter a new one. Formulas are those of
torch.nn.functional.interpolate.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_CUBIC = -0.75  # torch's coefficient of bicubic interpolation
_CUBIC_ANTIALIAS = -0.5  # and that of PIL, which antialias follows
Sizes = Sequence[int] | None
Factors = Sequence[float] | None
Weights = Callable[[int, int, float, bool], np.ndarray]


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
  """Keys' kernel."""
  d = np.abs(distance)
  near = ((a + 2) * d - (a + 3)) * d * d + 1
  far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
  return np.where(d <= 1, near, np.where(d < 2, far, 0))


def _linear(distance: np.ndarray) -> np.ndarray:
  return np.maximum(1 - np.abs(distance), 0)


def _positions(
  before: int, after: int, ratio: float, align_corners: bool
) -> np.ndarray:
  """Where new positions lie among the old ones."""
  places = np.arange(after)
  if align_corners:
    return places * ((before - 1) / (after - 1) if after > 1 else 0.0)
  return (places + 0.5) * ratio - 0.5


def _linear_weights(
  before: int, after: int, ratio: float, align_corners: bool
) -> np.ndarray:
  """`[after, before]`; the border's value beyond the border."""
  places = _positions(before, after, ratio, align_corners)
  places = np.clip(places, 0, before - 1)
  return _linear(places[:, None] - np.arange(before))


def _cubic_weights(
  before: int, after: int, ratio: float, align_corners: bool
) -> np.ndarray:
  """`[after, before]`; the border's value beyond the border."""
  places = _positions(before, after, ratio, align_corners)
  matrix = np.zeros((after, before))
  first = np.floor(places).astype(int)
  for tap in range(-1, 3):
    weights = _cubic(places - (first + tap), _CUBIC)
    columns = np.clip(first + tap, 0, before - 1)
    np.add.at(matrix, (np.arange(after), columns), weights)
  return matrix


def _antialias_weights(
  before: int,
  after: int,
  ratio: float,
  align_corners: bool,
  *,
  kernel: Callable[[np.ndarray], np.ndarray],
  reach: int,
) -> np.ndarray:
  """`[after, before]`: the kernel is as wide as a new position."""
  if align_corners:
    ratio = (before - 1) / (after - 1) if after > 1 else 0.0
  width = max(ratio, 1.0)
  matrix = np.zeros((after, before))
  for place in range(after):
    centre = ratio * (place + 0.5)
    first = max(int(centre - reach * width + 0.5), 0)
    last = min(int(centre + reach * width + 0.5), before)
    weights = kernel((np.arange(first, last) - centre + 0.5) / width)
    matrix[place, first:last] = weights / weights.sum()
  return matrix


def _sizes(
  x: jax.Array, sizes: Sizes, factors: Factors, axes: int
) -> tuple[list[int], list[float]]:
  """New sizes, and old ones over new ones, of the last axes."""
  old = x.shape[-axes:]
  given = list(factors or [])
  new = list(sizes or [])
  if not new:
    new = [math.floor(n * f) for n, f in zip(old, given, strict=True)]
  ratios = [before / after for before, after in zip(old, new, strict=True)]
  for axis, factor in enumerate(given):
    if factor:  # torch takes the factor that it was told
      ratios[axis] = 1 / factor
  return new, ratios


def _resized(
  x: jax.Array,
  sizes: Sizes,
  factors: Factors,
  align_corners: bool,
  weights: Weights,
  axes: int,
) -> jax.Array:
  new, ratios = _sizes(x, sizes, factors, axes)
  wide = x.astype(jnp.float32)
  for axis, (after, ratio) in enumerate(
    zip(new, ratios, strict=True), start=x.ndim - axes
  ):
    matrix = weights(x.shape[axis], after, ratio, align_corners)
    product = jnp.tensordot(wide, np.float32(matrix), ((axis,), (1,)))
    wide = jnp.moveaxis(product, -1, axis)
  return wide.astype(x.dtype)


def _nearest(
  x: jax.Array, sizes: Sizes, factors: Factors, shift: float, axes: int
) -> jax.Array:
  new, ratios = _sizes(x, sizes, factors, axes)
  for axis, (after, ratio) in enumerate(
    zip(new, ratios, strict=True), start=x.ndim - axes
  ):
    # float32, as in torch: which of two is nearer may hang on it.
    places = (np.arange(after, dtype=np.float32) + np.float32(shift)) * (
      np.float32(ratio)
    )
    old = np.minimum(np.floor(places).astype(int), x.shape[axis] - 1)
    x = jnp.take(x, old, axis)
  return x


def _weighted(weights: Weights, axes: int) -> dict[str, Callable[..., Any]]:
  """An operator's two forms: factors as a list, or one after the other."""

  def vec(
    x: jax.Array, sizes: Sizes, align_corners: bool, factors: Factors = None
  ) -> jax.Array:
    return _resized(x, sizes, factors, align_corners, weights, axes)

  def default(
    x: jax.Array, sizes: Sizes, align_corners: bool, *factors: float | None
  ) -> jax.Array:
    given = [f or 0.0 for f in factors]
    return _resized(x, sizes, given, align_corners, weights, axes)

  return {"vec": vec, "default": default}


def _picked(shift: float, axes: int) -> dict[str, Callable[..., Any]]:
  def vec(x: jax.Array, sizes: Sizes, factors: Factors = None) -> jax.Array:
    return _nearest(x, sizes, factors, shift, axes)

  def default(x: jax.Array, sizes: Sizes, *factors: float | None) -> jax.Array:
    return _nearest(x, sizes, [f or 0.0 for f in factors], shift, axes)

  return {"vec": vec, "default": default}


_FORMS = {
  **{f"upsample_nearest{n}d": _picked(0.0, n) for n in (1, 2, 3)},
  **{f"_upsample_nearest_exact{n}d": _picked(0.5, n) for n in (1, 2, 3)},
  "upsample_linear1d": _weighted(_linear_weights, 1),
  "upsample_bilinear2d": _weighted(_linear_weights, 2),
  "upsample_trilinear3d": _weighted(_linear_weights, 3),
  "upsample_bicubic2d": _weighted(_cubic_weights, 2),
  "_upsample_bilinear2d_aa": _weighted(
    functools.partial(_antialias_weights, kernel=_linear, reach=1), 2
  ),
  "_upsample_bicubic2d_aa": _weighted(
    functools.partial(
      _antialias_weights,
      kernel=functools.partial(_cubic, a=_CUBIC_ANTIALIAS),
      reach=2,
    ),
    2,
  ),
}

TABLE: dict[str, Callable[..., Any]] = {
  f"aten.{name}.{form}": function
  for name, forms in _FORMS.items()
  for form, function in forms.items()
}
