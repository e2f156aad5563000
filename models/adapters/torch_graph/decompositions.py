"""Simpler operators for those that torch cannot express in ONNX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
  import torch


def table() -> dict[Any, Callable[..., Any]]:
  """Return a function of simpler operators for each operator."""
  import torch

  aten = torch.ops.aten
  return {
    **torch.export.default_decompositions(),
    aten.adaptive_avg_pool3d.default: _adaptive_mean,
    aten._adaptive_avg_pool3d.default: _adaptive_mean,
    aten.adaptive_max_pool2d.default: _adaptive_max,
    aten.adaptive_max_pool3d.default: _adaptive_max,
    aten.view.default: _reshaped,
  }


def _reshaped(x: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
  """Return a copy in place of a view.

  torch records a view of an attention's answer, whose memory layout changes
  when the attention is decomposed.
  """
  import torch

  copy = x.clone(memory_format=torch.contiguous_format)
  return torch.ops.aten._unsafe_view(copy, shape)


def _adaptive_mean(x: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
  return _pooled(x, sizes, "mean")


def _adaptive_max(
  x: torch.Tensor, sizes: Sequence[int]
) -> tuple[torch.Tensor, torch.Tensor]:
  """Return the maximum of each window; its index is not computed (-1)."""
  import torch

  y = _pooled(x, sizes, "amax")
  return y, torch.full_like(y, -1, dtype=torch.int64)


def _pooled(
  x: torch.Tensor, sizes: Sequence[int], reduction: str
) -> torch.Tensor:
  """Reduce windows, which may overlap by one; `sizes` counts them per axis."""
  import torch

  for axis, size in enumerate(sizes, x.ndim - len(sizes)):
    side = x.shape[axis]
    parts = []
    for i in range(size):
      start, end = i * side // size, -(-(i + 1) * side // size)
      part = x.narrow(axis, start, end - start)
      parts.append(getattr(part, reduction)(axis, keepdim=True))
    x = torch.cat(parts, axis)
  return x
