"""Layers written out in numpy, as references of networks without a package.

Maps are `[B, H, W, C]`; variables are a layer's own, in our layout.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

Layer = Mapping[str, Any]


def conv(x, layer: Layer, stride=1, padding=0, groups=1) -> np.ndarray:
  """torch's Conv2d: a product a place of the kernel."""
  kernel = np.asarray(layer["kernel"], np.float64)
  high, wide, inner, outputs = kernel.shape
  sides = ((0, 0), (padding, padding), (padding, padding), (0, 0))
  x = np.pad(np.asarray(x, np.float64), sides)
  rows = (x.shape[1] - high) // stride + 1
  columns = (x.shape[2] - wide) // stride + 1
  out = np.zeros((len(x), rows, columns, outputs))
  each = outputs // groups
  for g in range(groups):
    part = x[..., g * inner : (g + 1) * inner]
    of = slice(g * each, (g + 1) * each)
    for i in range(high):
      for j in range(wide):
        seen = part[:, i : i + rows * stride : stride]
        seen = seen[:, :rows, j : j + columns * stride : stride][:, :, :columns]
        out[..., of] += seen @ kernel[i, j, :, of]
  return out + np.asarray(layer.get("bias", 0.0))


def norm(x, layer: Layer) -> np.ndarray:
  """torch's BatchNorm2d in evaluation."""
  scale, bias = np.asarray(layer["scale"]), np.asarray(layer["bias"])
  mean, var = np.asarray(layer["mean"]), np.asarray(layer["var"])
  return (x - mean) / np.sqrt(var + 1e-5) * scale + bias


def relu(x) -> np.ndarray:
  """max(x, 0)."""
  return np.maximum(x, 0)


def unit(x, steps: Layer, stride=1) -> np.ndarray:
  """Convolutions that keep the size, each with norm and relu; one strides."""
  places = sorted(map(int, steps))
  for place, after in zip(places[::2], places[1::2], strict=True):
    size = steps[str(place)]["kernel"].shape[0]
    step = stride if size == 3 or len(places) == 2 else 1
    x = conv(x, steps[str(place)], step, size // 2)
    x = relu(norm(x, steps[str(after)]))
  return x


def max_pool(x, window, stride, padding=0) -> np.ndarray:
  """torch's MaxPool2d of sides that windows fill."""
  sides = ((0, 0), (padding, padding), (padding, padding), (0, 0))
  x = np.pad(x, sides, constant_values=-np.inf)
  rows = (x.shape[1] - window) // stride + 1
  columns = (x.shape[2] - window) // stride + 1
  out = np.full((len(x), rows, columns, x.shape[3]), -np.inf)
  for i in range(rows):
    for j in range(columns):
      top, left = i * stride, j * stride
      seen = x[:, top : top + window, left : left + window]
      out[:, i, j] = seen.max((1, 2))
  return out


def linear(x, layer: Layer) -> np.ndarray:
  """torch's Linear."""
  return x @ np.asarray(layer["kernel"], np.float64) + np.asarray(layer["bias"])
