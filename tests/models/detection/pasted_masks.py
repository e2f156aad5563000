"""A head's square masks pasted into pictures, as torchvision does it.

It follows `paste_masks_in_image`: a border of zeros, the box widened by as much and
truncated to whole pixels, bilinear interpolation.
"""

from collections.abc import Iterator

import numpy as np

_PADDING = 1


Window = tuple[int, int, int, int]


def chances(
  masks: np.ndarray, boxes: np.ndarray, size: tuple[int, int]
) -> Iterator[tuple[Window, np.ndarray]]:
  """Yield each mask's window (top, bottom, left, right) and its values there."""
  side = masks.shape[-1]
  padded = np.pad(masks, ((0, 0), (_PADDING, _PADDING), (_PADDING, _PADDING)))
  scale = np.float32((side + 2 * _PADDING) / side)
  half = (boxes[:, 2:] - boxes[:, :2]) * np.float32(0.5) * scale
  middle = (boxes[:, 2:] + boxes[:, :2]) * np.float32(0.5)
  wide = np.concatenate([middle - half, middle + half], 1).astype(np.int64)
  for mask, (x0, y0, x1, y1) in zip(padded, wide):
    rows = _weights(len(mask), max(y1 - y0 + 1, 1), y0, size[0])
    columns = _weights(len(mask), max(x1 - x0 + 1, 1), x0, size[1])
    top, left = max(y0, 0), max(x0, 0)
    values = rows @ mask @ columns.T
    yield (top, top + len(rows), left, left + len(columns)), values


def _weights(inputs: int, outputs: int, start: int, limit: int) -> np.ndarray:
  """Return bilinear interpolation as a matrix, for the rows inside the picture."""
  first, last = max(-start, 0), min(outputs, limit - start)
  at = (np.arange(first, last) + 0.5) * (inputs / outputs) - 0.5
  at = np.clip(at, 0, inputs - 1)  # torch repeats the border
  low = np.minimum(at.astype(int), inputs - 1)
  high = np.minimum(low + 1, inputs - 1)
  part = (at - low).astype(np.float32)
  matrix = np.zeros((len(at), inputs), np.float32)
  rows = np.arange(len(at))
  np.add.at(matrix, (rows, low), 1 - part)
  np.add.at(matrix, (rows, high), part)
  return matrix
