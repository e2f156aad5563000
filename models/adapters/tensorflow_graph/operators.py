"""Operators of TensorFlow that tf2jax lacks and networks of vision need.

An entry takes a node's description and gives a function of JAX arrays, as
tf2jax's own entries do (tf2jax/_src/ops.py; its version is pinned).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np


def _pool(node: Any, start: float, combine: Any) -> Callable[..., jax.Array]:
  """Sums or largest values of windows `[B, T, H, W, C]`."""
  window = tuple(node.attr["ksize"].list.i)
  strides = tuple(node.attr["strides"].list.i)
  padding = node.attr["padding"].s.decode()
  layout = node.attr["data_format"].s.decode()
  if layout != "NDHWC":
    raise ValueError(f"{node.op} of {layout}, expected NDHWC.")

  def run(x: jax.Array) -> jax.Array:
    return jax.lax.reduce_window(
      x, np.array(start, x.dtype), combine, window, strides, padding
    )

  return run


def _average_pool(node: Any) -> Callable[..., jax.Array]:
  total = _pool(node, 0, jax.lax.add)

  def run(x: jax.Array) -> jax.Array:
    ones = np.ones((1, *x.shape[1:4], 1), x.dtype)
    return total(x) / total(ones)

  return run


def _max_pool(node: Any) -> Callable[..., jax.Array]:
  return _pool(node, -np.inf, jax.lax.max)


_OPERATORS = {"AvgPool3D": _average_pool, "MaxPool3D": _max_pool}


def add() -> None:
  """Adds them to tf2jax's table, where they are not in it."""
  from tf2jax._src import ops

  for name in ops.get_unsupported_operations(tuple(_OPERATORS)):
    ops.register_operation(name)(_OPERATORS[name])
