"""Anchors of a pyramid, as torchvision's `AnchorGenerator` lays them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def grid(
  canvas: tuple[int, int],
  features: Sequence[tuple[int, int]],
  sizes: Sequence[Sequence[float]],
  ratios: Sequence[float],
  *,
  strides: Sequence[int] | None = None,
) -> np.ndarray:
  """All anchors, level after level, row by row, ratio by ratio.

  Args:
    canvas: (height, width) in px of what the network sees.
    features: (height, width) of each level's features.
    sizes: of each level, square roots of areas in px.
    ratios: height over width.
    strides: px between the anchors of each level, whose shapes then are not
      rounded, as mmdetection has it; if None the canvas's side over the
      features' and rounded shapes, as torchvision.

  Returns:
    float32 `[N, 4]`: x1, y1, x2, y2 in px of the canvas.
  """
  levels = []
  for i, ((rows, columns), level) in enumerate(
    zip(features, sizes, strict=True)
  ):
    step = canvas[0] // rows, canvas[1] // columns
    if strides is not None:
      step = strides[i], strides[i]
    cell = shapes(level, ratios, rounded=strides is None)
    y, x = np.mgrid[0:rows, 0:columns]
    corner = np.stack([x * step[1], y * step[0]] * 2, -1).reshape(-1, 1, 4)
    levels.append((corner + cell[None]).reshape(-1, 4))
  return np.concatenate(levels).astype(np.float32)


def shapes(
  sizes: Sequence[float], ratios: Sequence[float], *, rounded: bool = True
) -> np.ndarray:
  """Anchors around the origin, rounded to whole pixels: float32 `[A, 4]`."""
  tall = np.sqrt(np.asarray(ratios, np.float32))
  scale = np.asarray(sizes, np.float32)
  width = ((1 / tall)[:, None] * scale[None]).reshape(-1)
  height = (tall[:, None] * scale[None]).reshape(-1)
  cell = np.stack([-width, -height, width, height], 1) / 2
  return np.round(cell) if rounded else cell
