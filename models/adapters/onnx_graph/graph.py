"""Runs an ONNX graph in JAX, operator by operator, inside of a traced function."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import errors
from robust_tfds.models.adapters.onnx_graph import file
from robust_tfds.models.adapters.onnx_graph.operators import TABLE
from robust_tfds.models.adapters.onnx_graph.operators.node import (
  Node,
  UntraceableError,
  is_static,
)

_IF = "If"  # whose branches are graphs: not an operator of the table


@dataclasses.dataclass(frozen=True, eq=False)
class Program:
  """What a graph's output needs.

  Attributes:
    nodes: in order.
    source: the name of the graph's input.
    output: the name of the value that it answers with.
    variables: weights, which the program is given.
    constants: what shapes depend on, and whole numbers; part of the program.
  """

  nodes: tuple[Node, ...]
  source: str
  output: str
  variables: Mapping[str, np.ndarray]
  constants: Mapping[str, np.ndarray]

  @classmethod
  def of(cls, graph: file.Graph, output: str) -> Self:
    """The program of one output; other outputs' nodes are left out.

    Raises:
      UserError: damaged weights.
    """
    nodes = _needed(graph.nodes, output)
    read = {name for node in nodes for name in _reads(node)} | {output}
    arrays = {n: t.array() for n, t in graph.tensors.items() if n in read}
    fixed = _folded(nodes)
    variables = {
      n: a for n, a in arrays.items() if n not in fixed and _is_weight(a)
    }
    constants = {n: a for n, a in arrays.items() if n not in variables}
    (source,) = graph.inputs
    return cls(nodes, source.name, output, variables, constants)

  def __call__(
    self, variables: Mapping[str, jax.Array], pixels: jax.Array
  ) -> jax.Array:
    """The output's value.

    Args:
      variables: as `self.variables`.
      pixels: as the graph takes them.

    Raises:
      UntraceableError: a shape depends on the pixels.
      UserError: an operator fails.
    """
    values = {**self.constants, **variables, self.source: pixels}
    with jax.default_matmul_precision("highest"):
      _run(self.nodes, values)
      return jnp.asarray(_value(values, self.output))


def unknown_operators(graph: file.Graph, output: str) -> tuple[str, ...]:
  """Names of the operators that an output needs and that are not known here."""
  nodes = _needed(graph.nodes, output)
  return tuple(sorted({n.operator for n in _all(nodes)} - {*TABLE, _IF}))


def _all(nodes: Iterable[Node]) -> Iterator[Node]:
  """Nodes, and those of their branches."""
  for node in nodes:
    yield node
    for branch in _branches(node):
      yield from _all(branch.nodes)


def _branches(node: Node) -> list[file.Graph]:
  values = node.attributes.values()
  return [value for value in values if isinstance(value, file.Graph)]


def _reads(node: Node) -> Iterator[str]:
  """Values that a node or its branches are given."""
  yield from filter(None, node.inputs)
  for branch in _branches(node):
    yield from branch.outputs
    for inner in branch.nodes:
      yield from _reads(inner)


def _needed(nodes: Iterable[Node], output: str) -> tuple[Node, ...]:
  needed = {output}
  kept = []
  for node in reversed(tuple(nodes)):
    if needed.intersection(node.outputs):
      needed.update(_reads(node))
      kept.append(node)
  return tuple(reversed(kept))


def _folded(nodes: Iterable[Node]) -> set[str]:
  """Values that shapes depend on, and all that these are computed of."""
  fixed: set[str] = set()
  for node in reversed(tuple(nodes)):
    if node.operator in ("Shape", "Size"):
      continue  # known whatever its input holds
    if node.operator not in TABLE or fixed.intersection(node.outputs):
      fixed.update(_reads(node))
      continue
    operator = TABLE[node.operator]
    places = (*operator.static, *operator.folded)
    fixed.update(node.inputs[i] for i in places if i < len(node.inputs))
  return fixed


def _is_weight(array: np.ndarray) -> bool:
  """Numbers of a layer; whole ones are places and sizes, but for eight bits."""
  return jnp.issubdtype(array.dtype, jnp.floating) or array.dtype.itemsize == 1


def _run(nodes: Iterable[Node], values: dict[str, Any]) -> None:
  """Adds the outputs of nodes to the values."""
  for node in nodes:
    outputs = _branch(node, values) if node.operator == _IF else None
    if outputs is None:
      outputs = _apply(node, [_value(values, name) for name in node.inputs])
    values.update(zip(node.outputs, outputs))


def _value(values: Mapping[str, Any], name: str) -> Any:
  if not name:
    return None
  if name not in values:
    raise errors.UserError(
      f"nothing before it computes the value {name!r}: it is damaged."
    )
  return values[name]


def _apply(node: Node, inputs: list[Any]) -> tuple:
  if node.operator not in TABLE:
    raise UntraceableError(f"{node.operator}: not known to JAX here.")
  operator = TABLE[node.operator]
  for place in operator.static:
    if place < len(inputs) and not is_static(inputs[place]):
      raise node.refuse(
        f"its input {node.inputs[place]!r} decides on a shape and depends on the"
        " pixels, which JAX cannot trace."
      )
  try:
    outputs = operator.function(node, *inputs)
  except errors.UserError:
    raise
  except Exception as error:
    raise errors.UserError(
      f"{node.operator} ({node.outputs[0]}): {errors.of_user(error)}"
    ) from error
  return outputs if isinstance(outputs, tuple) else (outputs,)


def _branch(node: Node, values: Mapping[str, Any]) -> tuple:
  """The outputs of the branch that a known condition chooses."""
  condition = _value(values, node.inputs[0])
  if not is_static(condition):
    raise node.refuse("its condition depends on the pixels.")
  branch = node.attributes["then_branch" if condition else "else_branch"]
  inner = dict(values)
  inner.update({n: t.array() for n, t in branch.tensors.items()})
  _run(branch.nodes, inner)
  return tuple(_value(inner, name) for name in branch.outputs)
