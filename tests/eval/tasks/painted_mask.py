"""A soft mask painted into its picture pixel by pixel: what texts must equal."""

import numpy as np


def painted(
  mask: np.ndarray, box: np.ndarray, height: int, width: int
) -> np.ndarray:
  """A detection's soft mask laid into its picture: bool `[height, width]`.

  Bilinear between the mask's cells, whose centres are spread over the box; a
  pixel is inside from 0.5 up.

  Args:
    mask: float `[M, M]` in [0, 1].
    box: x1, y1, x2, y2 in px.
    height: of the picture.
    width: of the picture.
  """
  out = np.zeros((height, width), bool)
  x1, y1, x2, y2 = (float(v) for v in box)
  left, top = max(int(np.floor(x1)), 0), max(int(np.floor(y1)), 0)
  right, bottom = min(int(np.ceil(x2)), width), min(int(np.ceil(y2)), height)
  if right <= left or bottom <= top:
    return out
  padded = np.pad(np.asarray(mask, np.float32), 1)
  side = mask.shape[0]

  def axis(
    start: float, end: float, low: int, high: int
  ) -> tuple[np.ndarray, np.ndarray]:
    at = (np.arange(low, high) + 0.5 - start) / max(end - start, 1e-6)
    at = np.clip(at * side + 0.5, 0, side + 1)
    first = np.minimum(at.astype(int), side)
    return first, at - first

  rows, down = axis(y1, y2, top, bottom)
  cols, across = axis(x1, x2, left, right)
  upper, lower = padded[rows], padded[rows + 1]
  down = down[:, None]

  def pick(line: np.ndarray) -> np.ndarray:
    return line[:, cols] * (1 - across) + line[:, cols + 1] * across

  level = pick(upper) * (1 - down) + pick(lower) * down
  out[top:bottom, left:right] = level >= 0.5
  return out
