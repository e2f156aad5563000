"""Pasting of a head's square masks into pictures, on the host.

It follows torchvision's `paste_masks_in_image`: a border of zeros, the box
widened by as much and truncated to whole pixels, bilinear interpolation, a
threshold.
"""

from collections.abc import Iterator

import numpy as np

from robust_tfds import errors

_PADDING = 1
_THRESHOLD = 0.5


def paste(
  masks: np.ndarray, boxes: np.ndarray, size: tuple[int, int]
) -> np.ndarray:
  """Paste masks of objects into the pixels of a picture.

  Args:
    masks: float `[N, M, M]` in [0, 1], `Detector.apply`'s of one picture.
    boxes: float `[N, 4]`, x1, y1, x2, y2 in px of the picture.
    size: (height, width) of the picture.

  Returns:
    bool `[N, height, width]`.

  Raises:
    ValueError: a shape is wrong.

  >>> mask = np.ones((1, 28, 28), np.float32)
  >>> paste(mask, np.array([[2.0, 1.0, 6.0, 4.0]]), (6, 8))[0].astype(int)
  array([[0, 1, 1, 1, 1, 1, 1, 0],
         [0, 1, 1, 1, 1, 1, 1, 0],
         [0, 1, 1, 1, 1, 1, 1, 0],
         [0, 1, 1, 1, 1, 1, 1, 0],
         [0, 1, 1, 1, 1, 1, 1, 0],
         [0, 0, 0, 0, 0, 0, 0, 0]])
  """
  masks, boxes = np.asarray(masks), np.asarray(boxes, np.float32)
  if masks.ndim != 3 or boxes.shape != (len(masks), 4):
    raise errors.UserError(
      f"Got masks {masks.shape} and boxes {boxes.shape}, expected [N, M, M] and"
      " [N, 4] of one picture."
    )
  out = np.zeros((len(masks), *size), bool)
  windows = zip(out, chances(masks, boxes, size))
  for canvas, ((top, bottom, left, right), values) in windows:
    canvas[top:bottom, left:right] = values >= _THRESHOLD
  return out


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
