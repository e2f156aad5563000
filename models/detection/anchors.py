"""Anchors of a pyramid, laid like the `AnchorGenerator` of a library."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from models.detection.rules import RULES, Rules

_MULTIPLE = 32  # px: mmdetection pads pictures to multiples of it


def grid(
  canvas: tuple[int, int],
  features: Sequence[tuple[int, int]],
  sizes: Sequence[Sequence[float]],
  ratios: Sequence[float],
  *,
  strides: Sequence[int] = (),
  rules: Rules = RULES["torchvision"],
) -> np.ndarray:
  """Return all anchors, level after level, row by row, ratio by ratio.

  Args:
    canvas: (height, width) in px of the network's input.
    features: (height, width) of each level's features.
    sizes: sizes of each level, as square roots of areas in px.
    ratios: height over width.
    strides: px between the anchors of each level, if the rules need them.
    rules: rules of a library.

  Returns:
    float32 `[N, 4]`: x1, y1, x2, y2 in px of the canvas.
  """
  levels = []
  for i, ((rows, columns), level) in enumerate(
    zip(features, sizes, strict=True)
  ):
    step = canvas[0] // rows, canvas[1] // columns
    if rules.strided:
      step = strides[i], strides[i]
    cell = shapes(level, ratios, step[0], rules)
    levels.append(laid(cell, (rows, columns), step))
  return np.concatenate(levels).astype(np.float32)


def inside(anchors: np.ndarray, sizes: jax.Array) -> jax.Array:
  """Return which anchors lie in pictures of (height, width): bool `[B, A]`."""
  low, high = jnp.split(jnp.asarray(anchors), 2, axis=1)
  return (low >= 0).all(-1) & (high < sizes[:, None, ::-1]).all(-1)


def inside_padded(
  features: Sequence[tuple[int, int]],
  strides: Sequence[int],
  each: int,
  sizes: jax.Array,
) -> jax.Array:
  """Return which anchors belong to places in the padded pictures: bool `[B, A]`.

  Args:
    features: as for `grid`.
    strides: strides of the levels, px.
    each: number of anchors at each place.
    sizes: int32 `[B, 2]`, (height, width).
  """
  limits = -(-sizes // _MULTIPLE) * _MULTIPLE
  corner = np.zeros((each, 4))
  places = [
    laid(corner, level, (stride, stride))[:, :2]
    for level, stride in zip(features, strides, strict=True)
  ]
  return (jnp.asarray(np.concatenate(places)) < limits[:, None, ::-1]).all(-1)


def laid(
  cell: np.ndarray, features: tuple[int, int], step: tuple[int, int]
) -> np.ndarray:
  """Lay anchors `[A, 4]` at every place of (rows, columns): `[rows columns A, 4]`."""
  y, x = np.mgrid[0 : features[0], 0 : features[1]]
  corner = np.stack([x * step[1], y * step[0]] * 2, -1).reshape(-1, 1, 4)
  return (corner + cell[None]).reshape(-1, 4)


def shapes(
  sizes: Sequence[float], ratios: Sequence[float], stride: int, rules: Rules
) -> np.ndarray:
  """Return the anchors of the first place: float32 `[A, 4]`.

  They are centred on the origin; if boxes end on their last pixel, on the
  middle one of `stride` pixels.
  """
  tall = np.sqrt(np.asarray(ratios, np.float32))
  scale = np.asarray(sizes, np.float32)
  width = ((1 / tall)[:, None] * scale[None]).reshape(-1)
  height = (tall[:, None] * scale[None]).reshape(-1)
  width, height = width - rules.edge, height - rules.edge
  cell = np.stack([-width, -height, width, height], 1) / 2
  cell += rules.edge * np.float32(stride - 1) / 2
  return np.round(cell) if rules.rounded else cell
