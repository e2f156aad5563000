"""What detectors compute, in loops of NumPy and as their papers say it."""

import numpy as np


def _sample(level, y, x):
  """A bilinear sample as the extension's kernel takes it."""
  height, width = level.shape[:2]
  if y < -1 or y > height or x < -1 or x > width:
    return np.zeros(level.shape[2])
  total = 0.0
  y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
  for row in {int(y), min(int(y) + 1, height - 1)}:
    for column in {int(x), min(int(x) + 1, width - 1)}:
      weight = (1 - abs(y - row)) * (1 - abs(x - column))
      total = total + weight * level[row, column]
  return total


def pooled(level, box, stride, bins, samples, aligned, edge):
  """RoIAlign of a box, `[bins, bins, C]`."""
  box = box + np.array([0, 0, edge, edge])
  start = box / stride - (0.5 if aligned else 0.0)
  size = start[2:] - start[:2]
  if not aligned and not edge:
    size = np.maximum(size, 1)
  step = size / bins
  across, down = (
    (samples, samples) if samples else np.maximum(np.ceil(step), 1).astype(int)
  )
  out = np.zeros((bins, bins, level.shape[2]))
  for i, j in np.ndindex(bins, bins):
    for a, b in np.ndindex(down, across):
      y = start[1] + (i + (a + 0.5) / down) * step[1]
      x = start[0] + (j + (b + 0.5) / across) * step[0]
      out[i, j] += _sample(level, y, x) / (down * across)
  return out


def iou(a, b, edge=0):
  """Of two boxes that end `edge` px beyond their last coordinates."""
  both = np.prod(
    np.clip(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]) + edge, 0, None)
  )
  areas = np.prod(a[2:] - a[:2] + edge) + np.prod(b[2:] - b[:2] + edge)
  return both / (areas - both)


def conv(x, layer, relu=True):
  """A layer's convolution of a picture `[H, W, C]`, the same size."""
  kernel, bias = np.asarray(layer.kernel[...]), np.asarray(layer.bias[...])
  step = np.broadcast_to(layer.kernel_dilation, 2)[0]
  side = len(kernel) // 2 * step
  padded = np.pad(x, ((side, side), (side, side), (0, 0)))
  y = np.zeros((*x.shape[:2], kernel.shape[-1])) + bias
  for i, j in np.ndindex(*kernel.shape[:2]):
    part = padded[i * step :, j * step :][: x.shape[0], : x.shape[1]]
    y += part @ kernel[i, j]
  return np.maximum(y, 0) if relu else y


def linear(x, layer, relu=True):
  """A layer's product of a vector."""
  y = x @ np.asarray(layer.kernel[...]) + np.asarray(layer.bias[...])
  return np.maximum(y, 0) if relu else y


def softmax(x):
  """Over the last axis."""
  powers = np.exp(x - x.max(-1, keepdims=True))
  return powers / powers.sum(-1, keepdims=True)


def decoded(offset, box, stds, size):
  """A box of last pixels moved by an offset, inside (height, width)."""
  side = box[2:] - box[:2] + 1
  middle = (box[:2] + box[2:]) / 2 + offset[:2] * stds[:2] * side
  limit = np.log(1000 / 16)
  side = side * np.exp(np.clip(offset[2:] * stds[2:], -limit, limit))
  corners = np.concatenate([middle - side / 2 + 0.5, middle + side / 2 - 0.5])
  return np.clip(corners, 0, np.array([size[1], size[0]] * 2) - 1)


def best(boxes, scores, threshold, overlap, factor):
  """The (proposal, class) pairs that suppression leaves, best first.

  Boxes `[N, 4]` of all classes, which end on their last pixel in the picture,
  `factor` times as large; scores `[N, classes]` without the background.
  """
  kept = []
  order = np.argsort(-scores, axis=None, kind="stable")
  for n, c in zip(*np.unravel_index(order, scores.shape)):
    one = boxes[n] * factor
    beaten = (
      c == k and iou(one, boxes[m] * factor, 1) > overlap for m, k in kept
    )
    if scores[n, c] > threshold and not any(beaten):
      kept.append((n, c))
  return kept
