"""Nodes and operators of a graph: the contract of this folder.

An operator is a function `(node, *inputs) -> output or tuple of outputs`. Inputs
that the graph leaves out are None. Inputs known while the graph is traced (shapes,
axes, constants) are NumPy arrays. An operator of NumPy arrays alone computes in
NumPy, so that the arithmetic of shapes is done while the graph is traced.
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
  """The error for a case of an operator that JAX cannot run here."""


@dataclasses.dataclass(frozen=True)
class Node:
  """A node of a graph.

  Attributes:
    operator: name of the operator, e.g. `Conv`.
    inputs: names of values; '' for an optional one that is left out.
    outputs: names of values, like `inputs`.
    attributes: numbers, text, tuples of these, arrays, or graphs.
    opset: version of the operators that the file was written for.
  """

  operator: str
  inputs: tuple[str, ...]
  outputs: tuple[str, ...]
  attributes: Mapping[str, Any]
  opset: int

  def integers(
    self, name: str, value: Array | None, default: Any = None
  ) -> Any:
    """Return whole numbers, which older opsets have as an attribute and newer
    ones as an input.

    Args:
      name: name of the attribute.
      value: the input, if there is one.
      default: result if both are left out.
    """
    if value is not None:
      return tuple(int(n) for n in np.asarray(value).ravel())
    return self.attributes.get(name, default)

  def refuse(self, reason: str) -> UntraceableError:
    """Return an error that begins with the operator."""
    return UntraceableError(f"{self.operator}: {reason}")


@dataclasses.dataclass(frozen=True)
class Operator:
  """An entry of the table.

  Attributes:
    function: see the head of this file.
    static: positions of inputs that must be known while the graph is traced.
    folded: positions of inputs that are constants of the program rather than
      variables: they determine what is computed.
    unread: positions of inputs of which only shape and dtype matter.
    product: whether it multiplies matrices, which is faster in bfloat16.
  """

  function: Function
  static: tuple[int, ...] = ()
  folded: tuple[int, ...] = ()
  unread: tuple[int, ...] = ()
  product: bool = False


def is_static(value: Any) -> bool:
  """Return whether a value is known while the graph is traced."""
  return value is None or isinstance(value, (np.ndarray, np.generic))


def numpy_of(*values: Any) -> types.ModuleType | Any:
  """Return `numpy` if all values are known, else `jax.numpy`."""
  return np if all(map(is_static, values)) else jnp
