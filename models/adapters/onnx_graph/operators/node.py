"""What an operator is given and what it is: the contract of this folder.

An operator is a function `(node, *inputs) -> output or tuple of outputs`. Inputs
that the graph leaves out are None. Inputs known while the graph is traced (shapes,
axes, constants) are NumPy arrays and stay so: an operator of NumPy arrays alone
computes in NumPy, which is what folds the arithmetic of shapes.
"""

import dataclasses
import types
from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from robust_tfds import errors

Array = (
  Any  # np.ndarray where it is known while the graph is traced, else jax.Array
)
Function = Callable[..., Any]


class UntraceableError(errors.UserError):
  """A case of an operator that JAX cannot run here; onnxruntime may."""


@dataclasses.dataclass(frozen=True)
class Node:
  """A node of a graph.

  Attributes:
    operator: e.g. `Conv`.
    inputs: names of values; empty where an optional one is left out.
    outputs: the same.
    attributes: numbers, text, tuples of these, arrays, or graphs.
    opset: the version of the operators that the file was written for.
  """

  operator: str
  inputs: tuple[str, ...]
  outputs: tuple[str, ...]
  attributes: Mapping[str, Any]
  opset: int

  def integers(
    self, name: str, value: Array | None, default: Any = None
  ) -> Any:
    """Whole numbers that are an attribute of older opsets, an input of newer.

    Args:
      name: of the attribute.
      value: the input, where there is one.
      default: where both are left out.
    """
    if value is not None:
      return tuple(int(n) for n in np.asarray(value).ravel())
    return self.attributes.get(name, default)

  def refuse(self, reason: str) -> UntraceableError:
    """An error that begins with the operator."""
    return UntraceableError(f"{self.operator}: {reason}")


@dataclasses.dataclass(frozen=True)
class Operator:
  """An entry of the table.

  Attributes:
    function: see the head of this file.
    static: positions of inputs that must be known while the graph is traced;
      -1: all.
    folded: positions of inputs that are read as constants of the graph where
      they are some, not as variables: they say what is computed.
    unread: positions of inputs of which only shape and dtype matter.
    product: whether it multiplies matrices, which bfloat16 makes quicker.
  """

  function: Function
  static: tuple[int, ...] = ()
  folded: tuple[int, ...] = ()
  unread: tuple[int, ...] = ()
  product: bool = False


def is_static(value: Any) -> bool:
  """Whether a value is known while the graph is traced."""
  return value is None or isinstance(value, (np.ndarray, np.generic))


def numpy_of(*values: Any) -> types.ModuleType | Any:
  """`numpy` for values that are all known, `jax.numpy` otherwise."""
  return np if all(map(is_static, values)) else jnp
